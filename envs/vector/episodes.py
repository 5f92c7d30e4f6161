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

from netlab.envs.vector.actuators import parts_of
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
from netlab.envs.virtual.seeds import RUN
from netlab.messages import TaskDescription

__all__ = ["VectorEpisodes"]

_ONLY_EPISODE = 0
"""Its number on the wire, in each episode: both halves are fresh."""
_NOTHING_YET = {"age": -1, "loss": 0.0, "played": 0, "turn": 0, "is_neutral": True}
"""What the first observation of an episode says, besides what is seen."""
_IN_LENGTHS = frozenset({"age", "played", "turn", "is_neutral"})
"""What an observation's length hangs on."""


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
        parts = parts_of(options.actuator)
        self.remote = RemoteColumns(options, parts, description, n, predictor, knows_turns=has_rate)
        self.edge: EdgeColumns = make_edge(options, parts, description, n, knows_lengths=has_rate)
        self._sends_action = "action" in self.edge.reads
        self._sends_targets = "until" in self.edge.reads or has_rate
        self._link = options.link
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
        self._message = self._empty_message()
        self._edge_says = [name for name in ("played", "turn", "is_neutral") if name in self._message]
        self._await_next_tick()
        self._first_next = int(self._next_ns[0]), int(self._next_key[0])

    def _empty_message(self) -> dict[str, NDArray[Any]]:
        """Return room for what observations say, as far as somebody reads it, by name, ``[n, ...]`` each.

        A row plays, and the next one begins, before all rows' messages leave together.
        """
        edge = self.edge
        like = {
            "seen": self.task.observations,
            "age": self.tick,
            "loss": self.rewards,
            "played": edge.played,
            "turn": edge.turn,
            "is_neutral": edge.is_neutral,
        }
        read = self.remote.reads | (_IN_LENGTHS if self._lengths is not None else frozenset())
        message = {name: np.zeros_like(values) for name, values in like.items() if name in read}
        message["tick"] = self.tick
        return message

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
        """Send what these rows ``[n]`` observed last, and take in what arrives there before their next ticks.

        Args:
            who: Those that have made a tick or begun an episode since.
        """
        who = who & ~self.is_over
        self._send_observations(who)
        self.is_open |= self._accept(who)

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
        self._observe_first(rows)
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
            self._observe()
            self._play(who)
            return
        self._play(who)
        self._advance(who & ~self.is_over)
        self._observe()

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

    def _observe(self) -> None:
        """Keep what there is to see at the beginning of the rows' ticks; it is sent once all have theirs."""
        edge, message = self.edge, self._message
        message["seen"][:] = self.task.observations
        if "age" in message:
            message["age"][:] = edge.newest_age_ticks(self.tick)
        if "loss" in message:
            message["loss"][:] = edge.loss_seen(self.now_ns)
        for name in self._edge_says:
            message[name][:] = getattr(edge, name)

    def _observe_first(self, rows: Places) -> None:
        """Keep what there is to see as episodes begin in some rows: nothing has arrived or been played."""
        self._message["seen"][rows] = self.task.observations[rows]
        for name, nothing in _NOTHING_YET.items():
            if name in self._message:
                self._message[name][rows] = nothing

    def _send_observations(self, who: Bools) -> None:
        """Send what was kept of these rows."""
        message = self._message
        lengths: int | Numbers = 0
        if self._lengths is not None:
            lengths = self._lengths.of_observations(
                self.tick, message["turn"], message["played"], message["age"], message["is_neutral"]
            )
        self.remote.send(self.links.send_forward(self.now_ns, who, lengths), message)

    def _play(self, who: Bools) -> None:
        """Live through the tick that was observed last in these rows."""
        self.edge.play(self.tick, who, self.remote.decisions)
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
        if self._sends_action:
            frame["action"] = remote.decisions.for_targets(remote.agenda.target)
        lengths: int | Numbers = 0
        if self._sends_targets:
            frame["first"], frame["until"] = first, until = remote.agenda.answer()
            if self._lengths is not None:
                lengths = self._lengths.of_actions(remote.newest, first, until, remote.turn)
        self.edge.send(self.links.send_back(remote.moment_ns, who, lengths), who, frame)
