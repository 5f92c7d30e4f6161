"""Do the two engines agree: real netem in virtual time against LinkModel, packet by packet.

::

    netlab guest run --virtual-time -- this module --> one line of JSON a case --> Figure
      NetemDuet: real netem | LinkModel, same state, same seed, same packets

Virtual time, since there a timer is on time: what is left of a difference is the clock's steps of 256 ns.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import msgspec

from netlab.bench.figure import Figure
from netlab.bench.impairment_cases import CASES
from netlab.bench.netem_duet import Comparison, NetemDuet
from netlab.bench.netem_rig import netem_rig
from netlab.clock_name import in_virtual_time
from netlab.errors import LabError
from netlab.machine import inside_guest

__all__ = ["engines_agree"]

PACKETS = 2_000
PERIOD_S = 0.001
TARGET_NS = 1_000
DEADLINE_S = 600


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """One case, compared.

    Attributes:
        case: Its name.
        packets: Packets sent.
        copies: Copies delivered, by the model.
        differing: In words, packets whose fate differs.
        worst_ns: Greatest difference between a moment of arrival and the model's.
        guest: The kernel it was measured on.
    """

    case: str
    packets: int
    copies: int
    differing: list[str]
    worst_ns: int
    guest: str


def engines_agree(say: Callable[[str], None]) -> Figure:
    """Compare fates and delays of 2,000 packets for each impairment, in a guest with virtual time.

    Raises:
        LabError: The guest came to no end, or measured only part of it.
    """
    say(f"{len(CASES)} impairments, {PACKETS} packets each, in virtual time")
    command = [
        sys.executable, "-P", "-m", "netlab", "guest", "run", "--virtual-time", "--timeout", f"{DEADLINE_S}s",
        "--", sys.executable, "-P", "-m", __name__,
    ]  # fmt: skip
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise LabError("the comparison of the engines failed in the guest", done.returncode)
    rows = [msgspec.json.decode(line, type=_Row) for line in done.stdout.splitlines()]
    _check_whole(rows)
    return _figure(rows)


def _check_whole(rows: list[_Row]) -> None:
    """Check that each impairment was compared, over all its packets.

    Raises:
        LabError: One was not; names it.
    """
    if [row.case for row in rows] != list(CASES):
        raise LabError(f"the guest compared {len(rows)} of {len(CASES)} impairments")
    for row in rows:
        if row.packets != PACKETS:
            raise LabError(f"the guest compared {row.packets} of {PACKETS} packets of {row.case}")


def _figure(rows: list[_Row]) -> Figure:
    differing = sum(len(row.differing) for row in rows)
    worst_ns = max(row.worst_ns for row in rows)
    packets = sum(row.packets for row in rows)
    table = "; ".join(
        f"{row.case}: {len(row.differing)} of {row.packets} differ, {row.copies} copies within {row.worst_ns} ns"
        for row in rows
    )
    first = next((f" (first: {row.case}, {row.differing[0]})" for row in rows if row.differing), "")
    return Figure(
        name="engines-agree",
        value=float(differing),
        unit=f"of {packets} fates differ",
        target=f"0, and no delay by more than {TARGET_NS} ns",
        holds=differing == 0 and worst_ns <= TARGET_NS,
        n=packets,
        spread=f"largest difference of a delay {worst_ns} ns{first}",
        note=f"virtual time, kernel {rows[0].guest}; {table}",
    )


def _compare(name: str) -> _Row:
    with netem_rig() as rig:
        duet = NetemDuet(rig, CASES[name].state)
        CASES[name].play(duet, PACKETS, PERIOD_S)
        compared = duet.finish()
    return _Row(
        case=name,
        packets=compared.packets,
        copies=compared.copies,
        differing=_all_differences(compared),
        worst_ns=max(abs(late_ns) for late_ns in compared.late_ns),
        guest=str(inside_guest()),
    )


def _all_differences(compared: Comparison) -> list[str]:
    return compared.differing + [f"packet {number}: out of its place" for number in compared.misplaced]


def main() -> None:
    """Compare all cases on this kernel, a line each."""
    if not in_virtual_time():
        raise LabError("engines-agree is measured in virtual time", hint="netlab bench engines-agree")
    for name in CASES:
        print(msgspec.json.encode(_compare(name)).decode(), flush=True)


if __name__ == "__main__":
    main()
