"""VirtualLink: messages on their way between the two halves of the tick protocol, and when they arrive.

::

    observation --send--> VirtualWay forward --arrives at--> heap --take(until)--> in order of arrival,
    action frame -------> VirtualWay back -----------------> heap                  then of sending

Each way is netem's algorithm (``LinkModel``) from its first packet on. No clock: the caller says what time it is,
and never goes back. Of a packet's copies the first whole one counts, as on the wire: the checksum refuses a
corrupted one, the seal a second showing.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Protocol

from netlab.envs.virtual.track import LinkTrack
from netlab.messages import Action, Observation
from netlab.traces.model.link_model import LinkModel
from netlab.traces.profile import LinkProfile
from netlab.wire.frame_length import frame_bytes

__all__ = ["MessageLink", "VirtualLink", "VirtualWay"]

_ANY_BYTES = 0
"""Length of a packet where none matters."""


class VirtualWay:
    """One direction of a link during one episode.

    Args:
        track: What it does over time, from now on.
        seed_of: Gives the seed of a step of the track.
    """

    def __init__(self, track: LinkTrack, seed_of: Callable[[int], int]) -> None:
        self._track = track
        self._seed_of = seed_of
        self._step = 0
        self._next_ns = track.start_ns(1)
        self._model = None if track.is_clear else LinkModel(track.state(0, seed_of(0)))
        self._has_rate = self._model is not None and self._model.state.rate_bytes_per_s > 0

    def profile(self, now_ns: int) -> LinkProfile:
        """Return what is in force."""
        if self._next_ns is not None and self._next_ns <= now_ns:
            self._change(now_ns)
        return self._track.profile(self._step)

    def send(self, now_ns: int, message: Observation | Action) -> int | None:
        """Put a message in; return when it arrives whole, None where it never does.

        A step that begins at this very moment holds for it.
        """
        if self._next_ns is not None and self._next_ns <= now_ns:
            self._change(now_ns)
        # To know a length costs an encoding: it matters only where bytes take time.
        return self.carry(now_ns, frame_bytes(message) if self._has_rate else _ANY_BYTES)

    def carry(self, now_ns: int, length_bytes: int) -> int | None:
        """Put a packet of this length in, as ``send`` does."""
        if self._next_ns is not None and self._next_ns <= now_ns:
            self._change(now_ns)
        if self._model is None:
            return now_ns
        copies = self._model.enqueue(now_ns, length_bytes).copies
        return min([copy.leave_ns for copy in copies if not copy.corrupted], default=None)

    def _change(self, now_ns: int) -> None:
        """Put the newest step that has begun in force; those it has overtaken met no packet."""
        track, model = self._track, self._model
        self._step = track.step_at(now_ns)
        self._next_ns = track.start_ns(self._step + 1)
        if model is not None:
            model.apply(track.state(self._step, self._seed_of(self._step)))
            self._has_rate = model.state.rate_bytes_per_s > 0


class MessageLink(Protocol):
    """What carries an episode's messages: a ``VirtualLink`` or a ``StreamLink``."""

    forward: VirtualWay
    back: VirtualWay

    def send(self, now_ns: int, message: Observation | Action) -> None:
        """Send a message on its way, now."""
        ...

    def take(self, until_ns: int) -> tuple[int, Observation | Action] | None:
        """Take out what arrives next and return it with its time; None where nothing does until then."""
        ...


class VirtualLink:
    """Both directions during one episode, and what is under way.

    Args:
        forward: The way of observations.
        back: The way of action frames.
    """

    def __init__(self, forward: VirtualWay, back: VirtualWay) -> None:
        self.forward = forward
        self.back = back
        self._sent = 0
        self._under_way: list[tuple[int, int, Observation | Action]] = []  # a heap

    def send(self, now_ns: int, message: Observation | Action) -> None:
        """Send a message on its way, now."""
        way = self.forward if type(message) is Observation else self.back
        arrival_ns = way.send(now_ns, message)
        if arrival_ns is not None:
            self._sent += 1
            heapq.heappush(self._under_way, (arrival_ns, self._sent, message))

    def take(self, until_ns: int) -> tuple[int, Observation | Action] | None:
        """Take out what arrives next and return it with its time; None where nothing does until then."""
        under_way = self._under_way
        if not under_way or under_way[0][0] > until_ns:
            return None
        arrival_ns, _, message = heapq.heappop(under_way)
        return arrival_ns, message
