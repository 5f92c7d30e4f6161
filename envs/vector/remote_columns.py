"""RemoteColumns: N remotes of the tick protocol as columns: what they have seen, ask, and have decided.

::

    send --> Flights of observations --accept--> newest, seen --AgendaColumns.open--> target [n]
                                                                  | predict over what is decided
    rows: features [n, size] <--FeatureColumns-- state [n] <------'
    decide(actions) --> decided [n, ring of targets]

Features and predictions are made in ``rows``, once a step, for all questions that have opened since. The twin of
``netlab.control.remote``. Knows no link and no task.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netlab.control.agenda import make_horizon
from netlab.control.feature_columns import FeatureColumns, FrameColumns
from netlab.control.feature_spec import FeatureSpec
from netlab.control.horizon import FixedHorizon
from netlab.envs.vector.actuators import ActuatorParts
from netlab.envs.vector.decisions import Decisions, LatestDecisions, RingDecisions
from netlab.envs.vector.flights import Bools, Column, Flights, Numbers, Places, rows_of
from netlab.envs.vector.horizon_columns import AdaptiveColumns, FixedColumns, HorizonColumns
from netlab.envs.virtual.options import NetworkOptions
from netlab.messages import HISTORY_TICKS, TaskDescription

__all__ = ["RemoteColumns", "VectorPredictor"]

_NUMBER: Column = ((), np.dtype(np.int64))


class VectorPredictor(Protocol):
    """Says what the next observations will be, for many rows at once."""

    def predict(self, states: NDArray[Any], actions: NDArray[Any], neutral: Bools) -> NDArray[Any]:
        """Return the observations one tick later, ``[m, *shape]``.

        Args:
            states: ``[m, *shape]``.
            actions: ``[m]`` of a discrete space, ``[m, *shape]`` of a box; not looked at where neutral.
            neutral: Which rows play the task's neutral action, ``[m]``.
        """
        ...


class RemoteColumns:
    """What N remotes know.

    Args:
        options: How the task is controlled.
        parts: What belongs to its actuator.
        task: What is controlled, with the pace in force.
        n: Number of rows.
        predictor: Says what follows; persistence where None.
        knows_turns: Whether ``turn`` is needed, whatever the actuator.

    Attributes:
        agenda: Which targets are asked about.
        horizon: D of each row.
        decisions: What has been decided.
        features: What makes rows of questions.
        moment_ns: When the newest observation arrived, ``[n]``.
        reads: What observations must tell, by name.
        newest: The newest accepted tick, ``[n]``.
        turn: That observation's, ``[n]``.
    """

    def __init__(
        self,
        options: NetworkOptions,
        parts: ActuatorParts,
        task: TaskDescription,
        n: int,
        predictor: VectorPredictor | None,
        *,
        knows_turns: bool,
    ) -> None:
        spec, space = options.features, task.observation
        self._n = n
        self._predictor = predictor
        self.horizon = _horizon(options, task, n)
        self.agenda = parts.make_agenda(self.horizon, n, task.lead_ticks)
        looks_back = parts.plays_at_targets or (predictor is not None and parts.has_pending)
        self._ring = RingDecisions(n, 2 * self.horizon.most_ticks + 1, task.action) if looks_back else None
        self.decisions: Decisions = self._ring or LatestDecisions(n, task.action)
        self.features = FeatureColumns(spec, task, n)
        dtype = np.dtype(space.dtype)
        self._sent = _sent_columns(
            spec, (space.shape, dtype), turns=knows_turns or parts.tells_turns, ages=not self.horizon.is_fixed
        )
        self._flights = Flights(n, self._sent)
        self._tells_history = "played" in self._sent
        self.reads = frozenset(self._sent)
        self.newest = np.full(n, -1, dtype=np.int64)
        self.moment_ns = np.zeros(n, dtype=np.int64)
        self.turn = np.zeros(n, dtype=np.int64)
        self._seen = np.zeros((n, *space.shape), dtype)
        self._age = np.full(n, -1, dtype=np.int64)
        self._loss = np.zeros(n)
        self._played = np.zeros(n, dtype=np.uint64)
        self._history = np.zeros(n, dtype=np.int64)
        self._of_name = {
            "tick": self.newest,
            "seen": self._seen,
            "age": self._age,
            "loss": self._loss,
            "played": self._played,
            "turn": self.turn,
        }
        self._is_new = np.zeros(n, dtype=bool)
        # What was seen last may have been asked about or not; a question keeps its state until the next one.
        self._states = np.zeros((n, *space.shape), dtype if predictor is None else np.dtype(np.float64))
        self._state_tick = np.zeros(n, dtype=np.int64)

    def clear(self, rows: Places) -> None:
        """Begin an episode in some rows."""
        self._flights.clear(rows)
        self.horizon.clear(rows)
        self.agenda.clear(rows)
        self.decisions.clear(rows)
        self.features.reset(rows)
        self.newest[rows] = -1
        self.turn[rows] = 0
        self._is_new[rows] = False

    def send(self, arrives_ns: Numbers, message: dict[str, NDArray[Any]]) -> None:
        """Put an observation of some rows under way.

        Args:
            arrives_ns: When it arrives, ``[n]``; ``NEVER`` where it does not, or there is none.
            message: What it says, by name, ``[n, ...]`` each: ``tick``, ``seen``, ``age`` of the newest answer,
                ``loss`` of answers, ``played`` ticks as bits, ``turn``; what nobody reads may be left out.
        """
        self._flights.push(arrives_ns, message)

    def arrived(self, key: Numbers) -> Bools:
        """Return in which rows something that will be accepted arrives by the times of ``key_at``, ``[n]``."""
        return self._flights.arrived(key)

    def accept(self, rows: Places) -> Bools | None:
        """Take in what arrives next in some rows; return which have a question now, ``[m]``, None for all."""
        flights = self._flights
        places, moment_ns = flights.take(rows)
        self.moment_ns[rows] = moment_ns
        for name in self._sent:
            self._of_name[name][rows] = flights.column(name, places)
        ticks = self.newest.take(rows)
        if self._tells_history:
            self._history[rows] = np.minimum(ticks, HISTORY_TICKS)
        if not self.horizon.is_fixed:
            self.horizon.note(rows, ticks, self._age.take(rows))
        asked = self.agenda.open(rows, ticks, self.turn)
        self._is_new[rows if asked is None else rows[asked]] = True
        return asked

    def decide(self, who: Bools, actions: NDArray[Any]) -> Bools | None:
        """Take in the answers of some rows.

        Args:
            who: Which rows had a question, ``[n]``.
            actions: ``[n]`` or ``[n, *shape]``.

        Returns:
            Which have a further question, ``[n]``; None for none.
        """
        rows = rows_of(who)
        if not rows.size:
            return None
        self.decisions.put(rows, self.agenda.target, actions)
        self.features.decide(rows, actions)
        return self.agenda.decide(who)

    def rows(self, asked: Bools) -> NDArray[np.float32]:
        """Return the features of each row's newest question, ``[n, size]``, zeros where there has been none.

        Args:
            asked: Which rows have a question now, ``[n]``.
        """
        rows = rows_of(self._is_new)
        if rows.size:
            frames = FrameColumns(self.newest, self._seen, self._age, self._loss, self._played, self._history)
            self.features.observe(rows, frames)
            self._is_new[rows] = False
            if self.features.spec.predicted:
                self._state_tick[rows] = self.newest[rows]
                self._states[rows] = self._seen[rows]
        if not self.features.spec.predicted:
            return self.features.rows(self.agenda.target)
        if self._predictor is not None:
            self._predict(self._predictor, rows_of(asked))
        return self.features.rows(self.agenda.target, self._states)

    def _predict(self, predictor: VectorPredictor, rows: Places) -> None:
        """Bring the states of some rows' questions to their targets."""
        targets, ring = self.agenda.target, self._ring
        while True:
            rows = rows[self._state_tick[rows] < targets[rows]]
            if not rows.size:
                return
            if ring is None:
                actions, is_decided = self.decisions.for_targets(targets)[rows], np.zeros(rows.size, dtype=bool)
            else:
                actions, is_decided = ring.at(rows, self._state_tick[rows])
            self._states[rows] = predictor.predict(self._states[rows], actions, ~is_decided)
            self._state_tick[rows] += 1


def _horizon(options: NetworkOptions, task: TaskDescription, n: int) -> HorizonColumns:
    like = make_horizon(task, options.horizon_ticks)
    return FixedColumns(n, like.ticks) if isinstance(like, FixedHorizon) else AdaptiveColumns(n, like)


def _sent_columns(spec: FeatureSpec, seen: Column, *, turns: bool, ages: bool) -> dict[str, Column]:
    """Return what travels with an observation: what somebody here reads."""
    columns: dict[str, Column] = {"tick": _NUMBER, "seen": seen}
    if spec.age or spec.network or ages:
        columns["age"] = _NUMBER
    if spec.network:
        columns["loss"] = ((), np.dtype(np.float64))
    if spec.acknowledgement:
        columns["played"] = ((), np.dtype(np.uint64))
    if turns:
        columns["turn"] = _NUMBER
    return columns
