from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from control_simulation import SimulatedNetwork, normal_fate, run_task

from netlab.agents.cartpole_linear import GAINS, LinearCartPole
from netlab.agents.policy import make_policy
from netlab.control import Edge, Hold, Neutral, Newest, Question, Remote, Responder, Scheduled
from netlab.envs.cartpole import CartPole

RUN = 1


def test_the_gains_are_the_regulator_s():
    """Iterate the Riccati equation for CartPole linearised at rest, Euler at 20 ms, Q=diag(1,1,10,10), R=0.1."""
    total, half, step = 1.1, 0.5, 0.02
    inertia = half * (4 / 3 - 0.1 / total)
    a = np.eye(4)
    a[0, 1] = a[2, 3] = step
    a[3, 2] = step * 9.8 / inertia
    a[1, 2] = -step * 0.1 * half / total * 9.8 / inertia
    b = np.array([0.0, step * (1 / total + 0.1 * half / total**2 / inertia), 0.0, -step / total / inertia])
    cost = np.diag([1.0, 1.0, 10.0, 10.0])
    p = cost.copy()
    for _ in range(5000):
        gain = (b @ p @ a) / (0.1 + b @ p @ b)
        p = cost + a.T @ p @ (a - np.outer(b, gain))
    np.testing.assert_allclose(-gain, GAINS, rtol=1e-4)


def test_it_balances_every_one_of_a_hundred_clean_episodes():
    """n = 100 seeds of Gymnasium's own CartPole-v1, all of them 500: a bound of 3 % failures at 95 %."""
    env, policy = gymnasium.make("CartPole-v1"), LinearCartPole()
    for seed in range(100):
        observation, _ = env.reset(seed=seed)
        total, done = 0.0, False
        while not done:
            observation, reward, terminated, truncated, _ = env.step(policy.decide(Question.of_state(observation)))
            total += float(reward)
            done = terminated or truncated
        assert total == 500.0, f"seed {seed}"


def play(policy_name, actuator, fallback, mean_s, sd_s, loss, episodes):
    task = CartPole()
    rng = np.random.default_rng([17, round(mean_s * 1e6)])
    edge = Edge(task.description, actuator, fallback, RUN)
    policy, predictor = make_policy(policy_name, task.description)
    responder = Responder(Remote(task.description, predictor, actuator.horizon_ticks, RUN), policy)
    network = SimulatedNetwork(responder, normal_fate(rng, mean_s, sd_s, loss, 50.0))
    return run_task(task, edge, network, episodes, seed=5)


NORMAL_RTT = (0.015, 0.010 / 2**0.5, 0.02)
DEGRADED_RTT = (0.040, 0.040 / 2**0.5, 0.10)
DEGRADED_ONEWAY = (0.080, 0.040, 0.10)


@pytest.mark.parametrize(
    ("link", "horizon"), [(NORMAL_RTT, 4), (NORMAL_RTT, 10), (DEGRADED_RTT, 10), (DEGRADED_ONEWAY, 16)]
)
def test_scheduled_with_prediction_hardly_notices_the_network(link, horizon):
    """Mean over n = 20 episodes of fixed seeds, above 490 of 500 as docs/control.md claims."""
    outcome = play("linear-predict", Scheduled(horizon), Neutral(), *link, episodes=20)
    assert np.mean(outcome.returns) > 490
    assert outcome.counters.missed < 0.05 * outcome.counters.ticks


def test_newest_with_hold_falls_on_the_degraded_link_where_neutral_does_better():
    """n = 40 episodes each: the means differ by far more than twice their standard errors."""
    hold = play("linear", Newest(), Hold(500), *DEGRADED_RTT, episodes=40).returns
    neutral = play("linear", Newest(), Neutral(), *DEGRADED_RTT, episodes=40).returns
    sem = np.hypot(np.std(hold), np.std(neutral)) / np.sqrt(40)
    assert np.mean(hold) < 100
    assert np.mean(neutral) - np.mean(hold) > 4 * sem


def test_prediction_is_what_makes_the_schedule_work():
    """The same schedule on the state as it was seen, D ticks old: n = 20 episodes, none of them long."""
    outcome = play("linear", Scheduled(10), Neutral(), *DEGRADED_RTT, episodes=20)
    assert max(outcome.returns) < 150
