"""EpisodeLinks: many links, each of which begins anew at moments of its own, as the episodes of training do.

Equal, packet by packet, to a fresh ``LinkModel`` an episode, of its state and its seed. Most links are prepared
ahead for all lanes at once; those with more than loss, delay and rate have a ``LinkModel`` each.

::

    lane       0 .. n-1     n .. 2n-1          One object for both directions: their draws are made together.
               forward      back               ``part`` says which lanes the columns of a call are of.

    restart(lanes, rows of the table, seeds)   send(now [part], who [part]) --> arrive [part]

Knows no tick, no message and no environment.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.errors import ProfileError
from netlab.traces.model.link_model import LinkModel
from netlab.traces.model.prepared_links import NEVER, PreparedLinks
from netlab.traces.model.state_table import StateTable
from netlab.traces.model.timed_states import NO_CHANGE_NS, LinkStates, TimedStates
from netlab.traces.seed import step_seed

__all__ = ["ALL", "NEVER", "EpisodeLinks"]

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Seeds = NDArray[np.uint64]
SeedOfStep = Callable[[int, int], int]

ALL = slice(None)
"""Every lane."""

MAX_LANES = 1 << 20


class EpisodeLinks:
    """Links of a table, a lane each.

    Args:
        table: What a link can be.
        lanes: How many; none may be sent through before it was restarted.
        seed_of_step: Gives the seed of a later step of a lane's schedule, by the lane and the step, counted from 0
            over the passes of a loop; ``step_seed`` of the episode's seed unless given.

    Raises:
        ProfileError: There is no lane, or there are more than a million.
    """

    def __init__(self, table: StateTable, lanes: int, seed_of_step: SeedOfStep | None = None) -> None:
        if not 1 <= lanes <= MAX_LANES:
            raise ProfileError(f"lanes = {lanes}: must be 1 .. {MAX_LANES}")
        self._table = table
        self._prepared = PreparedLinks(table, lanes)
        self._modelled = _ModelledLanes(lanes, seed_of_step)
        self._any_model, self._any_timed = bool(table.by_model), bool(table.timed)
        self._clocks = _StepClocks(table, lanes, seed_of_step)

    def __len__(self) -> int:
        return len(self._clocks)

    def restart(self, lanes: Numbers | Bools, rows: Numbers, seeds: Seeds, start_ns: int | Numbers = 0) -> None:
        """Begin an episode on some lanes, on fresh links.

        Args:
            lanes: Which, each once: their numbers ``[n]``, or a mask of all lanes.
            rows: Which link of the table each becomes, ``[n]``.
            seeds: The seed of each, ``uint64`` ``[n]``: hashed, ``link_seeds(run, link, direction, episodes)``.
            start_ns: The lanes' clocks as their episodes begin: from there the steps of a schedule are counted.
        """
        which: Numbers = np.flatnonzero(lanes) if lanes.dtype == np.bool_ else np.asarray(lanes, dtype=np.int64)
        first_rows = self._table.first_row[rows]
        self._prepared.begin(which, first_rows, seeds)
        if self._any_timed:
            self._clocks.begin(which, rows, seeds, start_ns)
        if self._any_model:
            self._modelled.begin(self._table, which, rows, seeds, start_ns)

    def send(
        self, now_ns: Numbers, who: Bools | None = None, length_bytes: int | Numbers = 0, part: slice = ALL
    ) -> Numbers:
        """Put one packet into each lane, or into some, and return when it arrives.

        Args:
            now_ns: The lanes' clocks, ``[part]``, never earlier than at a packet before; where none is put in they
                mean nothing.
            who: Which lanes have a packet put in, ``[part]``; all unless given.
            length_bytes: The packets' lengths with the MAC header, one for all or ``[part]``; matters where there
                is a rate.
            part: Which lanes the columns are of, in steps of one.

        Returns:
            ``[part]``: when the packet's first whole copy leaves the link; ``NEVER`` where none was put in, and
            where it is lost or corrupted.

        Raises:
            ProfileError: A queue of a link prepared ahead may be full.
        """
        if self._any_timed:
            changes = self._clocks.due(now_ns, who, part)
            if changes is not None:
                self._prepared.change(*changes)
        if not self._any_model:
            return self._prepared.send(part, now_ns, who, length_bytes)
        by_model = self._modelled.are[part] if who is None else self._modelled.are[part] & who
        arrive_ns = self._prepared.send(part, now_ns, ~by_model if who is None else who & ~by_model, length_bytes)
        first = part.indices(len(self))[0]
        for place in np.flatnonzero(by_model).tolist():
            length = length_bytes if isinstance(length_bytes, int) else int(length_bytes[place])
            arrive_ns[place] = self._modelled.send(first + place, int(now_ns[place]), length)
        return arrive_ns


class _Changes(NamedTuple):
    """Which lanes change, to which rows, with which seeds; ``[n]`` each."""

    lanes: Numbers
    rows: Numbers
    seeds: Seeds


class _StepClocks:
    """When the state of each lane changes next, of those that are prepared ahead."""

    def __init__(self, table: StateTable, lanes: int, seed_of_step: SeedOfStep | None) -> None:
        self._table = table
        self._seed_of_step = seed_of_step
        self._next_ns = np.full(lanes, NO_CHANGE_NS)
        self._start_ns = np.zeros(lanes, dtype=np.int64)
        self._link = np.zeros(lanes, dtype=np.int64)
        self._seed = np.zeros(lanes, dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._next_ns)

    def begin(self, lanes: Numbers, links: Numbers, seeds: Seeds, start_ns: int | Numbers) -> None:
        self._start_ns[lanes], self._link[lanes], self._seed[lanes] = start_ns, links, seeds
        self._next_ns[lanes] = NO_CHANGE_NS
        for lane in lanes[self._table.is_timed[links]].tolist():
            self._await(lane, self._table.timed[int(self._link[lane])], 1)

    def due(self, now_ns: Numbers, who: Bools | None, part: slice) -> _Changes | None:
        """Return which lanes are to change before a packet of now; None for none."""
        are_due = self._next_ns[part] <= now_ns
        if who is not None:
            are_due &= who
        if not are_due.any():
            return None
        places = np.flatnonzero(are_due)
        lanes = places + part.indices(len(self))[0]
        rows, seeds = [], []
        for lane, now in zip(lanes.tolist(), now_ns[places].tolist(), strict=True):
            link = int(self._link[lane])
            timed = self._table.timed[link]
            # Of several steps that have begun the last is all that is left: each sends everything.
            step = timed.step_at(now - int(self._start_ns[lane]))
            self._await(lane, timed, step + 1)
            rows.append(int(self._table.first_row[link]) + step % len(timed.states))
            of_step = self._seed_of_step
            seeds.append(step_seed(int(self._seed[lane]), step) if of_step is None else of_step(lane, step))
        return _Changes(lanes, np.array(rows), np.array(seeds, dtype=np.uint64))

    def _await(self, lane: int, timed: TimedStates, step: int) -> None:
        begins_ns = timed.start_ns(step)
        never = begins_ns == NO_CHANGE_NS
        self._next_ns[lane] = NO_CHANGE_NS if never else int(self._start_ns[lane]) + begins_ns


class _ModelledLanes:
    """The lanes that have a LinkModel each."""

    def __init__(self, lanes: int, seed_of_step: SeedOfStep | None) -> None:
        self._seed_of_step = seed_of_step
        self.are = np.zeros(lanes, dtype=bool)
        self._links: dict[int, _ModelledLink] = {}

    def begin(
        self, table: StateTable, lanes: Numbers, rows: Numbers, seeds: Seeds, start_ns: int | Numbers
    ) -> None:
        self.are[lanes] = table.needs_model[rows]
        starts_ns = np.broadcast_to(start_ns, lanes.shape)
        for place in np.flatnonzero(table.needs_model[rows]).tolist():
            states, lane, seed = table.by_model[int(rows[place])], int(lanes[place]), int(seeds[place])
            of_step = self._seed_of_step
            of = partial(step_seed, seed) if of_step is None else partial(of_step, lane)
            self._links[lane] = _ModelledLink(states, seed, of, int(starts_ns[place]))

    def send(self, lane: int, now_ns: int, length_bytes: int) -> int:
        return self._links[lane].send(now_ns, length_bytes)


class _ModelledLink:
    """One link as its LinkModel has it, its schedule kept to."""

    def __init__(self, states: LinkStates, seed: int, seed_of_step: Callable[[int], int], start_ns: int) -> None:
        self._timed = states if isinstance(states, TimedStates) else None
        first = states.states[0] if isinstance(states, TimedStates) else states
        self._model = LinkModel(first.replace(seed=seed))
        self._seed_of_step, self._start_ns, self._step = seed_of_step, start_ns, 0

    def send(self, now_ns: int, length_bytes: int) -> int:
        if self._timed is not None:
            self._keep_to(self._timed, now_ns)
        copies = self._model.enqueue(now_ns, length_bytes).copies
        return min((copy.leave_ns for copy in copies if not copy.corrupted), default=int(NEVER))

    def _keep_to(self, timed: TimedStates, now_ns: int) -> None:
        """Send the states that have begun since the last packet, at most those of a pass: it leaves the same."""
        step = timed.step_at(now_ns - self._start_ns)
        for begun in range(max(self._step + 1, step - len(timed.states)), step + 1):
            self._model.apply(timed.state(begun).replace(seed=self._seed_of_step(begun)))
        self._step = step
