"""Messages that the tests of the wire send."""

from __future__ import annotations

from netlab.messages import (
    PROTOCOL_VERSION,
    Action,
    Goodbye,
    Heartbeat,
    Hello,
    Message,
    Observation,
    Space,
    TaskDescription,
    Welcome,
)

BOX = Space(kind="box", dtype="float32", shape=(4,), low=(-1.0,) * 4, high=(1.0,) * 4)
DISCRETE = Space(kind="discrete", dtype="int64", n=2)
TASK = TaskDescription(name="CartPole-v1", rate_hz=50.0, observation=BOX, action=DISCRETE)
WELCOME = Welcome(protocol=PROTOCOL_VERSION, version="0.1", policy="linear")


def make_hello(run: int = 1, task: TaskDescription = TASK) -> Hello:
    return Hello(protocol=PROTOCOL_VERSION, version="0.1", run=run, task=task, horizon_ticks=4)


def make_observation(tick: int = 0, payload: bytes = b"0123456789abcdef") -> Observation:
    return Observation(
        run=1,
        episode=0,
        tick=tick,
        payload=payload,
        last_action=b"\1" * 8,
        played=2**64 - 1,
        history_ticks=64,
        newest_age_ticks=-1,
        loss_seen=0.25,
        turn=tick,
    )


def make_action(tick: int = 0, actions: bytes = b"\0" * 8) -> Action:
    return Action(run=1, episode=0, obs_tick=tick, first_target_tick=tick + 1, n=1, actions=actions, turn=tick)


EVERY_MESSAGE: list[Message] = [
    make_hello(),
    WELCOME,
    Goodbye(reason="done", refused=True),
    Heartbeat(7),
    make_observation(5),
    make_action(5),
]
