"""EpisodeReport: the document of ``netlab lab run``, its table, and how two of them differ.

::

    EpisodeRun --of--> EpisodeReport --JSON--> file --read_report--> EpisodeReport
                            `-- compare_reports(here, there) --> EpisodeDifference

Holds nothing that a second run in virtual time would say otherwise: no wall time, no name of a temporary file.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import msgspec
from msgspec import Struct

import netlab
from netlab.envs.result import RunResult
from netlab.envs.tick_log import TickRecord
from netlab.episode.run import EpisodePlan, EpisodeRun
from netlab.episode.spec import EpisodeSpec
from netlab.errors import SpecError
from netlab.traces.packets.packet_compare import PacketDifference, compare_packets
from netlab.traces.packets.packet_log import PacketLog, PacketRecord
from netlab.traces.seed import DIRECTIONS, Direction

__all__ = ["EpisodeDifference", "EpisodeReport", "WaySummary", "compare_reports", "read_report"]

_MAX_DOCUMENT_BYTES = 1 << 30
_PASSED = ("delivered", "marked", "duplicate")


class WaySummary(Struct, frozen=True, kw_only=True):
    """One direction of the episode's link.

    Attributes:
        direction: ``forward`` or ``back``.
        sent: Packets that entered it.
        lost: Packets of which nothing left it.
        pending: Packets of which nobody knows.
        delay_mean_ms: Mean delay of the copies that left it whole; null where none did.
        delay_sd_ms: Its standard deviation; null below two.
    """

    direction: Direction
    sent: int
    lost: int
    pending: int
    delay_mean_ms: float | None
    delay_sd_ms: float | None

    @classmethod
    def of(cls, direction: Direction, records: list[PacketRecord]) -> WaySummary:
        """Summarise the packets of one direction."""
        delays_ms = [
            record.delay_ns / 1e6 for record in records if record.fate in _PASSED and record.delay_ns is not None
        ]
        return cls(
            direction=direction,
            sent=sum(not record.is_further_copy for record in records),
            lost=sum(record.fate == "lost" for record in records),
            pending=sum(record.fate == "pending" for record in records),
            delay_mean_ms=statistics.fmean(delays_ms) if delays_ms else None,
            delay_sd_ms=statistics.stdev(delays_ms) if len(delays_ms) > 1 else None,
        )


class EpisodeReport(Struct, frozen=True, kw_only=True):
    """What one corner has played.

    Attributes:
        netlab: Version of netlab.
        engine: ``host``, ``guest``, ``relay`` or ``model``.
        clock: ``real`` or ``virtual``.
        kernel: Which kernel; of a guest with its SHA-256.
        lab: Name of the lab.
        link: Name of the episode's link.
        profile: What it does, as the spec says it.
        seed: Of link and episodes.
        episode: What was to be played.
        horizon_ticks: D.
        run: What the environment's service reports.
        ways: Its link, forward and back.
        ticks: Every tick.
        log: What the packet log says of itself.
        packets: Every packet.
    """

    netlab: str
    engine: str
    clock: str
    kernel: str
    lab: str
    link: str
    profile: str
    seed: int
    episode: EpisodeSpec
    horizon_ticks: int
    run: RunResult
    ways: tuple[WaySummary, ...]
    ticks: tuple[TickRecord, ...]
    log: dict[str, str]
    packets: tuple[PacketRecord, ...]

    @classmethod
    def of(cls, plan: EpisodePlan, run: EpisodeRun) -> EpisodeReport:
        """Return the report of a run."""
        header, link = run.packets.header, plan.link.full_name
        of_link = [record for record in run.packets.records if record.link == link]
        return cls(
            netlab=netlab.__version__,
            engine=header["engine"],
            clock=header["clock"],
            kernel=header["kernel"],
            lab=plan.lab.name,
            link=link,
            profile=plan.link.profile,
            seed=plan.seed,
            episode=plan.episode,
            horizon_ticks=plan.horizon_ticks,
            # Its spec names files of one run that are gone; what it was asked for is in the episode.
            run=msgspec.structs.replace(run.result, spec=None),
            ways=tuple(
                WaySummary.of(way, [record for record in of_link if record.direction == way]) for way in DIRECTIONS
            ),
            ticks=run.ticks,
            log=header,
            packets=run.packets.records,
        )

    @property
    def packet_log(self) -> PacketLog:
        """The packets as a log."""
        return PacketLog(self.log, self.packets)


class EpisodeDifference(Struct, frozen=True, kw_only=True):
    """How two reports differ.

    Attributes:
        ticks: Ticks that both have, by their numbers.
        first_tick: Number of the first tick that differs in anything (the age of an action, say), or that one of
            the two does not have; None where all are the same.
        ticks_differ: How many of the common ticks differ.
        only_here: Ticks that the first report alone has.
        only_there: Ticks that the second report alone has: the episode was longer, or a tick was skipped.
        first_action: Number of the first common tick that applied another action; None where all are the same.
        returns: Returns here and there, episode by episode.
        packets: How the packets differ, by link and direction.
    """

    ticks: int
    first_tick: int | None
    ticks_differ: int
    only_here: int
    only_there: int
    first_action: int | None
    returns: tuple[tuple[float, ...], tuple[float, ...]]
    packets: tuple[PacketDifference, ...]

    @property
    def is_same(self) -> bool:
        """Tell whether every tick is the same and every packet met the same fate."""
        return self.first_tick is None and all(one.is_same for one in self.packets)


def compare_reports(here: EpisodeReport, there: EpisodeReport) -> EpisodeDifference:
    """Return how two reports of one spec and seed differ.

    Raises:
        SpecError: They are not of one episode; names what differs.
    """
    for name in ("link", "profile", "seed", "episode", "horizon_ticks"):
        asked, other = getattr(here, name), getattr(there, name)
        if asked != other:
            problem = f"{asked!r:.200} here and {other!r:.200} there: these are two experiments"
            raise SpecError(problem, key=name, hint="run one spec with one seed on both corners")
    # By number: a tick that one corner was too late to begin is one tick that differs, not all that follow.
    ours, theirs = ({tick.tick: tick for tick in report.ticks} for report in (here, there))
    differ = sorted(number for number in ours.keys() | theirs.keys() if ours.get(number) != theirs.get(number))
    both = ours.keys() & theirs.keys()
    acted = (number for number in differ if number in both and ours[number].action != theirs[number].action)
    return EpisodeDifference(
        ticks=len(both),
        first_tick=differ[0] if differ else None,
        ticks_differ=sum(number in both for number in differ),
        only_here=len(ours) - len(both),
        only_there=len(theirs) - len(both),
        first_action=next(acted, None),
        returns=(tuple(here.run.returns), tuple(there.run.returns)),
        packets=tuple(compare_packets(here.packet_log, there.packet_log)),
    )


def read_report(path: Path) -> EpisodeReport:
    """Read a report that ``netlab lab run --output`` has written.

    Raises:
        SpecError: It cannot be read, or is no report.
    """
    hint = "write one: netlab lab run SPEC --output FILE"
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_DOCUMENT_BYTES + 1)
    except OSError as error:
        raise SpecError(f"cannot be read: {error.strerror}", path, hint=hint) from error
    if len(data) > _MAX_DOCUMENT_BYTES:
        hint = "play fewer episodes, or compare their --packets and --ticks files"
        raise SpecError(f"longer than {_MAX_DOCUMENT_BYTES} bytes", path, hint=hint)
    try:
        return msgspec.json.decode(data, type=EpisodeReport)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SpecError(f"is no report of an episode: {error}", path, hint=hint) from error
