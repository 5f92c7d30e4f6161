"""WayFigures: what a critic may know of the ways that many lanes have, each time anew where it changes.

The twin of ``netlab.envs.virtual.privileged``. Knows no packet.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.envs.vector.flights import Bools, Numbers, Places
from netlab.envs.virtual.privileged import way_figures
from netlab.envs.virtual.track import LinkTrack
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule

__all__ = ["WayFigures"]

_NEVER_NS = 2**63 - 1


class WayFigures:
    """Figures of what is in force on each lane.

    Args:
        links: What a lane can have.
        lanes: How many.
        tick_s: Length of a tick.
    """

    def __init__(self, links: list[LinkProfile | Schedule], lanes: int, tick_s: float) -> None:
        self._tick_s = tick_s
        self._tracks = {number: LinkTrack(link) for number, link in enumerate(links) if isinstance(link, Schedule)}
        self._of_link = np.array([way_figures(_first(link), tick_s) for link in links], dtype=np.float32)
        self._figures = np.zeros((lanes, self._of_link.shape[1]), dtype=np.float32)
        self._link = np.zeros(lanes, dtype=np.int64)
        self._step = np.zeros(lanes, dtype=np.int64)
        self._next_ns = np.full(lanes, _NEVER_NS)
        self._sent_ns = np.zeros(lanes, dtype=np.int64)

    def begin(self, lanes: Places, links: Numbers) -> None:
        """Give lanes ``[m]`` other links, at their beginnings."""
        self._figures[lanes] = self._of_link[links]
        if not self._tracks:
            return
        self._link[lanes], self._step[lanes], self._next_ns[lanes] = links, 0, _NEVER_NS
        self._sent_ns[lanes] = 0
        for lane in lanes.tolist():
            self._await(lane)

    def note(self, part: slice, now_ns: Numbers, who: Bools) -> None:
        """Take note that some lanes have sent, ``[part]``: what held then is in force."""
        if self._tracks:
            np.copyto(self._sent_ns[part], now_ns, where=who)

    def at(self, part: slice, now_ns: Numbers) -> NDArray[np.float32]:
        """Return the figures of some lanes at their times ``[part]``, ``[part, 4]``; times only rise."""
        if self._tracks:
            now_ns = np.maximum(now_ns, self._sent_ns[part])
            for place in np.flatnonzero(self._next_ns[part] <= now_ns).tolist():
                self._change(part.start + place, int(now_ns[place]))
        return self._figures[part]

    def _change(self, lane: int, now_ns: int) -> None:
        track = self._tracks[int(self._link[lane])]
        self._step[lane] = track.step_at(now_ns)
        self._await(lane)
        profile = track.profile(int(self._step[lane]))
        self._figures[lane] = way_figures(profile, self._tick_s)

    def _await(self, lane: int) -> None:
        track = self._tracks.get(int(self._link[lane]))
        begins_ns = None if track is None else track.start_ns(int(self._step[lane]) + 1)
        self._next_ns[lane] = _NEVER_NS if begins_ns is None else begins_ns


def _first(link: LinkProfile | Schedule) -> LinkProfile:
    return link if isinstance(link, LinkProfile) else link.steps[0].profile
