"""Packets recorded on a real kernel's netem, as calls of a model and what has to come back."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from netlab.traces.model.fate import Copy, Fate
from netlab.traces.qdisc_state import GilbertElliottState, QdiscState

FOLDER = Path(__file__).parents[1] / "golden" / "link_model"
RECORDINGS = sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz"))


class Sent(NamedTuple):
    """One packet: how to put it in, and what the kernel made of it."""

    now_ns: int
    copy_now_ns: int
    length_bytes: int
    ect: bool
    queued: list[list[Any]]  # [clock, delay, moment due or "head"] of each copy
    corrupted: int
    marked: int


class Recording:
    """One run."""

    def __init__(self, name: str) -> None:
        self.run: dict[str, Any] = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
        self.has_rate = "rate" in self.run["options"]

    @property
    def state(self) -> QdiscState:
        """The qdisc it was recorded on."""
        options = dict(self.run["options"])
        fields: dict[str, Any] = {"limit_packets": options.pop("limit"), "ecn": bool(options.pop("ecn", 0))}
        fields["latency_ns"], fields["jitter_ns"] = options.pop("latency", 0), options.pop("jitter", 0)
        for name in ("loss", "duplicate", "gap"):
            fields[name] = options.pop(name, 0)
        for name in ("reorder", "corrupt"):
            fields[name], fields[f"{name}_correlation"] = options.pop(name, (0, 0))
        if "ge" in options:
            p, r, h, k1 = options.pop("ge")
            fields["loss_model"] = GilbertElliottState(p=p, r=r, h=h, k1=k1)
        rate = ("rate_bytes_per_s", "packet_overhead_bytes", "cell_size_bytes", "cell_overhead_bytes")
        fields.update(zip(rate, options.pop("rate", (0, 0, 0, 0)), strict=True))
        assert not options, f"options that this reader does not know: {sorted(options)}"
        table = self.run["delay_table"]
        return QdiscState(**fields, delay_table=tuple(table) if table else None, seed=self.run["seed"])

    def packets(self) -> Iterator[Sent]:
        """Yield each packet sent; a lost one at the clock of the one before it."""
        run, at, now_ns = self.run, 0, 0
        for number, copies in enumerate(run["copies"]):
            queued = run["enqueue_now_delay_tts_ns"][at : at + copies]
            at += copies
            now_ns = queued[-1][0] if queued else now_ns
            yield Sent(
                now_ns=now_ns,
                copy_now_ns=queued[0][0] if queued else now_ns,
                length_bytes=run["size_bytes"],
                ect=bool(run["options"].get("ecn")),
                queued=queued,
                corrupted=run["corrupted"][number],
                marked=run["ce_marked"][number],
            )
        assert at == len(run["enqueue_now_delay_tts_ns"])

    def difference(self, sent: Sent, fate: Fate) -> str:
        """Say where a model's fate differs from the kernel's; empty where it does not."""
        if len(fate.copies) != len(sent.queued):
            return f"{len(fate.copies)} copies, not {len(sent.queued)}"
        if sum(copy.corrupted for copy in fate.copies) != sent.corrupted:
            return f"not {sent.corrupted} corrupted"
        if sum(copy.marked for copy in fate.copies) != sent.marked:
            return f"not {sent.marked} marked"
        differences = (self._copy_difference(*pair) for pair in zip(fate.copies, sent.queued, strict=True))
        return "; ".join(filter(None, differences))

    def _copy_difference(self, copy: Copy, queued: list[Any]) -> str:
        now_ns, delay_ns, due_ns = queued
        if (due_ns == "head") != copy.head:
            return f"head {copy.head}"
        if not self.has_rate and copy.delay_ns != delay_ns:
            return f"delay {copy.delay_ns}, not {delay_ns}"
        leave_ns = now_ns if due_ns == "head" else max(now_ns, due_ns)
        return "" if copy.leave_ns == leave_ns else f"leaves {copy.leave_ns}, not {leave_ns}"
