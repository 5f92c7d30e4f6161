"""Pulse: when to show a sign of life, and when to give the peer up. Pure: the time is an argument.

::

      heard          heartbeat_s                          silence_s
        |---------------|---------------|-------------------|-----> time without a frame from the peer
        we send one each heartbeat_s of our own silence      lost
                                        |
                                        lost already here, if the network hints that nobody is there
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from netlab.errors import SpecError
from netlab.messages import Heartbeat
from netlab.wire.statistics import Statistics

__all__ = ["Pulse", "Timing"]

_DOUBT_HEARTBEATS = 2
MAX_LOOK_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The times of a session.

    Attributes:
        heartbeat_s: A side that has sent nothing for so long sends a heartbeat.
        silence_s: A peer that was not heard for so long is lost.
        attempt_s: How long one attempt at a handshake may take, on either side.
        look_s: How long to look for an answer before sleeping, where answers are that quick; 0 never does.
    """

    heartbeat_s: float = 0.5
    silence_s: float = 3.0
    attempt_s: float = 5.0
    look_s: float = 50e-6

    def __post_init__(self) -> None:
        times = (self.heartbeat_s, self.silence_s, self.attempt_s)
        if not all(math.isfinite(time_s) and time_s > 0 for time_s in times):
            raise SpecError(f"heartbeat, silence and attempt must be above 0 s and finite; they are {times}")
        if not 0.0 <= self.look_s <= MAX_LOOK_S:
            raise SpecError(f"look_s = {self.look_s} is outside 0 .. {MAX_LOOK_S} s: that is no moment")
        if self.silence_s < 2 * self.heartbeat_s:
            raise SpecError(
                f"silence_s = {self.silence_s} gives a peer up before two heartbeats of {self.heartbeat_s} s",
                hint="make silence_s several times heartbeat_s: a lossy link loses heartbeats too",
            )


class Pulse:
    """The life of one peer, judged by the counters of what came and went since it was last asked.

    Args:
        timing: When to act.
        statistics: Counters of the peer's channel or session.
        now_s: The time.
    """

    __slots__ = ("_count", "_doubt", "_heard_s", "_received", "_sent", "_sent_s", "_statistics", "_timing")

    def __init__(self, timing: Timing, statistics: Statistics, now_s: float) -> None:
        self._timing = timing
        self._statistics = statistics
        self._count = 0
        self._doubt = ""
        self._received = 0
        self._heard_s = now_s
        self._sent = 0
        self._sent_s = now_s

    def beat(self, now_s: float) -> Heartbeat | None:
        """Return the heartbeat to send now, or None while there is no need."""
        sent = self._statistics.frames_sent
        if sent != self._sent:
            self._sent = sent
            self._sent_s = now_s
        if now_s - self._sent_s < self._timing.heartbeat_s:
            return None
        self._count += 1
        self._sent_s = now_s  # even if it cannot leave: not one attempt each call
        return Heartbeat(self._count)

    def doubt(self, reason: str) -> None:
        """Note an unsigned hint that the peer is gone; it counts only together with silence."""
        self._doubt = reason

    def find_loss(self, now_s: float) -> str:
        """Return why the peer must be given up now; empty while it need not."""
        received = self._statistics.frames_received
        if received != self._received:
            self._received = received
            self._heard_s = now_s
            self._doubt = ""
            return ""
        silent_s = now_s - self._heard_s
        if silent_s >= self._timing.silence_s:
            return f"silent for {silent_s:.1f} s"
        if self._doubt and silent_s >= _DOUBT_HEARTBEATS * self._timing.heartbeat_s:
            return f"{self._doubt}, and silent for {silent_s:.1f} s"
        return ""
