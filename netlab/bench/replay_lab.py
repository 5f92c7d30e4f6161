"""A star of played links, and what playing it costs: shared by the figures on replay.

::

    hub ==== host 0      each direction a schedule of its own: a walk of the delay, a new one each step
     |`===== host 1
     `------ ...

    in step   |---|---|---|      all on the same deadlines: one message each
              |---|---|---|
    apart     |----|---|---|-     each begins with a step longer by chance: as many deadlines as changes
              |-----|---|---|
"""

from __future__ import annotations

import functools
import gc
import resource
import statistics
import threading
import time

import msgspec
import numpy as np
from msgspec import Struct

from netlab.errors import LabError
from netlab.lab import Lab
from netlab.lab_links import LinkOrder
from netlab.namespaces.impairer import Impairer
from netlab.namespaces.link import Link
from netlab.namespaces.play_log import PlayedStep, PlayerCounts
from netlab.namespaces.player import Played, Player
from netlab.namespaces.player_clock import InterruptibleClock
from netlab.namespaces.staged_changes import PreparesTogether
from netlab.namespaces.timeline import Track, schedule_track
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step
from netlab.traces.seed import DIRECTIONS, Direction

__all__ = ["PlayedStar", "play_star"]

DIFFERENT = 32
"""Schedules that differ; the directions take them in turn."""

_LEAST_S, _MOST_S, _STRIDE_S = 0.010, 0.060, 0.002
_PASS_S = 10.0
_READ_BACKS = 50


class PlayedStar(Struct, frozen=True, kw_only=True):
    """What playing took.

    Attributes:
        log: The Player's log.
        counts: Its totals.
        wall_s: How long it played.
        counted_s: Processor time of the process as the kernel counts it. Where it counts by ticks, as the guest
            kernel does, work that always ends before the next tick is not seen.
        awake_s: Time in which the Player was not waiting for the next deadline, and what it took to read back.
    """

    log: list[PlayedStep]
    counts: PlayerCounts
    wall_s: float
    counted_s: float
    awake_s: float

    @property
    def busy_share(self) -> float:
        """The share of a processor that it took: the larger of what the kernel counts and the time awake."""
        return max(self.counted_s, self.awake_s) / self.wall_s

    @property
    def late_s(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """How late each step was in force, ``[applied]``."""
        return np.array([step.applied_s - step.asked_s for step in self.log if step.applied_s is not None])

    @property
    def skipped(self) -> int:
        """How many steps were not applied."""
        return self.counts.superseded + self.counts.failed


class _WaitedClock(InterruptibleClock):
    """The machine's clock, and how long was to be waited by it; waking late counts as being awake."""

    def __init__(self) -> None:
        self.waited_s = 0.0

    def wait_until(self, deadline_s: float, interrupt: threading.Event) -> None:
        self.waited_s += max(
            deadline_s - time.monotonic(), 0.0
        )  # read before the deadline, where it delays nothing
        super().wait_until(deadline_s, interrupt)


def play_star(links: int, rate_hz: float, seconds: float, *, apart: bool = False) -> PlayedStar:
    """Make a star of links, play both directions of each, and say what that cost; the making is not counted.

    Args:
        links: How many.
        rate_hz: Steps a second of each schedule; each step has a delay and a seed of its own.
        seconds: How long.
        apart: Whether each direction has deadlines of its own; else all have the same.

    Raises:
        FeatureMissing: This kernel has no netem.
        LabError: It ended before its time.
        KernelError: A step was refused or did not take hold.
    """
    walks = [_walk(rate_hz, number) for number in range(DIFFERENT)]
    with Lab("replay-bench", seed=7) as lab:
        hub = lab.add_host("hub")
        hosts = [lab.add_host(f"host{number}") for number in range(links)]
        made = lab.add_links([LinkOrder(hub, host, walks[0].steps[0].profile) for host in hosts])
        tracks = [schedule_track("", walk) for walk in walks]
        phases_s = (
            np.random.default_rng(7).uniform(0.0, 1.0 / rate_hz, 2 * links) if apart else np.zeros(2 * links)
        )
        played = [
            _played(link, direction, tracks[(2 * number + side) % DIFFERENT], float(phases_s[2 * number + side]))
            for number, link in enumerate(made)
            for side, direction in enumerate(DIRECTIONS)
        ]
        clock, wire = _WaitedClock(), made[0].wire
        prepares = wire if isinstance(wire, PreparesTogether) else None
        player = Player(played, wire.change_together, clock, wire=prepares)
        gc.collect()
        began_s, counted_s = time.monotonic(), _counted_s()
        player.start()
        if player.wait(seconds):
            player.check()
            raise LabError(f"the schedules ended within {seconds:g} s")
        wall_s, counted_s, waited_s = time.monotonic() - began_s, _counted_s() - counted_s, clock.waited_s
        counts = player.counts
        player.stop()  # raises what was refused or read back otherwise
        read_back_s = counts.verified * _read_back_s(played[0].impairer)
        return PlayedStar(
            log=player.log,
            counts=counts,
            wall_s=wall_s,
            counted_s=counted_s,
            awake_s=wall_s - waited_s + read_back_s,
        )


def _played(link: Link, direction: Direction, track: Track, phase_s: float) -> Played:
    """Return a direction that plays a track, its first step longer by the phase; the states are shared."""
    impairer = link.impairer(direction)
    assert impairer is not None  # made with the walk's first state
    starts_s = (0.0, *(round(start_s + phase_s, 6) for start_s in track.starts_s[1:]))
    own = msgspec.structs.replace(
        track,
        name=f"{link.name} {direction}",
        starts_s=starts_s,
        seed_of=functools.partial(link.played_seed, direction),
    )
    return Played(own, impairer)


def _counted_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _read_back_s(impairer: Impairer) -> float:
    """Return what one read-back takes."""
    took_s = []
    for _ in range(_READ_BACKS):
        began_s = time.monotonic()
        impairer.verify()
        took_s.append(time.monotonic() - began_s)
    return statistics.median(took_s)


def _walk(rate_hz: float, number: int) -> Schedule:
    """Return a looping walk of the delay between two walls, 1 % of the packets lost."""
    rng = np.random.default_rng([7, number])
    steps = round(_PASS_S * rate_hz)
    delay_s = _LEAST_S + np.cumsum(_STRIDE_S * rng.standard_normal(steps)) % (2 * (_MOST_S - _LEAST_S))
    delay_s = np.where(delay_s > _MOST_S, 2 * _MOST_S - delay_s, delay_s)
    return Schedule(
        tuple(
            Step(float(step / rate_hz), LinkProfile(delay_s=float(delay), loss=0.01))
            for step, delay in enumerate(delay_s)
        ),
        _PASS_S,
        loop=True,
    )
