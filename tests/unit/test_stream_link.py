"""A virtual network over a stream: the same as datagrams while nothing is lost, older where something is."""

from __future__ import annotations

import numpy as np
import pytest

from netlab.envs.cartpole import CartPole
from netlab.envs.virtual.asked_network import Network
from netlab.envs.virtual.network import VirtualWay
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.stream_link import StreamLink
from netlab.envs.virtual.track import LinkTrack
from netlab.envs.virtual.virtual_network import VirtualNetwork
from netlab.messages import Action, Observation
from netlab.traces.profile import LinkProfile
from netlab.wire.codec import encode
from netlab.wire.frame_length import stream_bytes
from netlab.wire.seal import SEAL_BYTES
from netlab.wire.stream_frames import add_length

MS = 1_000_000


def played(network: Network, options: NetworkOptions, episodes: int) -> list[tuple[object, ...]]:
    """What an alternating policy lives through."""
    env = VirtualNetwork(CartPole(), network, options)
    lived: list[tuple[object, ...]] = []
    for episode in range(episodes):
        row, info = env.reset(seed=11 if episode == 0 else None)
        over, step = False, 0
        while not over:
            row, reward, terminated, truncated, info = env.step(step % 2)
            lived.append((row.tobytes(), reward, info["tick"], info["played"], info["age_ticks"], info["asked"]))
            over, step = terminated or truncated, step + 1
    return lived


def observation(tick: int) -> Observation:
    return Observation(
        run=1, episode=0, tick=tick, payload=bytes(16), last_action=b"", played=0, history_ticks=0,
        newest_age_ticks=-1, loss_seen=0.0,
    )  # fmt: skip


def answer_to(message: Observation) -> Action:
    return Action(
        run=1, episode=0, obs_tick=message.tick, first_target_tick=message.tick + 1, n=1, actions=b"\x01"
    )


def mean_age_ticks(lived: list[tuple[object, ...]]) -> float:
    return float(np.mean([age for _, _, _, how, age, _ in lived if how == "remote"]))  # type: ignore[arg-type]


@pytest.mark.parametrize("network", [None, LinkProfile(), LinkProfile(delay_s=0.033)])
@pytest.mark.parametrize("actuator", ["newest", "stop-and-wait"])
def test_without_loss_or_jitter_a_stream_is_a_datagram(network: Network, actuator: str) -> None:
    datagrams = NetworkOptions(actuator=actuator)  # type: ignore[arg-type]
    streams = NetworkOptions(actuator=actuator, transport="stream")  # type: ignore[arg-type]
    assert played(network, streams, 3) == played(network, datagrams, 3)


def test_over_a_lossy_link_actions_are_older_than_with_datagrams() -> None:
    """40 episodes of some 20 ticks each."""
    over_stream = played("wifi-degraded", NetworkOptions(transport="stream"), 40)
    over_datagrams = played("wifi-degraded", NetworkOptions(), 40)
    assert mean_age_ticks(over_stream) > 1.2 * mean_age_ticks(over_datagrams)


def test_a_run_of_episodes_is_the_same_twice() -> None:
    options = NetworkOptions(transport="stream", actuator="scheduled", horizon=5)
    assert played("wifi-degraded@oneway", options, 5) == played("wifi-degraded@oneway", options, 5)


def test_both_directions_share_a_connection_and_each_keeps_its_order() -> None:
    """20 % lost each way: every message arrives, each way in the order of sending."""
    profile = LinkProfile(delay_s=0.020, jitter_s=0.010, loss=0.2, ordered=False)
    link = StreamLink(
        VirtualWay(LinkTrack(profile), lambda step: 5), VirtualWay(LinkTrack(profile), lambda step: 6)
    )
    arrived: tuple[list[int], list[int]] = ([], [])
    for tick in range(600):
        until_ns = tick * 20 * MS if tick < 300 else tick * 1000 * MS
        while (arrival := link.take(until_ns)) is not None:
            now_ns, message = arrival
            assert now_ns <= until_ns
            if isinstance(message, Observation):
                arrived[0].append(message.tick)
                link.send(now_ns, answer_to(message))
            else:
                arrived[1].append(message.obs_tick)
        if tick < 300:
            link.send(until_ns, observation(tick))
    assert arrived == (list(range(300)), list(range(300)))


def test_a_message_is_as_long_as_on_the_wire() -> None:
    message = observation(7)
    sealed = bytes(SEAL_BYTES + len(encode(message)))
    assert stream_bytes(message) == len(add_length(sealed))
