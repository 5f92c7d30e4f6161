"""The parts of VectorNetwork by themselves: flights, frame lengths, horizons, seeds, losses; what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.control.answers import AnswerRecord
from netlab.control.horizon import AdaptiveHorizon
from netlab.envs.vector.cartpole import CartPoleColumns
from netlab.envs.vector.episodes_ahead import EpisodesAhead
from netlab.envs.vector.flights import NEVER, Flights, key_at
from netlab.envs.vector.frame_lengths import FrameLengths
from netlab.envs.vector.horizon_columns import AdaptiveColumns
from netlab.envs.vector.loss_columns import LossColumns
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.vector.reacher import ReacherColumns
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.seeds import change_seed, episode_seed, network_seed
from netlab.errors import LocalProtocolError, ProfileError, SpecError
from netlab.messages import Action, Observation, Space, TaskDescription
from netlab.traces.network_distribution import RANDOM
from netlab.traces.profile import LinkProfile
from netlab.wire.frame_length import frame_bytes

PAGE = Path(__file__).parents[2] / "docs" / "vector-network.md"
NUMBER = ((), np.dtype(np.int64))


class SlowFlights:
    """Messages of one row as a list, looked through each time."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, int]] = []
        self.newest = -1

    def take(self, until_ns: int) -> tuple[int, int] | None:
        of_use = [(arrives, push) for arrives, push in self.sent if push > self.newest and arrives <= until_ns]
        if not of_use:
            return None
        arrives, self.newest = min(of_use)
        return arrives, self.newest


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 40, 400]), st.sampled_from([0.0, 0.3, 0.9]))
def test_flights_give_what_a_list_gives(seed: int, longest: int, lost: float) -> None:
    rng, n = np.random.default_rng(seed), 4
    flights, slow = Flights(n, {"push": NUMBER}), [SlowFlights() for _ in range(n)]
    for now in range(300):
        sends = (rng.random(n) < 0.8) & (rng.random(n) >= lost)
        arrives = np.where(sends, now + rng.integers(0, longest, n), NEVER)
        flights.push(arrives, {"push": np.full(n, now)})
        for row in np.flatnonzero(sends).tolist():
            slow[row].sent.append((int(arrives[row]), now))
        if rng.random() < 0.02:
            row = int(rng.integers(n))
            flights.clear(np.array([row]))
            slow[row] = SlowFlights()
        until = np.full(n, now if rng.random() < 0.9 else now + longest)
        while (rows := np.flatnonzero(flights.arrived(key_at(until)))).size:
            places, moments = flights.take(rows)
            pushes = flights.column("push", places).tolist()
            for row, moment, push in zip(rows.tolist(), moments.tolist(), pushes, strict=True):
                assert slow[row].take(int(until[row])) == (moment, push)
        assert all(one.take(int(until[row])) is None for row, one in enumerate(slow))


def test_what_would_arrive_after_39_hours_never_does() -> None:
    flights, last = Flights(1, {"push": NUMBER}), 2**47 - 3
    late = [key_at(np.array([now])) for now in (2**47 - 1, 2**47, 2**60)]
    assert not any(flights.arrived(key)[0] for key in late)  # nothing is under way
    flights.push(np.array([2**47]), {"push": np.array([0])})
    assert not any(flights.arrived(key)[0] for key in late)
    flights.push(np.array([last]), {"push": np.array([1])})
    assert not flights.arrived(key_at(np.array([last - 1])))[0]
    assert all(flights.arrived(key)[0] for key in (key_at(np.array([last])), *late))
    assert flights.take(np.array([0]))[1].tolist() == [last]
    assert not any(flights.arrived(key)[0] for key in late)


def test_flights_of_one_moment_come_in_the_order_of_sending() -> None:
    flights = Flights(1, {"push": NUMBER})
    for push in range(60):
        flights.push(np.array([7]), {"push": np.array([push])})
    taken = []
    while flights.arrived(key_at(np.array([7])))[0]:
        places, _ = flights.take(np.array([0]))
        taken += flights.column("push", places).tolist()
    assert taken == list(range(60))


def test_too_many_messages_under_way_are_refused() -> None:
    flights = Flights(1, {})
    with pytest.raises(ProfileError, match="under way"):
        for push in range(70_000):
            flights.push(np.array([10**9 + push]), {})


SPACES = st.sampled_from(
    [
        (Space(kind="box", dtype="float32", shape=(4,)), Space(kind="discrete", dtype="int64", n=2)),
        (Space(kind="box", dtype="uint8", shape=(7, 7, 3)), Space(kind="discrete", dtype="uint8", n=7)),
        (Space(kind="box", dtype="float64", shape=(200, 50)), Space(kind="box", dtype="float64", shape=(60,))),
    ]
)
TICKS = st.one_of(st.integers(0, 300), st.integers(60_000, 70_000), st.integers(2**31, 2**33), st.just(2**40))
BITS = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 300), st.integers(2**32 - 3, 2**32 + 3))


@settings(max_examples=200, deadline=None)
@given(SPACES, TICKS, TICKS, BITS, TICKS, st.integers(-1, 300), st.booleans(), st.integers(1, 256))
def test_lengths_are_those_of_the_frames(
    spaces: tuple[Space, Space], tick: int, first: int, played: int, turn: int, age: int, neutral: bool, count: int
) -> None:
    task = TaskDescription(name="any", rate_hz=50.0, observation=spaces[0], action=spaces[1])
    lengths = FrameLengths(task, 1 << 63, 0, 256)

    def column(value: int) -> np.ndarray:
        return np.array([value, value])

    last = b"" if neutral else b"a" * task.action.nbytes
    seen, history = b"o" * task.observation.nbytes, min(tick, 64)
    message = Observation(1 << 63, 0, tick, seen, last, played, history, age, 0.25, turn)
    bits, is_neutral = np.array([played] * 2, dtype=np.uint64), np.array([neutral] * 2)
    ours = lengths.of_observations(column(tick), column(turn), bits, column(age), is_neutral)
    assert ours.tolist() == [frame_bytes(message)] * 2
    answer = Action(1 << 63, 0, tick, first, count, b"a" * (task.action.nbytes * count), turn)
    ours = lengths.of_actions(column(tick), column(first), column(first + count - 1), column(turn))
    assert ours.tolist() == [frame_bytes(answer)] * 2


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 7, 60]),
    st.sampled_from([1, 5, 40]),
    st.sampled_from([0.0, 0.002, 0.01, 0.2]),
    st.sampled_from([0.5, 0.9, 0.995]),
    st.integers(0, 2),
)
def test_horizons_follow_ages_as_single_ones_do(
    seed: int, window: int, hold: int, price: float, quantile: float, margin: int
) -> None:
    rng, n = np.random.default_rng(seed), 3

    def fresh() -> AdaptiveHorizon:
        return AdaptiveHorizon(
            9,
            most_ticks=200,
            quantile=quantile,
            price_ratio=price,
            margin_ticks=margin,
            window_ticks=window,
            hold_ticks=hold,
        )

    columns, singles = AdaptiveColumns(n, fresh()), [fresh() for _ in range(n)]
    ticks = np.zeros(n, dtype=np.int64)
    scale = rng.choice([2, 20, 300])
    for _ in range(120):
        if rng.random() < 0.03:
            row = int(rng.integers(n))
            columns.clear(np.array([row]))
            singles[row].begin_episode()
            ticks[row] = 0
        rows = np.flatnonzero(rng.random(n) < 0.7)
        if not rows.size:
            continue
        ticks[rows] += np.where(rng.random(rows.size) < 0.8, 1, rng.integers(1, 100, rows.size))
        ages = np.where(rng.random(rows.size) < 0.1, -1, rng.geometric(1 / scale, rows.size))
        columns.note(rows, ticks[rows], ages)
        for row, age in zip(rows.tolist(), ages.tolist(), strict=True):
            singles[row].note(Observation(1, 0, int(ticks[row]), b"", b"", 0, 0, age, 0.0))
        assert columns.ticks.tolist() == [single.ticks for single in singles]


@pytest.mark.parametrize("reach", [4, 150, 1200])
def test_losses_are_seen_as_a_single_edge_sees_them(reach: int) -> None:
    """An answer takes a tick up to ``reach``; for 1200 ticks there is none, more than the record remembers."""
    rng, n = np.random.default_rng(reach), 3
    losses, singles = LossColumns(n, 1.0), [AnswerRecord() for _ in range(n)]
    arriving: list[dict[int, list[int]]] = [{} for _ in range(n)]
    newest = np.full(n, -1, dtype=np.int64)
    seen = set()
    for tick in range(2200):
        answers = (rng.random(n) < 0.8) & (not 700 <= tick < 1900)
        arrives = np.where(answers & (rng.random(n) < 0.7), tick + rng.integers(1, reach, n), NEVER)
        for row, single in enumerate(singles):
            for answered in arriving[row].pop(tick, []):
                if single.was_sent(answered):
                    single.answer(answered)
                    newest[row] = max(newest[row], answered)
            single.send(tick)
            if arrives[row] != NEVER:
                arriving[row].setdefault(int(arrives[row]), []).append(tick)
        ours = losses.loss_seen(np.full(n, tick), newest)
        assert ours.tolist() == [single.loss_ratio for single in singles]
        seen |= set(ours.tolist())
        losses.push(arrives, np.full(n, tick), answers, newest)
    assert len(seen) > 20


def test_episodes_ahead_are_those_of_the_runs() -> None:
    runs, prepared = [3, 2**64 - 1, 8], []
    ahead = EpisodesAhead(runs, "edge-agent", draws_networks=True, prepare=prepared.extend)
    rng, numbers = np.random.default_rng(0), [0, 0, 0]
    for _ in range(90):
        rows = np.flatnonzero(rng.random(3) < [0.9, 0.5, 0.1])
        if not rows.size:
            continue
        taken = ahead.take(rows)
        for place, row in enumerate(rows.tolist()):
            run, number = runs[row], numbers[row]
            assert taken.numbers[place] == number
            assert taken.seeds[place] == episode_seed(run, number)
            assert taken.networks[place] == network_seed(run, number)
            assert taken.forward[place] == change_seed(run, "edge-agent", "forward", number, 0)
            assert taken.back[place] == change_seed(run, "edge-agent", "back", number, 0)
            assert taken.seeds[place] in prepared
            numbers[row] += 1
    assert min(numbers) > 3 and max(numbers) > 50


def test_python_shown_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), {})
    assert re.search(r"\(256, \d+\) \d+ questions", capsys.readouterr().out)


def test_what_is_refused() -> None:
    def made(**options: object) -> VectorNetwork:
        return VectorNetwork(CartPoleColumns(2), None, NetworkOptions(**options))  # type: ignore[arg-type]

    with pytest.raises(SpecError, match="datagrams alone"):
        made(transport="stream")

    with pytest.raises(SpecError, match="the scheduled actuator needs a horizon"):
        made(actuator="scheduled")
    for network in (RANDOM, lambda seed: None, 7):
        with pytest.raises(ProfileError, match="is no network for many rows") as caught:
            VectorNetwork(CartPoleColumns(2), network)  # type: ignore[arg-type]
        assert "NetworkPool" in caught.value.hint
    env = made()
    with pytest.raises(LocalProtocolError, match="outside an episode"):
        env.step(np.zeros(2, dtype=np.int64))
    for seed in (-1, 2**64 - 1, [1], [1, None], [1, 2**64]):
        with pytest.raises(SpecError, match="must be 2 seeds"):
            env.reset(seed=seed)  # type: ignore[arg-type]
    env.reset(seed=1)
    for actions in (np.array([0, 2]), np.array([-1, 0])):
        with pytest.raises(LocalProtocolError, match=r"outside 0 \.\. 1"):
            env.step(actions)
    with pytest.raises(LocalProtocolError, match="of shape"):
        env.step(np.zeros((2, 1), dtype=np.int64))


def test_a_box_of_actions_has_bounds_and_is_finite() -> None:
    env = VectorNetwork(ReacherColumns(2), LinkProfile(delay_s=0.01))
    env.reset(seed=0)
    for bad in (np.nan, np.inf, 1.5):
        actions = np.zeros((2, 2), dtype=np.float32)
        actions[1, 0] = bad
        with pytest.raises(LocalProtocolError):
            env.step(actions)
