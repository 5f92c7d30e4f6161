"""EpisodeTally: what one episode adds up to while it is played."""

from __future__ import annotations

import hashlib

from netlab.control.counters import AgeSummary
from netlab.control.edge import Edge
from netlab.control.histogram import Histogram
from netlab.envs.loop import RealTimeLoop
from netlab.envs.result import DurationSummary, EpisodeResult

__all__ = ["EpisodeTally", "episode_seed"]


def episode_seed(seed: int, episode: int) -> int:
    """Return the 31-bit seed of an episode: hashed, so that runs with neighbouring seeds share no episode."""
    digest = hashlib.sha256(f"netlab episode {seed} {episode}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


class EpisodeTally:
    """Add up one episode.

    Args:
        episode: Its number.
        seed: What the task was reset with.
        loop: Whose late and skipped ticks are counted from now on.

    Attributes:
        return_: Sum of rewards so far.
        ticks: Ticks so far.
        latency_us: Observation-to-action latencies.
        disconnected_ticks: Ticks without a connection.
    """

    def __init__(self, episode: int, seed: int, loop: RealTimeLoop) -> None:
        self.episode = episode
        self.seed = seed
        self.return_ = 0.0
        self.ticks = 0
        self.latency_us = Histogram()
        self.disconnected_ticks = 0
        self._loop = loop
        self._late_before = loop.late
        self._skipped_before = loop.skipped

    def finish(self, edge: Edge, *, complete: bool) -> EpisodeResult:
        """Return the result; ``edge`` still has this episode's counters."""
        return EpisodeResult(
            episode=self.episode,
            seed=self.seed,
            complete=complete,
            return_=self.return_,
            ticks=self.ticks,
            counters=edge.counters,
            ages=AgeSummary.of(edge.ages),
            latency=DurationSummary.of(self.latency_us),
            deadline_misses=self._loop.late - self._late_before,
            skipped_ticks=self._loop.skipped - self._skipped_before,
            disconnected_ticks=self.disconnected_ticks,
        )
