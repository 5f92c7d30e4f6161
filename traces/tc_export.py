"""tc_export: a QdiscState in the words of tc, chosen so that tc's own arithmetic gives the same numbers.

::

    QdiscState --tc_netem--> TcNetem(words, tables, differences) --tc_script.py--> a shell script

tc reads percentages, times and rates as floating point and cuts or rounds them; it takes tables from files, and
leaves out what is not typed. What it cannot say is refused, or named in ``differences``. Pure: runs no tc.

Source: tc-netem(8); what tc makes of a number as read in iproute2 6.1 and 7.1 and measured with both
(``tests/kernel/test_tc_export_kernel.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from netlab.errors import ProfileError
from netlab.traces.qdisc_state import U32_MAX, FourStateState, GilbertElliottState, QdiscState, SlotState

__all__ = ["DELAY_TABLE", "SLOT_TABLE", "TcNetem", "distribution_file", "tc_netem"]

DELAY_TABLE, SLOT_TABLE = "delay", "slot"
"""The names under which a script must put the tables of one ``TcNetem``, each with something before it."""

TC_TABLE_ENTRIES = 16_000
"""What tc's message holds of tables: 32768 bytes with everything else in it, two bytes an entry."""

_EXACT = 2**53
"""The greatest whole numbers that a float tells apart."""
_LONGEST_NS = 24 * 3600 * 10**9
"""Beyond, half a nanosecond is lost in tc's floating point."""
_ENTRIES_A_LINE = 16


class TcNetem(NamedTuple):
    """One netem as tc is told of it.

    Attributes:
        words: What follows ``netem``; a table's name is a format field, ``{delay}`` or ``{slot}``.
        tables: Tables by that name, as tc is to read them.
        seed: What ``seed`` takes, by a tc that has it; None for no seed.
        differences: What will not be as asked, in words.
    """

    words: tuple[str, ...]
    tables: Mapping[str, tuple[int, ...]]
    seed: int | None
    differences: tuple[str, ...]


def tc_netem(state: QdiscState, *, complete: bool = False) -> TcNetem:
    """Return the words with which tc puts a netem in this state.

    Args:
        state: What it is to be.
        complete: For a change of one that is there: say what is off as well, which tc would else leave as it is.

    Raises:
        ProfileError: tc has no words for it.
    """
    _refuse_unsayable(state)
    tables = _tables(state)
    differences = list(_shortened(state, tables))
    words = ["limit", str(state.limit_packets), *_delay_words(state), *_loss_words(state)]
    if state.ecn and (state.loss or state.loss_model is not None):
        words.append("ecn")
    elif state.ecn:
        differences.append(
            "ecn is left out: tc takes it only where packets are lost, and without losses it does nothing"
        )
    if state.duplicate:
        words += ["duplicate", _percent(state.duplicate)]
    if state.corrupt or complete:
        words += ["corrupt", _percent(state.corrupt)]
    if state.reorder:
        words += ["reorder", _percent(state.reorder), "gap", str(state.gap)]
    elif complete:
        words += ["reorder", "0%"]
    words += _rate_words(state, complete)
    words += _slot_words(state, complete)
    return TcNetem(tuple(words), tables, state.seed, tuple(differences))


def distribution_file(table: tuple[int, ...]) -> str:
    """Return a table as the file tc reads, sixteen entries a line."""
    lines = [table[at : at + _ENTRIES_A_LINE] for at in range(0, len(table), _ENTRIES_A_LINE)]
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)


def _refuse_unsayable(state: QdiscState) -> None:
    """Refuse what tc has no words for.

    Raises:
        ProfileError: Names the field.
    """
    slot = state.slot or SlotState()
    by_table = bool(slot.dist_delay_ns or slot.dist_jitter_ns)
    for field, value, refused, reason in (
        ("latency_ns", state.latency_ns, not 0 <= state.latency_ns <= _LONGEST_NS, "0 to a day"),
        (
            "rate_bytes_per_s",
            state.rate_bytes_per_s,
            state.rate_bytes_per_s * 8 > _EXACT,
            "tc counts it as a float",
        ),
        ("gap", state.gap, bool(state.gap) != bool(state.reorder), "tc takes a gap and a reorder only together"),
        (
            "reorder",
            state.reorder,
            state.reorder and not state.latency_ns,
            "tc reorders only where there is a delay",
        ),
        ("slot", slot, by_table and (slot.min_delay_ns or slot.max_delay_ns), "tc takes bounds or a distribution"),
        (
            "slot",
            slot,
            by_table != (state.slot_table is not None),
            "a distribution needs a table, and a table one",
        ),
        ("slot", slot, by_table and slot.dist_jitter_ns <= 0, "tc takes no distribution without a jitter"),
        ("slot", slot, min(map(int, _fields(slot))) < 0, "tc takes nothing below zero"),
    ):
        if refused:
            raise ProfileError(f"{field} = {value}: {reason}", hint="netlab's own links can do it: netlab exec")
    for field in state.__struct_fields__:
        if field.endswith("_correlation") and getattr(state, field):
            raise ProfileError(f"{field} = {getattr(state, field)}: netem's correlations do not do what they say")
    if state.delay_table is not None and state.jitter_ns and not state.latency_ns:
        raise ProfileError(
            "latency_ns = 0 with a delay_table: tc takes a distribution only where there is a delay"
        )


def _fields(slot: SlotState) -> tuple[int, ...]:
    return tuple(getattr(slot, field) for field in slot.__struct_fields__)


def _tables(state: QdiscState) -> dict[str, tuple[int, ...]]:
    """Return the tables that tc is to read, as long as its message allows."""
    asked: dict[str, tuple[int, ...]] = {}
    if state.delay_table is not None and state.jitter_ns:
        asked[DELAY_TABLE] = state.delay_table
    if state.slot_table is not None:
        asked[SLOT_TABLE] = state.slot_table
    if sum(map(len, asked.values())) <= TC_TABLE_ENTRIES:
        return asked
    return {name: _thinned(table, TC_TABLE_ENTRIES // len(asked)) for name, table in asked.items()}


def _thinned(table: tuple[int, ...], entries: int) -> tuple[int, ...]:
    """Return a table without some entries, evenly spread over it; the first and the last stay."""
    if len(table) <= entries:
        return table
    kept = np.rint(np.linspace(0, len(table) - 1, entries)).astype(int)
    return tuple(np.asarray(table)[kept].tolist())


def _shortened(state: QdiscState, tables: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    """Say of each table that had to be shortened what that changes."""
    slot = state.slot or SlotState()
    whole = {
        DELAY_TABLE: (state.delay_table, state.jitter_ns),
        SLOT_TABLE: (state.slot_table, slot.dist_jitter_ns),
    }
    for name, table in tables.items():
        asked, jitter_ns = whole[name]
        if asked is not None and len(asked) != len(table):
            before, after = (np.asarray(one) * (jitter_ns / 8192e3) for one in (asked, table))
            yield (
                f"{name} table of {len(table)} entries instead of {len(asked)}, since tc's message holds no more: "
                f"mean {after.mean() - before.mean():+.3g} us, deviation {after.std() - before.std():+.3g} us"
            )


def _delay_words(state: QdiscState) -> Iterator[str]:
    yield from ("delay", _microseconds(state.latency_ns))
    if state.jitter_ns:
        yield _microseconds(state.jitter_ns)
        if state.delay_table is not None:
            yield from ("distribution", f"{{{DELAY_TABLE}}}")


def _loss_words(state: QdiscState) -> Iterator[str]:
    chain = state.loss_model
    if isinstance(chain, GilbertElliottState):
        yield from ("loss", "gemodel", *map(_percent, (chain.p, chain.r, U32_MAX - chain.h, chain.k1)))
    elif isinstance(chain, FourStateState):
        yield from ("loss", "state", *map(_percent, (chain.p13, chain.p31, chain.p32, chain.p23, chain.p14)))
    elif state.loss:
        yield from ("loss", "random", _percent(state.loss))


def _rate_words(state: QdiscState, complete: bool) -> Iterator[str]:
    extras = (state.packet_overhead_bytes, state.cell_size_bytes, state.cell_overhead_bytes)
    if state.rate_bytes_per_s or any(extras) or complete:
        yield from ("rate", f"{8 * state.rate_bytes_per_s}bit")
        if any(extras) or complete:
            yield from map(str, extras)


def _slot_words(state: QdiscState, complete: bool) -> Iterator[str]:
    slot = state.slot
    if slot is None:
        if complete:
            yield from ("slot", "0us")
        return
    if state.slot_table is not None:
        yield from ("slot", "distribution", f"{{{SLOT_TABLE}}}")
        yield from map(_microseconds, (slot.dist_delay_ns, slot.dist_jitter_ns))
    else:
        yield from ("slot", *map(_microseconds, (slot.min_delay_ns, slot.max_delay_ns)))
    if slot.max_packets:
        yield from ("packets", str(slot.max_packets))
    if slot.max_bytes:
        yield from ("bytes", f"{slot.max_bytes}b")


def _microseconds(time_ns: int) -> str:
    """Return a time as tc reads it without loss: it multiplies by 1000 and cuts, so half a ns is added."""
    whole, rest = divmod(time_ns, 1000)
    return f"{whole}.{rest:03d}5us" if rest else f"{whole}us"


def _percent(share: int) -> str:
    """Return a share of 2^32 - 1 as the shortest percentage of which tc makes that very number."""
    for digits in range(1, 18):
        percent = float(f"{100 * share / U32_MAX:.{digits}g}")
        if round(percent / 100.0 * U32_MAX) == share:
            return f"{percent:.15g}%"
    raise AssertionError(f"{share} is not on the scale of 2^32 - 1")
