"""ParityTable: what all cells of the parity table say; pure data.

::

    ParityRow, ParityEpisodes ... --parity_line--> ParityLine: both means, their difference, where they part
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from msgspec import Struct

from netlab.errors import LabError
from netlab.tables.equivalence import Equivalence, Verdict
from netlab.tables.parity_cell import ParityEpisodes, Parting
from netlab.tables.parity_plan import ParityRow
from netlab.tables.parity_rows import DIFFERENCE_SHARE

__all__ = ["ParityLine", "ParityTable", "parity_line"]


class ParityLine(Struct, frozen=True, kw_only=True):
    """One line.

    Attributes:
        policy: Name of the policy.
        actuator: What plays its actions, where that is not what its card says; empty else.
        network: In words.
        engine: What carried the services' packets.
        seeds: Of the runs.
        services_mean: Mean return of the services' episodes.
        wrapper_mean: Of the wrapper's.
        equivalence: What their differences say, episode by episode.
        verdict: ``equivalent``, ``different`` or ``undecided``.
        share: The mean difference as a share of the range, either way.
        first_services: Return of each episode of the first run in the lab, for those who play it again.
        first_wrapper: Of each in the wrapper.
        identical: Episodes that are the same tick by tick.
        ticks: Ticks that the services played.
        partings: Where the others part: run and parting.
        early: Runs in which packets of a pause took draws of an episode.
    """

    policy: str
    actuator: str
    network: str
    engine: str
    seeds: tuple[int, ...]
    services_mean: float
    wrapper_mean: float
    equivalence: Equivalence
    verdict: Verdict
    share: float
    first_services: tuple[float, ...]
    first_wrapper: tuple[float, ...]
    identical: int
    ticks: int
    partings: tuple[tuple[int, Parting], ...]
    early: tuple[int, ...]


class ParityTable(Struct, frozen=True, kw_only=True):
    """The whole table.

    Attributes:
        netlab: Version of netlab.
        versions: Of what decides figures, netlab's own code among them.
        kernels: What kernels carried packets, by engine.
        machine: Where, as it was found last.
        seconds: How long the computing of all cells took, one after another.
        lines: The lines, in their order.
    """

    netlab: str
    versions: dict[str, str]
    kernels: dict[str, str]
    machine: dict[str, object]
    seconds: float
    lines: tuple[ParityLine, ...]


def parity_line(row: ParityRow, results: Sequence[ParityEpisodes]) -> ParityLine:
    """Return what the cells of a row say.

    Args:
        row: The row.
        results: Of its cells, from the first.

    Raises:
        LabError: A difference of returns is beyond the range that is declared for the row.
    """
    services = [one for result in results for one in result.services]
    wrapper = [one for result in results for one in result.wrapper]
    differences = [ours - theirs for ours, theirs in zip(services, wrapper, strict=True)]
    try:
        equivalence = Equivalence.of(differences, row.played.range * DIFFERENCE_SHARE, row.played.range)
    except ValueError as error:
        raise LabError(f"{row.played.policy} on {row.network}, {row.engine}: {error}") from error
    seeds = [run.cell.seed for run in row.runs[: len(results)]]
    partings = [(seed, one) for seed, result in zip(seeds, results, strict=True) for one in result.partings]
    return ParityLine(
        policy=row.played.policy,
        actuator=row.played.actuator or "",
        network=row.network,
        engine=row.engine,
        seeds=tuple(seeds),
        services_mean=fmean(services),
        wrapper_mean=fmean(wrapper),
        equivalence=equivalence,
        verdict=equivalence.verdict,
        share=equivalence.share,
        first_services=results[0].services,
        first_wrapper=results[0].wrapper,
        identical=len(services) - len(partings),
        ticks=sum(result.ticks for result in results),
        partings=tuple(partings),
        early=tuple(seed for seed, result in zip(seeds, results, strict=True) if result.early),
    )
