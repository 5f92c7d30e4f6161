"""verify_staying: a link of a lab that stays, measured as it is and judged by what is asked of it now.

::

    holder --LinkAsked--> FlowsPlan --netlab lab exec, four times--> flows --> judge
           --LinkAsked--> the same still? else nothing can be said
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from netlab.errors import LabError, NetlabError, SpecError
from netlab.holder.client import ask
from netlab.holder.directory import LabDirectory
from netlab.holder.messages import AskLink, LinkAsked
from netlab.namespaces.process_output import last_lines
from netlab.namespaces.relay.requests import PlainState, from_plain
from netlab.probe.probe_plan import ProbePlan
from netlab.run_folder import run_folder
from netlab.service_run import netlab_command
from netlab.traces.conformance.allowance import Allowance
from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.asked import Direction as AskedDirection
from netlab.traces.profile import LinkProfile
from netlab.traces.seed import Direction
from netlab.verification.measurement import FlowsPlan, MeasuredFlow, measure
from netlab.verification.report import VerificationReport, verify_measured
from netlab.verification.tail import Tail

__all__ = ["verify_staying"]

_OUTPUT_BYTES = 1 << 16
_END_WITHIN_S = 10.0
_GONE_WITHIN_S, _LOOK_S = 3.0, 0.05


def verify_staying(
    name: str,
    link: str,
    plan: ProbePlan,
    allowance: Allowance,
    *,
    watch: Callable[[float], None] = lambda share: None,
) -> tuple[dict[Direction, MeasuredFlow], VerificationReport]:
    """Measure a link of a lab that stays, both ways, and judge it.

    Args:
        name: Name or id of the lab.
        link: Name of the link; empty for the only one.
        plan: What is sent each way.
        allowance: What is allowed beside chance.
        watch: Told which share of the time has passed.

    Raises:
        SpecError: There is no such lab or link, or the link is not one whose asked state can be judged.
        LabError: It was changed meanwhile, or a process in the lab has failed.
        NetlabError: What the holder refuses.
    """
    record = LabDirectory.of_this_user().find_alive(name)
    before = ask(name, AskLink(link=link), LinkAsked)
    _require_steady(before)
    asked: dict[Direction, Asked] = {
        "forward": Asked.of(_state(before.forward)),
        "back": Asked.of(_state(before.back)),
    }
    flows = FlowsPlan(
        hosts=before.hosts,
        addresses=before.addresses,
        plan=plan,
        tail=Tail.of(asked.values(), plan),
    )
    with (
        _still_there(record.id, record.name),
        run_folder("probe-lab") as folder,
        _lab_ends(record.id, folder) as ends,
    ):
        source = f"netlab probe lab {record.name} --link {before.link}"
        measured = measure(flows, ends, folder, source=source, watch=watch)
        _require_unchanged(before, ask(record.id, AskLink(link=before.link), LinkAsked))
    report = verify_measured(
        asked,
        measured,
        allowance,
        profile=f"lab {record.name}, link {before.link} as asked now",
        plan=plan,
        seed=record.seed,
        wiring=record.engine,
        seeded=before.seeded,
    )
    return measured, report


def _state(plain: PlainState | None) -> AskedDirection:
    return LinkProfile() if plain is None else from_plain(plain)


def _require_steady(link: LinkAsked) -> None:
    if link.playing:
        hint = (
            "netlab verify PROFILE measures a schedule from its beginning; or netlab lab set --stop-playing first"
        )
        raise SpecError(
            "a schedule is being played on it: what it is asked to do changes", key=link.link, hint=hint
        )
    if link.medium:
        hint = "measure a link by itself, or read netlab lab show"
        problem = f"it shares medium {link.medium}: what it delivers depends on the other links"
        raise SpecError(problem, key=link.link, hint=hint)


def _require_unchanged(before: LinkAsked, after: LinkAsked) -> None:
    if (before.forward, before.back) != (after.forward, after.back) or after.playing:
        hint = "measure again, and leave the link alone meanwhile"
        raise LabError(f"link {before.link} was changed while it was measured", hint=hint)


@contextlib.contextmanager
def _still_there(lab: str, name: str) -> Iterator[None]:
    """Have what fails since the lab is being taken down say so."""
    try:
        yield
    except NetlabError as error:
        if _is_gone(lab):
            hint = f"netlab lab up makes it again; netlab probe lab {name} takes as long as its flows"
            raise LabError(f"lab {name} was taken down, or died, while it was measured", hint=hint) from error
        raise


def _is_gone(lab: str) -> bool:
    """Return whether a lab is gone, or so within moments: its processes end before it does."""
    deadline_s = time.monotonic() + _GONE_WITHIN_S
    while True:
        try:
            if LabDirectory.of_this_user().find(lab).state != "up":
                return True
        except NetlabError:
            return True
        if time.monotonic() > deadline_s:
            return False
        time.sleep(_LOOK_S)


class _Command:
    """A program in a host of the lab, by ``netlab lab exec``; see ``Running``."""

    def __init__(self, host: str, running: subprocess.Popen[bytes], output: Path) -> None:
        self._host = host
        self._running = running
        self._output = output

    def poll(self) -> int | None:
        return self._running.poll()

    def check(self) -> None:
        status = self._running.poll()
        if status:
            said = last_lines(self._output.read_bytes()[-_OUTPUT_BYTES:], 10)
            raise LabError(f"a flow's process in host {self._host} failed", status, said)

    def end(self) -> None:
        """End it and wait until it is gone."""
        if self._running.poll() is None:
            self._running.terminate()
        try:
            self._running.wait(_END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._running.kill()
            self._running.wait()


class _StayingEnds:
    """The hosts of a lab that stays; see ``Ends``."""

    def __init__(self, lab: str, folder: Path) -> None:
        self.commands: list[_Command] = []
        self._lab = lab
        self._folder = folder

    def start(self, host: str, argv: Sequence[str]) -> _Command:
        output = self._folder / f"output-{len(self.commands)}"
        with output.open("wb") as file:
            running = subprocess.Popen(
                netlab_command("lab", "exec", self._lab, host, "--", *argv),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is ours to pass on
            )
        self.commands.append(_Command(host, running, output))
        return self.commands[-1]

    def check(self) -> None:
        """Do nothing: a lab that ends ends its commands, which tell."""


@contextlib.contextmanager
def _lab_ends(lab: str, folder: Path) -> Iterator[_StayingEnds]:
    ends = _StayingEnds(lab, folder)
    try:
        yield ends
    finally:
        for command in ends.commands:
            command.end()
