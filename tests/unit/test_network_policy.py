from __future__ import annotations

import subprocess
import sys

import msgspec
import numpy as np
import pytest
from control_simulation import SimulatedNetwork, normal_fate, run_task
from policy_files import (
    CARTPOLE,
    GRID_WORLD,
    REACHER,
    cartpole_transitions,
    grid_observation,
    linear_file,
    lstm_file,
    mlp_file,
    with_card,
)

from netlab.agents.cartpole_linear import LinearCartPole
from netlab.agents.cartpole_physics import CartPolePhysics
from netlab.agents.fit_model import fit_model
from netlab.agents.learned_model import LearnedModel
from netlab.agents.network_policy import NetworkPolicy
from netlab.agents.policy import find_policy, make_policy
from netlab.agents.policy_file import write_policy
from netlab.control import Edge, Neutral, Persistence, Question, Remote, Responder, Scheduled
from netlab.control.feature_spec import FeatureSpec
from netlab.envs.cartpole import CartPole
from netlab.errors import SpecError
from netlab.messages import Observation, Space


def policy_of(file, task=None):
    return NetworkPolicy(file.card, file.weights, task)


def frame(episode, tick, payload=b"", history=0):
    return Observation(1, episode, tick, payload, b"", 0, history, -1, 0.0)


def questions(observations, episode=0, first=0):
    return [Question(first + n + 1, seen, frame(episode, first + n), seen) for n, seen in enumerate(observations)]


def test_a_linear_file_decides_as_the_linear_policy_does():
    policy, linear = policy_of(linear_file(), CARTPOLE), LinearCartPole()
    states = (np.random.default_rng(0).normal(size=(1000, 4)) * (1.0, 1.0, 0.1, 1.0)).astype(np.float32)
    for question in questions(states):
        assert policy.decide(question) == linear.decide(question)


def test_a_file_with_a_learned_model_is_served_and_keeps_the_pole_up(tmp_path):
    """n = 10 episodes of fixed seeds, D = 10, Wi-Fi-Degraded read as a round trip: all 500."""
    path = str(tmp_path / "best.safetensors")
    write_policy(linear_file(fit_model(cartpole_transitions(2000, 1))), path)
    task, rng = CartPole(), np.random.default_rng(17)
    policy, predictor = make_policy(path, task.description)
    assert isinstance(predictor, LearnedModel)
    edge = Edge(task.description, Scheduled(10), Neutral(), 1)
    responder = Responder(Remote(task.description, predictor, 10, 1), policy)
    network = SimulatedNetwork(responder, normal_fate(rng, 0.040, 0.040 / 2**0.5, 0.10, 50.0))
    assert run_task(task, edge, network, 10, seed=5).returns == [500.0] * 10


def test_the_recipe_says_what_the_card_says(tmp_path):
    path = str(tmp_path / "a.safetensors")
    for predictor, kind in (("none", Persistence), ("cartpole-physics", CartPolePhysics)):
        write_policy(with_card(linear_file(), predictor=predictor), path)
        recipe = find_policy(path)
        assert (recipe.name, recipe.summary) == ("linear-file", "linear feedback in a file")
        assert recipe.refusal(CARTPOLE) == ""
        made = [recipe.make(CARTPOLE, 0) for _ in range(2)]
        assert made[0][0] is not made[1][0]
        assert all(isinstance(one, kind) for _, one in made)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "Pendulum-v1"}, "'Pendulum-v1' is not CartPole-v1"),
        ({"observation": Space(kind="box", dtype="float32", shape=(3,))}, r"float32\[3\], not float32\[4\]"),
        ({"observation": Space(kind="box", dtype="uint8", shape=(4,))}, r"uint8\[4\]"),
        ({"action": Space(kind="discrete", dtype="int64", n=3)}, "discrete with n=3, not discrete with n=2"),
        ({"action": Space(kind="box", dtype="float32", shape=(1,))}, r"float32\[1\], not discrete"),
    ],
    ids=str,
)
def test_a_task_with_other_spaces_is_refused(tmp_path, change, words):
    path = str(tmp_path / "a.safetensors")
    write_policy(linear_file(), path)
    with pytest.raises(SpecError, match=words):
        make_policy(path, msgspec.structs.replace(CARTPOLE, **change))


def test_other_bounds_of_a_box_are_refused(tmp_path):
    path = str(tmp_path / "a.safetensors")
    write_policy(mlp_file(REACHER, FeatureSpec(), (4,)), path)
    assert find_policy(path).refusal(REACHER) == ""
    wider = msgspec.structs.replace(REACHER.action, high=(2.0, 2.0))
    assert "bounds" in find_policy(path).refusal(msgspec.structs.replace(REACHER, action=wider))


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(SpecError, match="cannot be read"):
        find_policy(str(tmp_path / "none.safetensors"))


def test_an_lstm_remembers_within_an_episode_and_forgets_at_its_end():
    rng = np.random.default_rng(3)
    policy, fresh = policy_of(lstm_file()), policy_of(lstm_file())
    seen = [grid_observation(rng) for _ in range(40)]
    first = [policy.decide(question) for question in questions(seen)]
    policy.reset()
    assert [policy.decide(question) for question in questions(seen, episode=1, first=40)] == first
    alone = []
    for question in questions(seen, episode=2, first=80):
        fresh.reset()
        alone.append(fresh.decide(question))
    assert alone != first


def test_drawn_actions_depend_on_seed_and_episode_alone():
    file = lstm_file(choose="sampled", sampling_seed=5)
    rng = np.random.default_rng(4)
    seen = [grid_observation(rng) for _ in range(60)]

    def play(file, episode):
        policy = policy_of(file)
        return [policy.decide(question) for question in questions(seen, episode)]

    assert play(file, 3) == play(file, 3)
    assert play(file, 3) != play(file, 4)
    assert play(file, 3) != play(with_card(file, sampling_seed=6), 3)
    of_run = [NetworkPolicy(file.card, file.weights, run_seed=seed) for seed in (0, 9, 9)]
    of_service, other, same = ([one.decide(question) for question in questions(seen, 3)] for one in of_run)
    assert of_service == play(file, 3) != other == same
    assert play(with_card(file, choose="greedy"), 3) == play(with_card(file, choose="greedy"), 4)
    again = policy_of(file)
    for question in questions(seen, 2):
        again.decide(question)
    again.reset()
    assert [again.decide(question) for question in questions(seen, 3, first=60)] == play(file, 3)


def test_draws_follow_the_probabilities_of_the_logits():
    """n = 4,000 draws of one of two actions with logits 0 and 1: within 4 standard errors of 73.1 %."""
    file = mlp_file(CARTPOLE, FeatureSpec(), (), choose="sampled")
    file.weights["actor.0.weight"][:] = 0.0
    file.weights["actor.0.bias"][:] = (0.0, 1.0)
    policy = policy_of(file)
    ones = sum(policy.decide(question) for question in questions(np.zeros((4000, 4), np.float32)))
    share = 1.0 / (1.0 + np.exp(-1.0))
    assert abs(ones / 4000 - share) < 4 * np.sqrt(share * (1 - share) / 4000)


def test_a_continuous_policy_plays_its_mean_within_bounds():
    file = mlp_file(REACHER, FeatureSpec(), (8,))
    file.weights["actor.1.bias"][:] = (5.0, -5.0)
    action = policy_of(file).decide(questions(np.zeros((1, 3), np.float32))[0])
    np.testing.assert_array_equal(action, np.array([1.0, -1.0], np.float32))
    assert action.dtype == np.float32


@pytest.mark.parametrize("horizon", [1, 16, 256])
@pytest.mark.parametrize("predictor", ["none", "cartpole-physics"])
def test_no_finite_observation_breaks_a_served_policy(horizon, predictor):
    file = mlp_file(CARTPOLE, FeatureSpec(stack=3, predicted=True, actions=4, age=True, network=True), (64, 64))
    predicting = CartPolePhysics() if predictor == "cartpole-physics" else Persistence()
    responder = Responder(Remote(CARTPOLE, predicting, horizon, 1), policy_of(file, CARTPOLE))
    rng = np.random.default_rng(horizon)
    for tick in range(20):
        wild = (rng.choice([-1.0, 1.0], 4) * 10.0 ** rng.uniform(-40, 38.5, 4)).astype("<f4")
        assert responder.receive(frame(0, tick, wild.tobytes(), tick)) is not None


def test_a_grid_that_is_none_is_an_error_of_its_session():
    policy = policy_of(lstm_file(), GRID_WORLD)
    with pytest.raises(SpecError, match="grid"):
        policy.decide(questions(np.full((1, 13), 200, np.uint8))[0])


def test_serving_a_file_loads_no_torch_and_a_name_no_safetensors(tmp_path):
    path = str(tmp_path / "a.safetensors")
    write_policy(linear_file(), path)
    script = (
        "import sys; from netlab.agents.policy import find_policy; find_policy('linear');"
        "assert 'safetensors' not in sys.modules; find_policy(sys.argv[1]);"
        "assert 'safetensors' in sys.modules; assert not {'torch', 'gymnasium'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
