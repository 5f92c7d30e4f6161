from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from vector_twins import play_both, singles

from netlab.envs.doorkey import DoorKey
from netlab.envs.vector.doorkey import DoorKeyColumns
from netlab.envs.vector.doorkey_start import DoorKeyStart, draw_starts
from netlab.envs.vector.doorkey_view import CLOSED, EMPTY, GOAL, KEY, LOCKED, OPEN, WALL, DoorKeyView, place
from netlab.errors import LocalProtocolError, SpecError

pytest.importorskip("minigrid")

from minigrid.core.grid import Grid
from minigrid.core.world_object import Door, Goal, Key, Wall

LEFT, RIGHT, GO, PICK_UP, DROP, TOGGLE, NOTHING = range(7)
STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))


def anything(task, seen, rng):
    return int(rng.integers(7))


def mostly_right(task, seen, rng):
    """Three ticks in four what leads on, else anything: so that every stage of the game is met."""
    return int(rng.integers(7)) if rng.random() < 0.25 else leads_on(task._env)


def leads_on(env):
    """Return the first action of a shortest way to the key, else the door, else the goal."""
    things = {thing.type: (i % 8, i // 8) for i, thing in enumerate(env.grid.grid) if thing is not None}
    door = env.grid.get(*things["door"])
    if door.is_locked and env.carrying is None:
        aim, last = things["key"], PICK_UP
    elif not door.is_open:
        aim, last = things["door"], TOGGLE
    else:
        aim, last = things["goal"], GO
    start = (int(env.agent_pos[0]), int(env.agent_pos[1]), int(env.agent_dir))
    ways: deque = deque([(start, None)])
    known = {start}
    while ways:
        (x, y, way), first = ways.popleft()
        ahead = (x + STEPS[way][0], y + STEPS[way][1])
        if ahead == aim:
            return last if first is None else first
        nexts = [(LEFT, (x, y, (way - 1) % 4)), (RIGHT, (x, y, (way + 1) % 4))]
        cell = env.grid.get(*ahead)
        if cell is None or cell.can_overlap():
            nexts.append((GO, (*ahead, way)))
        for action, state in nexts:
            if state not in known:
                known.add(state)
                ways.append((state, action if first is None else first))
    return TOGGLE  # shut in by the key, dropped where it blocks: the next random action frees it


def test_each_row_is_minigrid_tick_by_tick_to_the_goal():
    played = play_both(DoorKeyColumns(12), singles(DoorKey, 12), mostly_right, 350, 1)
    assert played.ticks > 3600
    assert played.terminated > 40
    assert played.neutral > 400


def test_random_play_ends_at_the_limit_on_both():
    def make():
        return DoorKey(limit_ticks=40)

    played = play_both(DoorKeyColumns(9, limit_ticks=40), singles(make, 9), anything, 250, 2)
    assert played.truncated > 40
    assert played.ticks > 1900


def test_the_goal_at_the_very_limit_is_both_ends():
    """Most of these games end at the goal, some in the very tick of the limit."""
    ticks = _ticks_to_goal(3)
    task, columns = DoorKey(limit_ticks=ticks), DoorKeyColumns(1, limit_ticks=ticks)
    on, off = np.ones(1, bool), np.zeros(1, bool)
    task.reset(3), columns.reset(on, np.array([3]))
    for _ in range(ticks):
        action = leads_on(task._env)
        step = task.step(action)
        columns.step(np.array([action]), off, on)
    assert step.terminated
    assert step.truncated
    assert (columns.rewards[0], columns.success[0], columns.truncated[0]) == (step.reward, True, True)


def _ticks_to_goal(seed):
    task, ticks = DoorKey(), 0
    task.reset(seed)
    while not task.success:
        task.step(leads_on(task._env))
        ticks += 1
    return ticks


def test_four_hundred_seeds_begin_as_minigrid_begins_them():
    seeds = np.concatenate((np.arange(200), np.random.default_rng(0).integers(0, 2**63 - 1, 200)))
    columns, task = DoorKeyColumns(400), DoorKey()
    columns.reset(np.ones(400, bool), seeds)
    for row, seed in enumerate(seeds.tolist()):
        assert task.reset(seed).tobytes() == columns.observations[row].tobytes()
        assert task.state.tobytes() == columns.state[row].tobytes()


def test_views_of_grids_that_no_game_has():
    """300 grids of random things, seen from random places: occlusion as minigrid has it, whatever stands where."""
    rng = np.random.default_rng(5)
    things = {
        EMPTY: lambda: None,
        WALL: Wall,
        GOAL: Goal,
        KEY: lambda: Key("yellow"),
        OPEN: lambda: Door("yellow", is_open=True),
        CLOSED: lambda: Door("yellow"),
        LOCKED: lambda: Door("yellow", is_locked=True),
    }
    n = 300
    cells = np.full((n, 400), WALL, np.uint8)
    images = np.zeros((n, 7, 7, 3), np.uint8)
    task = DoorKey()
    task.reset(0)
    env = task._env
    spots, ways, carried = rng.integers(0, 8, (n, 2)), rng.integers(0, 4, n), rng.random(n) < 0.5
    codes = rng.choice(list(things), (n, 8, 8), p=[0.55, 0.25, 0.04, 0.04, 0.04, 0.04, 0.04])
    y, x = np.mgrid[0:8, 0:8]
    cells[:, place(x, y)] = codes
    view = DoorKeyView(cells, images)
    view.look(place(*spots.T), ways, np.where(carried, KEY, EMPTY).astype(np.uint8))
    for row in range(n):
        env.grid = Grid(8, 8)
        for j, i in np.ndindex(8, 8):
            env.grid.set(i, j, things[int(codes[row, j, i])]())
        env.agent_pos, env.agent_dir = tuple(spots[row]), ways[row]
        env.carrying = Key("yellow") if carried[row] else None
        assert env.gen_obs()["image"].tobytes() == images[row].tobytes()


def test_aids_reward_the_key_and_the_door_once_and_nothing_else():
    columns, plain = DoorKeyColumns(1, key_reward=0.2, door_reward=0.3), DoorKeyColumns(1)
    on, off, task = np.ones(1, bool), np.zeros(1, bool), DoorKey()
    for episode in range(2):
        for one in (columns, plain):
            one.reset(on, np.array([1]))
        task.reset(1)
        # Up to the key, twice taken and dropped, to the door, unlocked, shut and opened again, to the goal.
        script = [GO] * 5 + [RIGHT, PICK_UP, DROP, PICK_UP, GO, TOGGLE, TOGGLE, TOGGLE]
        script += [GO] * 4 + [RIGHT] + [GO] * 5
        aided = {6: 0.2, 10: 0.3}
        for tick, action in enumerate(script):
            step = task.step(action)
            for one in (columns, plain):
                one.step(np.array([action]), off, on)
            assert plain.rewards[0] == step.reward
            assert columns.rewards[0] == step.reward + aided.get(tick, 0.0)
        assert step.terminated, episode


def test_easy_starts_are_as_many_as_asked_for():
    """4,000 starts at 0.4: either kind is 0.2 within 5 sd, 0.032; the other starts are minigrid's."""
    n = 4000
    easy, plain = DoorKeyColumns(n, easy_share=0.4), DoorKeyColumns(n)
    on = np.ones(n, bool)
    for one in (easy, plain):
        one.reset(on, np.arange(n))
    open_door, in_hand = easy.state[:, 8] == 1, easy.state[:, 13] == 1
    assert abs(open_door.mean() - 0.2) < 0.032
    assert abs(in_hand.mean() - 0.2) < 0.032
    assert not (open_door & in_hand).any()
    rest = ~(open_door | in_hand)
    assert easy.state[rest].tobytes() == plain.state[rest].tobytes()
    assert easy.observations[rest].tobytes() == plain.observations[rest].tobytes()
    assert (easy.observations[in_hand][:, 3, 6, 0] == 5).all()
    assert not (easy.observations[in_hand] == 5)[:, :, :6, 0].any()
    again = DoorKeyColumns(n, easy_share=0.4)
    again.prepare(np.arange(n))
    again.reset(on, np.arange(n))
    assert again.state.tobytes() == easy.state.tobytes()


def test_an_easy_start_has_no_reward_on_the_way():
    columns = DoorKeyColumns(64, easy_share=1.0, key_reward=1.0, door_reward=1.0)
    on, off = np.ones(64, bool), np.zeros(64, bool)
    columns.reset(on, np.arange(64))
    in_hand = columns.state[:, 13] == 1
    for action in (DROP, PICK_UP):
        columns.step(np.full(64, action), off, on)
    assert columns.state[in_hand, 13].all()
    assert not columns.rewards.any()


@pytest.mark.parametrize(
    ("name", "value"),
    [("key_reward", -0.1), ("door_reward", float("nan")), ("easy_share", 1.1), ("limit_ticks", 0)],
)
def test_options_out_of_range(name, value):
    with pytest.raises(SpecError, match=name):
        DoorKeyColumns(2, **{name: value})


def test_starts_are_their_seed_s_alone_and_no_seed_is_below_zero():
    alone = np.concatenate([draw_starts(np.array([seed])) for seed in range(50)])
    assert alone.tobytes() == draw_starts(np.arange(50)).tobytes()
    start = DoorKeyStart.of(alone)
    assert ((start.wall_x >= 2) & (start.wall_x <= 5)).all()
    with pytest.raises(LocalProtocolError, match="must be at least 0"):
        draw_starts(np.array([-1]))
