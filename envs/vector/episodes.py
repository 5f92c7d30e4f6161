"""VectorEpisodes: an episode in each of N rows, all of them a step at a time; the twin of ``VirtualEpisode``.

::

    VectorTask <-- EdgeColumns --observations--> RowLinks --> RemoteColumns --questions--> whoever learns
                               <-------frames--- RowLinks <--               <--- actions

Rows are at ticks and moments of their own: what is done is done where a mask says so. Knows no Gymnasium; when the
next episode of a row begins is its caller's business.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netlab.envs.vector.edge_columns import EdgeColumns
from netlab.envs.vector.episodes_ahead import EpisodesAhead
from netlab.envs.vector.flights import Bools, Numbers, Places, key_at, rows_of
from netlab.envs.vector.frame_lengths import FrameLengths
from netlab.envs.vector.make_edge import make_edge
from netlab.envs.vector.remote_columns import RemoteColumns, VectorPredictor
from netlab.envs.vector.row_links import RowLinks
from netlab.envs.vector.vector_task import KnowsFirstTick, VectorTask
from netlab.envs.virtual.asked_network import Network
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.virtual_network import RUN
from netlab.messages import TaskDescription

__all__ = ["VectorEpisodes"]

_ONLY_EPISODE = 0
"""Its number on the wire, in each episode: both halves are fresh."""


class VectorEpisodes:
    """Play an episode in each row; ``begin_runs`` and ``begin`` them first.

    Args:
        task: What is controlled.
        description: Of the task, with the rate and the pace in force.
        network: What it is controlled over.
        options: How.
        predictor: Says what follows observations; persistence where None.
        tells_figures: Whether the links' ``figures`` are asked for.

    Attributes:
        n: Number of rows.
        task: What is controlled.
        links: Over what.
        edge: The half beside the task.
        remote: The other half.
        plays_at_once: Whether a tick plays as it is observed: real time.
        played_tick: The newest tick played, ``[n]``; -1 before the first.
        now_ns: When the newest observation was made, from each episode's beginning, ``[n]``.
        is_open: Where a question is open, ``[n]``.
        is_over: Where the episode has ended, ``[n]``.
        rewards: What the ticks gave since the last step; what a beginning gave included, ``[n]``.
    """

    def __init__(
        self,
        task: VectorTask,
        description: TaskDescription,
        network: Network,
        options: NetworkOptions,
        predictor: VectorPredictor | None,
        *,
        tells_figures: bool,
    ) -> None:
        n = task.n
        self.n = n
        self.task = task
        self.plays_at_once = description.pace == "real-time"
        self.links = RowLinks(network, options.link, n, 1.0 / description.rate_hz, tells_figures=tells_figures)
        has_rate = self.links.has_rate
        self.remote = RemoteColumns(options, description, n, predictor, knows_turns=has_rate)
        self.edge: EdgeColumns = make_edge(options, description, n, knows_lengths=has_rate)
        self._link = options.link
        self._is_scheduled = options.actuator == "scheduled"
        self._first_tick = task.first_tick if isinstance(task, KnowsFirstTick) else None
        self._lengths: FrameLengths | None = None
        if has_rate:
            self._lengths = FrameLengths(description, RUN, _ONLY_EPISODE, self.remote.horizon.most_ticks)
        self._period_ns = 1e9 / description.rate_hz
        self._ahead: EpisodesAhead | None = None
        self.tick = np.zeros(n, dtype=np.int64)
        self.played_tick = np.full(n, -1, dtype=np.int64)
        self.now_ns = np.zeros(n, dtype=np.int64)
        self.is_open = np.zeros(n, dtype=bool)
        self.is_over = np.zeros(n, dtype=bool)
        self.rewards = np.zeros(n)
        self._carried = np.zeros(n)  # what tick 0 gave, until the first step
        self._next_ns = np.zeros(n, dtype=np.int64)  # when the next tick begins
        self._next_key = np.zeros(n, dtype=np.int64)
        self._await_next_tick()
        self._first_next = int(self._next_ns[0]), int(self._next_key[0])

    @property
    def has_begun(self) -> bool:
        """Whether there are runs."""
        return self._ahead is not None

    def begin_runs(self, run_seeds: list[int]) -> None:
        """Take runs, one a row, each from its first episode on."""
        draws, prepare = self.links.draws_networks, self.task.prepare
        self._ahead = EpisodesAhead(run_seeds, self._link, draws_networks=draws, prepare=prepare)
        self.links.begin_runs(run_seeds)

    def step(self, actions: NDArray[Any]) -> Bools:
        """Answer the open questions, and go on in each row to the next one, or make one tick.

        After a tick no question is open until ``open_questions``: an episode may have ended.

        Args:
            actions: ``[n, ...]``; looked at where a question is open.

        Returns:
            Where a tick was made, ``[n]``.
        """
        self.rewards, self._carried = self._carried, np.zeros(self.n)
        waits, is_open = ~self.is_over, self.is_open
        further = self.remote.decide(is_open, actions)
        if further is None:
            self._answer(is_open)
            self.is_open = opened = self._accept(waits)
        else:
            self._answer(is_open & ~further)
            waits &= ~further
            opened = self._accept(waits)
            self.is_open = further | opened
        ticks: Bools = waits & ~opened
        if np.count_nonzero(ticks):
            self._go_on(ticks)
            self.rewards += self.task.rewards * ticks
        return ticks

    def open_questions(self, who: Bools) -> None:
        """Take in what arrives in some rows ``[n]`` before their next ticks, as far as the first question."""
        self.is_open |= self._accept(who & ~self.is_over)

    def begin(self, rows: Places) -> None:
        """Begin the next episode of some rows: observe tick 0, and play it unless that is done at its end."""
        assert self._ahead is not None  # begin_runs comes first
        episodes = self._ahead.take(rows)
        who = np.zeros(self.n, dtype=bool)
        who[rows] = True
        seeds = np.zeros(self.n, dtype=np.int64)
        seeds[rows] = episodes.seeds
        self.task.reset(who, seeds)
        self.links.begin(rows, episodes)
        self.edge.clear(rows)
        self.remote.clear(rows)
        self.tick[rows] = self.now_ns[rows] = 0
        self._next_ns[rows], self._next_key[rows] = self._first_next
        self.played_tick[rows] = -1
        self.is_open[rows] = False
        self._observe(who)
        if self.plays_at_once:
            self._live_first(who)
            self._carried[rows] = self.task.rewards[rows]
        else:
            self.is_over[rows] = False

    def _go_on(self, who: Bools) -> None:
        """Make one tick in some rows."""
        self.edge.receive(self._next_key, self.tick, who)
        if self.plays_at_once:
            self._advance(who)
            self._observe(who)
            self._play(who)
            return
        self._play(who)
        goes_on = who & ~self.is_over
        self._advance(goes_on)
        self._observe(goes_on)

    def _advance(self, who: Bools) -> None:
        self.tick += who
        np.copyto(self.now_ns, self._next_ns, where=who)
        self._await_next_tick()

    def _await_next_tick(self) -> None:
        """Compute when each row's next tick begins, from its episode's beginning, as the services' loop has it."""
        begins = self.tick + 1.0
        begins *= self._period_ns
        np.rint(begins, out=begins)
        np.copyto(self._next_ns, begins, casting="unsafe")
        self._next_key = key_at(self._next_ns)

    def _observe(self, who: Bools) -> None:
        """Send what there is to see at the beginning of these rows' ticks."""
        edge, remote, ticks = self.edge, self.remote, self.tick
        message: dict[str, NDArray[Any] | None] = {
            "tick": ticks,
            "seen": self.task.observations,
            "age": edge.newest_age_ticks(ticks) if remote.reads_ages or self._lengths is not None else None,
            "loss": edge.loss_seen(self.now_ns) if remote.reads_losses else None,
            "played": edge.played,
            "turn": edge.turn,
        }
        lengths: int | Numbers = 0
        if self._lengths is not None:
            age = message["age"]
            assert age is not None  # computed where lengths are
            lengths = self._lengths.of_observations(ticks, edge.turn, edge.played, age, edge.is_neutral)
        remote.send(self.links.send_forward(self.now_ns, who, lengths), message)

    def _play(self, who: Bools) -> None:
        """Live through the tick that was observed last in these rows."""
        edge = self.edge
        decided = self.remote.decisions.for_targets(self.tick) if self._is_scheduled else edge.frames.action
        edge.play(self.tick, who, decided)
        self._live(who)

    def _live(self, who: Bools) -> None:
        """Let the task do what the edge plays."""
        task, edge = self.task, self.edge
        task.step(edge.actions, edge.is_neutral, who)
        np.copyto(self.played_tick, self.tick, where=who)
        np.logical_or(task.terminated, task.truncated, out=self.is_over)

    def _live_first(self, who: Bools) -> None:
        """Let the task live through tick 0: nothing has arrived and all play neutral, as after ``clear``."""
        task = self.task
        if self._first_tick is not None:
            self._first_tick(who)
        else:
            task.step(self.edge.actions, self.edge.is_neutral, who)
        np.copyto(self.played_tick, 0, where=who)
        np.logical_or(task.terminated, task.truncated, out=self.is_over)

    def _accept(self, who: Bools) -> Bools:
        """Take in what arrives at these rows' remotes before their next ticks; return where a question is open."""
        remote = self.remote
        opened = np.zeros(self.n, dtype=bool)
        while True:
            arrived = remote.arrived(self._next_key)
            arrived &= who
            rows = rows_of(arrived)
            if not rows.size:
                return opened
            asked = remote.accept(rows)
            if asked is None:
                opened[rows] = True
                return opened
            opened[rows] = asked
            silent = arrived & ~opened
            self._answer(silent)  # all is decided: the frame repeats it
            who = who & ~opened

    def _answer(self, who: Bools) -> None:
        """Send the frames of rows in which all is decided, at the moments at which their observations arrived."""
        if not np.count_nonzero(who):
            return
        remote = self.remote
        frame: dict[str, NDArray[Any]] = {"tick": remote.newest, "turn": remote.turn}
        if not self._is_scheduled:
            frame["action"] = remote.decisions.for_targets(remote.agenda.target)
        lengths: int | Numbers = 0
        if self._is_scheduled or self._lengths is not None:
            frame["first"], frame["until"] = first, until = remote.agenda.answer()
            if self._lengths is not None:
                lengths = self._lengths.of_actions(remote.newest, first, until, remote.turn)
        self.edge.send(self.links.send_back(remote.moment_ns, who, lengths), who, frame)
