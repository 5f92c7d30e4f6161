from __future__ import annotations

import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.control.feature_columns import (
    AGE_CLIP_TICKS,
    AGE_UNIT_TICKS,
    NETWORK_WINDOW,
    FeatureColumns,
    FrameColumns,
)
from netlab.control.feature_spec import MAX_SIZE, FeatureSpec
from netlab.control.features import Features
from netlab.control.question import Question
from netlab.control.remote import Remote
from netlab.errors import LocalProtocolError, SpecError
from netlab.messages import Observation, Space, TaskDescription

RUN = 5
SWITCH = Space(kind="discrete", dtype="int64", n=3)
PUSH = Space(kind="box", dtype="float32", shape=(2,), low=(-1.0, -1.0), high=(1.0, 1.0))
FLAT = Space(kind="box", dtype="float64", shape=(3,))
GRID = Space(kind="box", dtype="uint8", shape=(2, 2))
ROOM = Space(kind="discrete", dtype="uint8", n=5)

specs = st.builds(
    FeatureSpec,
    stack=st.integers(1, 5),
    predicted=st.booleans(),
    actions=st.integers(0, 6),
    pending=st.booleans(),
    age=st.booleans(),
    acknowledgement=st.integers(0, 9),
    network=st.booleans(),
)


def task_of(observation=FLAT, action=SWITCH):
    return TaskDescription(name="thing", rate_hz=50.0, observation=observation, action=action)


class Drift:
    """A predictor that leaves a mark: each tick adds one, each action a little."""

    def predict(self, observation, action):
        return observation + 1.0 + (0.0 if action is None else 0.125 * float(np.sum(action)))


class Log:
    """What the reference remembers: all of it."""

    def __init__(self):
        self.frames: list[tuple[Observation, np.ndarray]] = []
        self.decided: dict[int, object] = {}


def one_hot(space, value):
    if space.kind == "box":
        return np.clip(np.asarray(value, np.float64).ravel(), -3.4028234663852886e38, 3.4028234663852886e38)
    return np.eye(space.n)[int(value)]


def age_feature(age):
    return -1.0 if age < 0 else min(age, AGE_CLIP_TICKS) / AGE_UNIT_TICKS


def reference(spec, task, log, question):
    """The definition, a part at a time, from everything that has happened in the episode."""
    row = []
    newest = [seen for _, seen in reversed(log.frames)]
    stack = ([question.state] if spec.predicted else []) + newest
    stack += [newest[-1]] * spec.stack
    for seen in stack[: spec.stack]:
        row += one_hot(task.observation, seen).tolist()
    for back in range(1, spec.actions + 1):
        tick = question.target_tick - back
        is_shown = not spec.pending or tick >= question.observation.tick
        action = log.decided.get(tick) if is_shown else None
        width = task.action.n or 2
        row += [0.0] * width if action is None else one_hot(task.action, action).tolist()
    frame = question.observation
    if spec.age:
        row += [age_feature(question.target_tick - frame.tick), age_feature(frame.newest_age_ticks)]
    for bit in range(spec.acknowledgement):
        row.append(0.0 if bit >= frame.history_ticks else 1.0 if frame.played >> bit & 1 else -1.0)
    if spec.network:
        ages = [seen.newest_age_ticks for seen, _ in log.frames[-NETWORK_WINDOW:]]
        ages = np.array([min(age, AGE_CLIP_TICKS) for age in ages if age >= 0])
        row += [frame.loss_seen]
        row += [ages.mean() / AGE_UNIT_TICKS, ages.std() / AGE_UNIT_TICKS] if ages.size else [-1.0, 0.0]
    return np.array(row)


def frames_of(rng, task, ticks, episode=0, first_tick=0):
    """Some ticks' observation frames, a part of them lost."""
    for tick in range(first_tick, first_tick + ticks):
        if rng.random() < 0.35:
            continue
        space = task.observation
        if space.kind == "discrete":
            payload = np.uint8(rng.integers(space.n)).tobytes()
        elif space.dtype == "uint8":
            payload = rng.integers(0, 256, space.shape).astype(np.uint8).tobytes()
        else:
            payload = (rng.normal(size=space.shape) * 10.0 ** rng.integers(-2, 40)).astype("<f8").tobytes()
        since = tick - first_tick
        age = -1 if since < 2 else int(rng.integers(1, min(since, 4) + 1)) * (30 if rng.random() < 0.05 else 1)
        yield Observation(
            RUN, episode, tick, payload, b"", int(rng.integers(2**63)) * 2 + 1, min(since, 64), age, rng.random()
        )


def random_action(rng, task):
    if task.action.kind == "discrete":
        return int(rng.integers(task.action.n))
    return rng.uniform(-1.0, 1.0, 2).astype(np.float32)


def questions_of(rng, task, horizon, ticks, episode=0, first_tick=0):
    """Every question that a remote asks about a lossy stream, with the action that answers it."""
    predictor = Drift() if task.observation is FLAT else None
    remote = Remote(task, predictor, horizon)
    for frame in frames_of(rng, task, ticks, episode, first_tick):
        remote.receive(frame)
        while (question := remote.question) is not None:
            action = random_action(rng, task)
            yield question, action
            remote.decide(action)


@settings(max_examples=60, deadline=None)
@given(
    specs,
    st.sampled_from([FLAT, GRID, ROOM]),
    st.sampled_from([SWITCH, PUSH]),
    st.sampled_from([1, 2, 4, 9]),
    st.integers(0, 2**32),
)
def test_each_row_is_what_the_definition_says(spec, observation, action, horizon, seed):
    rng = np.random.default_rng(seed)
    task = task_of(observation, action)
    features = Features(spec, task)
    for episode in range(2):
        log = Log()
        for question, answer in questions_of(rng, task, horizon, 40, episode, 100 * episode):
            if not log.frames or log.frames[-1][0] is not question.observation:
                log.frames.append((question.observation, question.seen))
            row = features.of(question)
            assert row.dtype == np.float32
            assert row.shape == (features.size,)
            np.testing.assert_allclose(row, reference(spec, task, log, question), rtol=1e-6)
            np.testing.assert_array_equal(features.of(question), row)  # asked again, the same
            features.decided(answer)
            log.decided[question.target_tick] = answer


@settings(max_examples=40, deadline=None)
@given(specs, st.sampled_from([SWITCH, PUSH]), st.sampled_from([1, 3, 6]), st.integers(0, 2**32))
def test_columns_and_sessions_have_the_same_bits(spec, action, horizon, seed):
    n, task = 5, task_of(FLAT, action)
    streams = [
        [
            asked
            for episode in range(2)
            for asked in questions_of(
                np.random.default_rng([seed, i, episode]), task, horizon, 25, episode, 50 * episode
            )
        ]
        for i in range(n)
    ]
    singles = [Features(spec, task) for _ in range(n)]
    columns = FeatureColumns(spec, task, n)
    rng, at = np.random.default_rng(seed), [0] * n
    columns.reset(np.arange(n))
    ints = {name: np.zeros(n, np.int64) for name in ("tick", "age", "history", "target")}
    played, loss = np.zeros(n, np.uint64), np.zeros(n)
    seen, state = np.zeros((n, 3)), np.zeros((n, 3))
    actions = np.zeros(n, np.int64) if action.kind == "discrete" else np.zeros((n, 2), np.float32)
    last = [None] * n
    expected = np.zeros((n, columns.size), np.float32)
    while any(at[i] < len(streams[i]) for i in range(n)):
        asked = np.array([i for i in range(n) if at[i] < len(streams[i]) and rng.random() < 0.7], np.intp)
        begun, new = [], []
        for i in asked:
            question, actions[i] = streams[i][at[i]]
            at[i] += 1
            frame = question.observation
            if last[i] is not None and frame.episode != last[i].episode:
                begun.append(i)
            if frame is not last[i]:
                new.append(i)
            last[i] = frame
            ints["tick"][i], ints["age"][i], ints["history"][i] = (
                frame.tick,
                frame.newest_age_ticks,
                frame.history_ticks,
            )
            played[i], loss[i], seen[i] = frame.played, frame.loss_seen, question.seen
            ints["target"][i], state[i] = question.target_tick, question.state
            expected[i] = singles[i].of(question)
        columns.reset(np.array(begun, np.intp))
        frames = FrameColumns(ints["tick"], seen, ints["age"], loss, played, ints["history"])
        columns.observe(np.array(new, np.intp), frames)
        got = columns.rows(ints["target"], state)
        np.testing.assert_array_equal(got[asked].view(np.uint32), expected[asked].view(np.uint32))
        columns.decide(asked, actions)
        for i in asked:
            singles[i].decided(streams[i][at[i] - 1][1])


def frame(tick, episode=0, age=-1, played=0, history=0, loss=0.0):
    return Observation(RUN, episode, tick, np.full(3, float(tick)).tobytes(), b"", played, history, age, loss)


def question(tick, target, pending=(), **fields):
    seen = np.full(3, float(tick))
    return Question(target, seen + 0.5, frame(tick, **fields), seen, pending)


def test_the_stack_repeats_the_oldest_until_there_are_enough_and_begins_with_the_prediction():
    spec = FeatureSpec(stack=3, predicted=True)
    features = Features(spec, task_of())
    assert features.of(question(4, 5)).reshape(3, 3)[:, 0].tolist() == [4.5, 4.0, 4.0]
    assert features.of(question(6, 7)).reshape(3, 3)[:, 0].tolist() == [6.5, 6.0, 4.0]
    assert features.of(question(6, 8)).reshape(3, 3)[:, 0].tolist() == [6.5, 6.0, 4.0]
    assert features.of(question(7, 9, episode=1)).reshape(3, 3)[:, 0].tolist() == [7.5, 7.0, 7.0]


def test_what_was_decided_across_a_silence_is_remembered_and_what_was_not_is_nothing():
    features = Features(FeatureSpec(actions=4), task_of(action=SWITCH))
    part = features.layout["actions"]
    for target, action in ((3, 2), (4, 1), (6, 0)):
        features.of(question(target - 1, target))
        features.decided(action)
    shown = features.of(question(6, 7))[part].reshape(4, 3)
    assert shown.tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]  # ticks 6, 5, 4, 3
    assert not features.of(question(70, 71))[part].any()


def test_no_age_yet_is_like_no_age():
    features = Features(FeatureSpec(age=True, network=True), task_of())
    age, network = features.layout["age"], features.layout["network"]
    row = features.of(question(0, 4))
    assert row[age].tolist() == [4 / AGE_UNIT_TICKS, -1.0]
    assert row[network].tolist() == [0.0, -1.0, 0.0]
    row = features.of(question(1, 5, age=2**40, loss=0.25))
    assert row[age].tolist() == [4 / AGE_UNIT_TICKS, AGE_CLIP_TICKS / AGE_UNIT_TICKS]
    assert row[network].tolist() == [0.25, AGE_CLIP_TICKS / AGE_UNIT_TICKS, 0.0]


def test_an_age_leaves_the_network_window_without_a_trace():
    features = Features(FeatureSpec(network=True), task_of())
    part = features.layout["network"]
    features.of(question(0, 1, age=64))
    for tick in range(1, NETWORK_WINDOW):
        row = features.of(question(tick, tick + 1, age=8))
    assert row[part][1] > 8 / AGE_UNIT_TICKS
    row = features.of(question(NETWORK_WINDOW, NETWORK_WINDOW + 1, age=8))
    assert row[part].tolist() == [0.0, 8 / AGE_UNIT_TICKS, 0.0]


def test_a_decision_that_was_not_told_is_noticed():
    features = Features(FeatureSpec(actions=2), task_of())
    features.of(question(0, 2, (None, None)))
    with pytest.raises(LocalProtocolError, match="tick 2 was not told"):
        features.of(question(1, 3, (None, 1)))
    without = Features(FeatureSpec(), task_of())
    without.of(question(0, 2, (None, None)))
    assert without.of(question(1, 3, (None, 1))).shape == (3,)


def test_a_question_that_is_asked_anew_on_a_newer_observation_needs_no_answer():
    features = Features(FeatureSpec(actions=2), task_of())
    features.of(question(0, 2, (None, None)))
    features.of(question(1, 2, (None,)))
    features.decided(1)
    assert features.of(question(1, 3, (None, 1)))[3:].tolist() == [0, 1, 0, 0, 0, 0]


def test_a_decision_needs_a_question():
    features = Features(FeatureSpec(actions=2), task_of())
    features.of(question(0, 2))
    features.reset()
    with pytest.raises(LocalProtocolError, match="no question"):
        features.decided(1)


def test_questions_only_move_on():
    features = Features(FeatureSpec(), task_of())
    features.of(question(3, 5))
    for older in (question(3, 4), question(2, 5)):
        with pytest.raises(LocalProtocolError, match="only rise"):
            features.of(older)


def test_questions_of_states_are_each_an_observation_of_its_own():
    features = Features(FeatureSpec(stack=2, actions=1), task_of())
    features.of(Question.of_state(np.full(3, 1.0)))
    features.decided(1)
    row = features.of(Question.of_state(np.full(3, 2.0)))
    assert row.tolist() == [2, 2, 2, 1, 1, 1, 0, 0, 0]


def test_a_row_without_any_observation_is_zeros():
    columns = FeatureColumns(FeatureSpec(stack=2, age=True, network=True), task_of(), 2)
    columns.reset(np.arange(2))
    ones = np.ones(2, np.int64)
    frames = FrameColumns(ones, np.ones((2, 3)), ones, np.ones(2), np.ones(2, np.uint64), ones)
    columns.observe(np.array([1]), frames)
    rows = columns.rows(np.array([9, 9]))
    assert not rows[0].any()
    assert np.count_nonzero(rows[1]) == rows.shape[1] - 1  # the deviation of one age


def test_a_row_that_begins_anew_knows_nothing_of_the_ticks_before():
    columns = FeatureColumns(FeatureSpec(actions=2, age=True), task_of(), 1)
    row = np.zeros(1, np.intp)
    late = np.full(1, 5000)
    frames = FrameColumns(late, np.ones((1, 3)), late, np.ones(1), np.ones(1, np.uint64), late)
    columns.reset(row)
    columns.observe(row, frames)
    columns.rows(late + 1)
    columns.decide(row, np.ones(1, np.int64))
    columns.reset(row)
    assert not columns.rows(np.zeros(1, np.int64)).any()
    columns.observe(row, frames._replace(tick=np.zeros(1, np.int64)))
    assert columns.rows(np.full(1, 2))[0, 3:].tolist() == [
        0,
        0,
        0,
        0,
        0,
        0,
        0.125,
        AGE_CLIP_TICKS / AGE_UNIT_TICKS,
    ]


def test_predicted_states_are_needed_where_they_are_shown():
    columns = FeatureColumns(FeatureSpec(predicted=True), task_of(), 1)
    with pytest.raises(LocalProtocolError, match="predicted"):
        columns.rows(np.zeros(1, np.int64))


@given(specs)
def test_a_spec_is_read_as_it_was_written(spec):
    assert FeatureSpec.read(msgspec.json.decode(msgspec.json.encode(spec.as_table()))) == spec


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"stack": 0}, "saved.json: features.stack: 0: must be a whole number, 1 .. 64"),
        ({"stack": 10**30}, "features.stack"),
        ({"stack": True}, "features.stack"),
        ({"stack": "4"}, "features.stack: '4'"),
        ({"actions": 257}, "features.actions: 257: must be a whole number, 0 .. 256"),
        ({"acknowledgement": 65}, "features.acknowledgement"),
        ({"age": 1}, "features.age: 1: must be true or false"),
        ({"ages": True}, "features.ages: unknown key"),
        ([], "features: list: must be a table"),
    ],
)
def test_what_is_no_spec_is_named(table, words):
    with pytest.raises(SpecError) as caught:
        FeatureSpec.read(table, "saved.json")
    assert words in str(caught.value)


def test_an_unknown_key_gets_a_hint():
    with pytest.raises(SpecError) as caught:
        FeatureSpec.read({"acknowledgment": 3})
    assert caught.value.hint == "did you mean 'acknowledgement'?"


def test_a_row_too_long_is_refused_before_any_memory_is_taken():
    huge = task_of(Space(kind="discrete", dtype="int32", n=2**31 - 1))
    for spec, task in ((FeatureSpec(), huge), (FeatureSpec(actions=256), task_of(action=huge.observation))):
        with pytest.raises(SpecError, match=f"at most {MAX_SIZE}"):
            FeatureColumns(spec, task, 1)


def test_a_space_that_contradicts_itself_is_named():
    with pytest.raises(SpecError, match="observation: a box has a shape"):
        Features(FeatureSpec(), task_of(Space(kind="box", dtype="float32")))


def test_the_parts_fill_the_row_without_holes():
    spec = FeatureSpec(stack=4, predicted=True, actions=10, age=True, acknowledgement=8, network=True)
    layout = spec.layout(task_of())
    assert list(layout) == ["stack", "actions", "age", "acknowledgement", "network"]
    assert [part.start for part in layout.values()] == [0, 12, 42, 44, 52]
    assert Features(spec, task_of()).size == 55


def test_the_page_s_example_prints_what_it_says(capsys):
    page = Path(__file__).parents[2] / "docs" / "features.md"
    block = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    exec(compile(block, "docs/features.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed == re.findall(r"# prints (.*)", block)
    assert len(printed) == 4
