"""Policies that fail, each in its way: one session ends, and neither the service nor another edge."""

from __future__ import annotations

import numpy as np
import pytest
from service_pair import PATIENCE_S, Running, ServedAgent, config, restartable_run

from netlab.agents.cartpole_linear import LinearCartPole
from netlab.agents.policy import Recipe
from netlab.control import Edge, Neutral, Persistence, Scheduled
from netlab.envs.run import run_env_service
from netlab.errors import RemoteProtocolError
from netlab.messages import PROTOCOL_VERSION, Goodbye, Hello, Space, TaskDescription
from netlab.wire.dialer import dial


class Broken:
    """Works for five ticks, fewer than an episode has, then fails in its way."""

    def __init__(self, fail):
        self.left = 5
        self.fail = fail

    def decide(self, question):
        self.left -= 1
        return self.fail() if self.left <= 0 else 1

    def reset(self):
        pass


class Unprintable(Exception):  # noqa: N818 - named for what it is
    def __str__(self):
        raise ZeroDivisionError


def fail_with(error):
    def fail():
        raise error

    return fail


def broken_for_some(fail, *, at_start=False):
    """A policy that fails for the edges of one rate and serves the others."""

    def make(task, run_seed):
        if task.rate_hz != 500.0:
            return LinearCartPole(), Persistence()
        if at_start:
            fail()
        return Broken(fail), Persistence()

    return Recipe(name="broken", summary="fails", make=make, refusal=lambda task: "")


@pytest.mark.parametrize(
    ("fail", "words"),
    [
        (fail_with(ZeroDivisionError("a policy with a fault")), "ZeroDivisionError: a policy with a fault"),
        (fail_with(IndexError("out of range")), "IndexError: out of range"),
        (fail_with(KeyError("weights")), "KeyError: 'weights'"),
        (fail_with(MemoryError()), "MemoryError"),
        (fail_with(RuntimeError("\udc80 not text")), "RuntimeError: ? not text"),
        (fail_with(Unprintable()), "Unprintable"),
        (lambda: "left", "not a value of the discrete space"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_policy_that_fails_ends_its_session_and_not_the_service(fail, words):
    with (
        ServedAgent(broken_for_some(fail), verbose=True) as agent,
        Running(restartable_run(agent.address)) as other,
    ):
        other.run_on(ticks=5)
        result = run_env_service(config(agent, episodes=6))
        assert result.complete, "the edge goes on with its fallback"
        assert agent.service.counters.sessions_failed >= 1
        assert any(words in line for line in agent.lines)
        assert any("Traceback" in line and "decide" in line for line in agent.lines)
        assert "policy 'broken' failed" in result.last_loss
        other.be_served(ticks=5)
        assert other.connections() == 1, "the other edge has noticed nothing"
        assert other.is_connected()
    assert agent.error is None


def test_a_traceback_is_reported_only_when_asked():
    with ServedAgent(broken_for_some(fail_with(IndexError()))) as agent:
        run_env_service(config(agent, episodes=6))
        assert any("IndexError" in line for line in agent.lines)
        assert not any("Traceback" in line for line in agent.lines)


def test_a_policy_that_cannot_be_made_for_an_edge_turns_it_away_with_the_reason():
    with ServedAgent(broken_for_some(fail_with(IndexError("no such joint")), at_start=True)) as agent:
        with pytest.raises(RemoteProtocolError, match="IndexError: no such joint"):
            run_env_service(config(agent))
        assert agent.service.counters.sessions_failed == 1
        assert run_env_service(config(agent, rate_hz=200.0)).connections == 1


class Arm:
    """A task whose answers fit no datagram at a long horizon: 1024 floats an action."""

    description = TaskDescription(
        name="arm",
        rate_hz=200.0,
        observation=Space(kind="box", dtype="float32", shape=(1,)),
        action=Space(kind="box", dtype="float32", shape=(1024,)),
    )


def test_an_answer_that_no_datagram_holds_ends_its_session_and_not_the_service():
    class Still:
        def decide(self, question):
            return np.zeros(1024, np.float32)

        def reset(self):
            pass

    recipe = Recipe(
        name="still", summary="", make=lambda task, run_seed: (Still(), Persistence()), refusal=lambda task: ""
    )
    hello = Hello(protocol=PROTOCOL_VERSION, version="test", run=5, task=Arm.description, horizon_ticks=32)
    edge = Edge(Arm.description, Scheduled(32), Neutral(), run=5)
    with ServedAgent(recipe) as agent:
        channel, _ = dial(agent.address, None, hello, timeout_s=PATIENCE_S)
        edge.begin_episode(0)
        answers = []
        while not (answers and isinstance(answers[-1], Goodbye)):
            assert len(answers) < 32
            channel.send(edge.observe(len(answers), bytes(4)))
            edge.play(len(answers))
            answers += [received.message for received in channel.receive(PATIENCE_S)]
        assert len(answers) == 15, "the 15th repeats 15 decisions of 4 kB each"
        assert "a datagram takes" in answers[-1].reason
        channel.close()
        assert agent.service.counters.sessions_failed == 1
