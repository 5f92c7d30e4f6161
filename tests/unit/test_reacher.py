from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from netlab.envs.reacher import NAME, Reacher, ReacherEnv
from netlab.envs.registry import make_task
from netlab.envs.two_link_arm import FULL_TORQUES_N_M, LINKS_M, ArmMotion, fingertip_m, move
from netlab.errors import LocalProtocolError
from netlab.messages import Space

ANGLES = st.floats(-math.pi, math.pi)
SPEEDS = st.floats(-5.0, 5.0)
FRICTION_N_M_S = 0.2


def kinetic_energy_j(motion):
    """Of two thin rods of 1 kg: each that of its centre of mass and of its turning about it."""
    half1_m, half2_m = 0.5 * LINKS_M[0], 0.5 * LINKS_M[1]
    turning1, turning2 = motion.v1, motion.v1 + motion.v2
    # The second centre moves with the elbow and about it, at an angle of q2 to one another.
    elbow = LINKS_M[0] * turning1
    about = half2_m * turning2
    centre2 = elbow**2 + about**2 + 2.0 * elbow * about * np.cos(motion.q2)
    centre1 = (half1_m * turning1) ** 2
    inertia1, inertia2 = (length_m**2 / 12.0 for length_m in LINKS_M)
    return 0.5 * (centre1 + inertia1 * turning1**2 + centre2 + inertia2 * turning2**2)


@given(ANGLES, ANGLES, SPEEDS, SPEEDS)
def test_the_energy_is_that_of_two_rods_of_points(q1, q2, v1, v2):
    """Each rod of 1 kg as 2,000 points whose speeds come from moving them a little way."""
    share, moment_s = (np.arange(2000) + 0.5) / 2000, 1e-6

    def points(a1, a2):
        elbow = np.array([math.cos(a1), math.sin(a1)]) * LINKS_M[0]
        end = np.array([math.cos(a1 + a2), math.sin(a1 + a2)]) * LINKS_M[1]
        return np.concatenate((np.outer(share, elbow), elbow + np.outer(share, end)))

    later, sooner = (points(q1 + side * v1 * moment_s, q2 + side * v2 * moment_s) for side in (0.5, -0.5))
    energy_j = 0.5 * (1.0 / 2000) * (((later - sooner) / moment_s) ** 2).sum()
    assert kinetic_energy_j(ArmMotion(q1, q2, v1, v2)) == pytest.approx(energy_j, rel=1e-5, abs=1e-9)


@given(ANGLES, ANGLES, SPEEDS, SPEEDS, st.floats(-2.0, 2.0), st.floats(-1.0, 1.0))
def test_the_motion_obeys_lagrange_s_equations(q1, q2, v1, v2, torque1, torque2):
    """d/dt dT/dv = dT/dq + torque - friction, by differences of the energy alone."""
    start, little, step_s = np.array([q1, q2, v1, v2]), 1e-5, 1e-6

    def slopes(at, which):
        ways = [np.eye(4)[index] * little for index in which]
        energy = lambda where: kinetic_energy_j(ArmMotion(*where))  # noqa: E731
        return np.array([(energy(at + way) - energy(at - way)) / (2 * little) for way in ways])

    end = np.array(move(ArmMotion(*start), torque1, torque2, step_s, 1))
    gained = (slopes(end, (2, 3)) - slopes(start, (2, 3))) / step_s
    forces = slopes(start, (0, 1)) + np.array([torque1, torque2]) - FRICTION_N_M_S * start[2:]
    np.testing.assert_allclose(gained, forces, atol=2e-3)


def test_friction_alone_only_ever_takes_energy():
    motion = ArmMotion(0.3, 1.0, 4.0, -6.0)
    energies_j = []
    for _ in range(100):
        energies_j.append(kinetic_energy_j(motion))
        motion = move(motion, 0.0, 0.0, 0.01, 4)
    assert (np.diff(energies_j) < 0.0).all()
    assert energies_j[-1] < 0.1 * energies_j[0]


def test_full_torques_however_they_alternate_blow_nothing_up():
    rng = np.random.default_rng(0)
    env = ReacherEnv()
    env.reset(seed=0)
    fastest = 0.0
    for tick in range(3000):
        held = [1.0, 1.0] if tick < 500 else rng.choice([-1.0, 1.0], 2)
        seen, reward, *_ = env.step(np.array(held, np.float32))
        fastest = max(fastest, *np.abs(seen[4:6]))
        assert math.isfinite(reward)
    # A joint that runs free under full torque is held back by friction alone.
    assert fastest < 1.5 * FULL_TORQUES_N_M[0] / FRICTION_N_M_S


@pytest.mark.filterwarnings("ignore:.*A Box observation space m.* value is:UserWarning")  # speeds have no bound
def test_gymnasium_s_checker_has_nothing_to_say():
    env = gymnasium.make(f"netlab.envs.reacher:{NAME}")
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec.max_episode_steps == 150


def test_the_task_is_the_environment_and_ends_after_150_ticks():
    env, task = gymnasium.make(NAME), Reacher()
    rng = np.random.default_rng(4)
    expected, _ = env.reset(seed=9)
    seen, done, ticks = task.reset(9), False, 0
    while not done:
        assert seen.tobytes() == expected.tobytes() == task.state.tobytes()
        action = rng.uniform(-1, 1, 2).astype(np.float32)
        expected, reward, terminated, truncated, _ = env.step(action)
        step = task.step(action)
        assert (step.reward, step.terminated, step.truncated) == (reward, terminated, truncated)
        seen, done, ticks = step.observation, truncated, ticks + 1
    assert ticks == 150
    with pytest.raises(LocalProtocolError, match="reset it first"):
        task.step(None)


def test_what_is_seen_is_where_the_arm_and_the_target_are():
    env = ReacherEnv()
    for seed in range(200):
        seen, _ = env.reset(seed=seed)
        cos1, cos2, sin1, sin2, v1, v2, x_m, y_m, away_x_m, away_y_m = map(float, seen)
        assert (v1, v2) == (0.0, 0.0)
        assert 0.099 < math.hypot(x_m, y_m) < 0.951
        tip_x_m = 0.5 * cos1 + 0.5 * (cos1 * cos2 - sin1 * sin2)
        tip_y_m = 0.5 * sin1 + 0.5 * (sin1 * cos2 + cos1 * sin2)
        assert (away_x_m, away_y_m) == pytest.approx((tip_x_m - x_m, tip_y_m - y_m), abs=1e-6)
        assert fingertip_m(env.motion) == pytest.approx((tip_x_m, tip_y_m), abs=1e-6)
    _, reward, *_ = env.step(np.array([1.0, -0.5], np.float32))
    x_m, y_m = fingertip_m(env.motion)
    lost = math.hypot(x_m - env.target_m[0], y_m - env.target_m[1]) + 0.01 * 1.25
    assert reward == pytest.approx(-lost)


def test_targets_are_uniform_in_the_area_of_the_ring():
    """2,000 targets: the mean squared radius is within 5 sd (0.029) of the ring's."""
    env = ReacherEnv()
    squares = [float(np.square(env.reset(seed=seed)[0][6:8]).sum()) for seed in range(2000)]
    assert abs(np.mean(squares) - 0.5 * (0.1**2 + 0.95**2)) < 0.03


def pulled(seen):
    """Pull the fingertip along its way to the target, and brake."""
    cos1, cos2, sin1, sin2, v1, v2, _, _, away_x_m, away_y_m = map(float, seen)
    cos12, sin12 = cos1 * cos2 - sin1 * sin2, sin1 * cos2 + cos1 * sin2
    to_joints = np.array([[-0.5 * (sin1 + sin12), 0.5 * (cos1 + cos12)], [-0.5 * sin12, 0.5 * cos12]])
    torques_n_m = -15.0 * to_joints @ [away_x_m, away_y_m] - [v1, 0.5 * v2]
    return np.clip(torques_n_m / FULL_TORQUES_N_M, -1.0, 1.0).astype(np.float32)


def test_a_plain_controller_reaches_what_idleness_does_not():
    task = Reacher()
    returns: dict[str, list[float]] = {"idle": [], "pulled": []}
    for seed in range(10):
        for name, totals in returns.items():
            seen, total, done = task.reset(seed), 0.0, False
            while not done:
                step = task.step(pulled(seen) if name == "pulled" else None)
                seen, done, total = step.observation, step.truncated, total + step.reward
            totals.append(total)
            if name == "pulled":
                assert math.hypot(*map(float, seen[8:])) < 0.1
    assert np.mean(returns["pulled"]) > -40.0 > -80.0 > np.mean(returns["idle"])


@pytest.mark.parametrize(
    "action", [0, np.zeros(3), np.array([1.1, 0.0]), np.array([np.nan, 0.0]), [0.0, 0.0]], ids=str
)
def test_other_actions_are_refused(action):
    task = Reacher()
    task.reset(0)
    with pytest.raises(LocalProtocolError, match="is not an action of Reacher"):
        task.step(action)


def test_neutral_is_no_torque_and_the_description_is_what_travels():
    task, twin = make_task(NAME), make_task(NAME)
    task.reset(5), twin.reset(5)
    for action in (np.array([1.0, -1.0], np.float32), None):
        ours, theirs = task.step(action), twin.step(np.zeros(2, np.float32) if action is None else action)
        assert ours.observation.tobytes() == theirs.observation.tobytes()
        assert ours.reward == theirs.reward
    description = task.description
    assert (description.rate_hz, description.pace) == (25.0, "real-time")
    assert description.observation == Space(kind="box", dtype="float32", shape=(10,))
    assert description.action == Space(kind="box", dtype="float32", shape=(2,), low=(-1, -1), high=(1, 1))
