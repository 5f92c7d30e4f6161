from __future__ import annotations

import warnings

import msgspec
import numpy as np
import pytest
from control_simulation import SimulatedNetwork, normal_fate, run_task
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_files import SYSTEM_A, SYSTEM_B, cartpole_transitions, linear_system

from netlab.agents.cartpole_linear import LinearCartPole
from netlab.agents.cartpole_physics import CartPolePhysics, CartPolePhysicsColumns
from netlab.agents.fit_model import fit_model
from netlab.agents.learned_model import LearnedModel, read_model, write_model
from netlab.agents.model_columns import Monomials
from netlab.agents.model_error import measure_errors
from netlab.agents.tensor_file import write_tensors
from netlab.agents.transitions import read_transitions, write_transitions
from netlab.control import Edge, Neutral, Remote, Responder, Scheduled
from netlab.envs.cartpole import CartPole
from netlab.errors import LocalProtocolError, SpecError


@pytest.fixture(scope="module")
def cartpole_model():
    return fit_model(cartpole_transitions(2000, 1))


def columns_of(n, seed):
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(n, 4)) * (1.0, 2.0, 0.2, 2.0)
    return states, rng.integers(2, size=n), rng.random(n) < 0.2


def scalar(predictor, states, actions, neutral):
    pairs = zip(states, actions, neutral, strict=True)
    return np.array([predictor.predict(s, None if off else int(a)) for s, a, off in pairs])


def test_physics_in_columns_gives_the_bits_of_one_state_at_a_time():
    states, actions, neutral = columns_of(500, 0)
    states[0, 2] = np.inf
    together = CartPolePhysicsColumns().predict(states, actions, neutral)
    np.testing.assert_array_equal(together, scalar(CartPolePhysics(), states, actions, neutral))
    actions[3], neutral[3] = 2, True
    CartPolePhysicsColumns().predict(states, actions, neutral)
    neutral[3] = False
    with pytest.raises(LocalProtocolError, match="0, 1 or neutral"):
        CartPolePhysicsColumns().predict(states, actions, neutral)


@pytest.mark.parametrize("options", [{"degree": 1}, {"degree": 3}, {"hidden": 8, "members": 3}], ids=str)
def test_a_model_in_columns_gives_the_bits_of_one_state_at_a_time(options):
    model = fit_model(cartpole_transitions(600, 4), **options)
    states, actions, neutral = columns_of(300, 1)
    together = model.columns.predict(states, actions, neutral)
    np.testing.assert_array_equal(together, scalar(model, states, actions, neutral))
    members = model.columns.predict_members(states, actions, neutral)
    assert members.shape == (model.card.members, 300, 4)
    np.testing.assert_allclose(members.mean(axis=0), together, rtol=1e-12, atol=1e-12)


def test_monomials_are_all_products():
    x = np.array([[2.0, 3.0, 5.0]])
    found = Monomials(3, 3)(x)[0]
    second, third = [4, 6, 10, 9, 15, 25], [8, 12, 20, 18, 30, 50, 27, 45, 75, 125]
    np.testing.assert_array_equal(found, [1, 2, 3, 5, *second, *third])


def test_a_linear_system_is_found_exactly_neutral_included():
    model = fit_model(linear_system(400, 0), ridge=1e-12)
    rng = np.random.default_rng(1)
    for _ in range(50):
        state, action = rng.normal(size=3), rng.uniform(-1, 1, 2)
        np.testing.assert_allclose(
            model.predict(state, action), SYSTEM_A @ state + SYSTEM_B @ action, rtol=0, atol=1e-6
        )
        np.testing.assert_allclose(model.predict(state, None), SYSTEM_A @ state, rtol=0, atol=1e-6)
    assert model.card.neutral_rows > 0
    assert model.card.rows + model.card.held_out_rows == 400


def test_where_no_neutral_tick_was_logged_neutral_is_halfway_between_the_actions():
    model = fit_model(cartpole_transitions(600, 2, neutral=0.0))
    assert model.card.neutral_rows == 0
    for state in np.random.default_rng(0).normal(size=(20, 4)):
        halfway = (model.predict(state, 0) + model.predict(state, 1)) / 2
        np.testing.assert_allclose(model.predict(state, None), halfway, rtol=0, atol=1e-6)


def test_no_transitions_are_too_few():
    none = cartpole_transitions(0, 1)
    with pytest.raises(SpecError, match="twice as many"):
        fit_model(none)


def test_the_deviation_it_gives_is_that_of_the_noise_and_covers_what_came():
    """n = 100 windows of 3 numbers a horizon: about 95 % are within two deviations, 85 % asked for."""
    model = fit_model(linear_system(2000, 2, noise=0.05))
    for error in model.card.errors:
        assert error.windows > 200
        assert 0.85 <= error.covered_ratio <= 1.0
        np.testing.assert_allclose(error.sd, error.rmse, rtol=0.3)
    rolled = model.roll(np.zeros(3), [None] * 20, particles=400)
    assert rolled.mean.shape == rolled.sd.shape == (20, 3)
    assert (rolled.sd[19] > rolled.sd[0]).all()
    np.testing.assert_allclose(rolled.sd[0], 0.05, rtol=0.2)
    again = model.roll(np.zeros(3), [None] * 20, particles=400)
    np.testing.assert_array_equal(rolled.sd, again.sd)


def test_members_disagree_more_far_from_what_was_logged():
    model = fit_model(cartpole_transitions(600, 5), degree=2)
    near, far = model.roll(np.zeros(4), [1] * 5), model.roll(np.array([2.0, 4.0, 0.6, 4.0]), [1] * 5)
    assert (far.sd[-1] > 3 * near.sd[-1]).all()


def test_two_thousand_cartpole_transitions_are_enough_for_ten_ticks(cartpole_model):
    """Errors on 1,000 transitions of the linear policy's own play, all windows of 10 ticks."""
    played = cartpole_transitions(1000, 99, play="linear")
    (error,) = measure_errors(cartpole_model, played, np.arange(1000), (10,))
    assert error.windows > 900
    assert error.rmse[2] < np.radians(0.1)
    assert max(error.rmse) < 0.01
    assert error.still_rmse[1] > 20 * error.rmse[1]
    assert cartpole_model.card.neutral_rows > 100


def test_linear_feedback_with_a_learned_model_keeps_the_pole_up_on_the_degraded_link(cartpole_model):
    """n = 20 episodes of fixed seeds, D = 10, Wi-Fi-Degraded read as a round trip: all 500."""
    task, rng = CartPole(), np.random.default_rng(17)
    edge = Edge(task.description, Scheduled(10), Neutral(), 1)
    responder = Responder(Remote(task.description, cartpole_model, 10, 1), LinearCartPole())
    network = SimulatedNetwork(responder, normal_fate(rng, 0.040, 0.040 / 2**0.5, 0.10, 50.0))
    assert run_task(task, edge, network, 20, seed=5).returns == [500.0] * 20


def test_the_same_seed_gives_the_same_model_and_another_another():
    transitions = cartpole_transitions(400, 6)
    one, two, other = (fit_model(transitions, hidden=4, members=2, seed=seed) for seed in (1, 1, 2))
    assert one.card == two.card
    for name, tensor in one.tensors.items():
        np.testing.assert_array_equal(tensor, two.tensors[name])
    assert not np.array_equal(one.tensors["weight"], other.tensors["weight"])


def test_a_model_comes_back_from_its_file_as_it_was(tmp_path, cartpole_model):
    path = tmp_path / "model.safetensors"
    write_model(cartpole_model, path)
    read = read_model(path)
    assert read.card == cartpole_model.card
    states, actions, neutral = columns_of(20, 3)
    np.testing.assert_array_equal(
        read.columns.predict(states, actions, neutral), cartpole_model.columns.predict(states, actions, neutral)
    )
    write_transitions(cartpole_transitions(50, 1), path)
    with pytest.raises(SpecError, match="is not a file of a learned model"):
        read_model(path)


@pytest.mark.parametrize("options", [{"degree": 1}, {"degree": 3}, {"hidden": 8}], ids=str)
def test_the_largest_numbers_there_are_raise_nothing_and_stay_numbers(options):
    model = fit_model(cartpole_transitions(500, 7), **options)
    state = np.array([3.4e38, -3.4e38, 3.4e38, -3.4e38], np.float32)
    with np.errstate(all="raise", under="ignore"):
        predicted = state
        for tick in range(256):
            predicted = model.predict(predicted, (0, 1, None)[tick % 3])
    assert np.isfinite(predicted).all()


EVERY_TENSOR = ("weight", "hidden_weight", "hidden_bias", "output_weight", "change_scale", "residual_sd")


@pytest.mark.parametrize("name", EVERY_TENSOR)
def test_numbers_that_come_to_none_are_refused(tmp_path, name):
    """Each is finite, and what the model would predict of them is not."""
    model = fit_model(cartpole_transitions(500, 7), hidden=4, members=2)
    tensors = {key: tensor.copy() for key, tensor in model.tensors.items()}
    tensors[name][...] = 1e308
    blamed = "weight" if name == "change_scale" else name.replace("bias", "weight")
    with pytest.raises(SpecError, match=rf"{blamed} is so large that what it predicts is no number"):
        LearnedModel(model.card, tensors)
    write_tensors(tmp_path / "m.safetensors", model.card, tensors, max_bytes=1 << 20)
    with pytest.raises(SpecError, match=r"m\.safetensors: is not a file of a learned model"):
        read_model(tmp_path / "m.safetensors")


@pytest.mark.parametrize("name", ["weight", "hidden_weight", "output_weight"])
@pytest.mark.parametrize("number", [1e290, -1e290])
def test_what_is_not_refused_predicts_numbers_and_warns_of_nothing(name, number):
    model = fit_model(cartpole_transitions(500, 7), hidden=4, members=2)
    tensors = model.tensors | {
        name: np.full_like(model.tensors[name], number),
        "state_scale": np.full(4, 1e-300),
        "state_mean": np.full(4, 1e308),
    }
    made = LearnedModel(model.card, tensors)
    states, neutral = np.array([[0.0, 1.7e308, -1.7e308, 1.0]]), np.zeros(1, bool)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(256):
            states = made.columns.predict(states, np.ones(1, np.int64), neutral)
            assert not np.isnan(states).any()
            made.columns.predict_members(states, np.ones(1, np.int64), neutral)


@pytest.mark.parametrize("action", [2, -1, 0.5, "0", np.zeros(2)], ids=repr)
def test_an_action_that_is_none_is_refused(cartpole_model, action):
    with pytest.raises(LocalProtocolError, match=r"0 \.\. 1 or neutral"):
        cartpole_model.predict(np.zeros(4), action)
    with pytest.raises(LocalProtocolError, match=r"shape \[2\]"):
        fit_model(linear_system(80, 0)).predict(np.zeros(3), 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"degree": 0}, "degree"),
        ({"degree": 4}, "degree"),
        ({"members": 0}, "members"),
        ({"hidden": -1}, "hidden"),
        ({"held_out_ratio": 1.0}, "held_out_ratio"),
        ({"ridge": 0.0}, "ridge"),
        ({"horizons": (0,)}, "horizons"),
        ({"seed": -1}, "seed"),
        ({"degree": 3}, "need twice as many"),
    ],
    ids=str,
)
def test_what_cannot_be_fitted_is_said(options, words):
    with pytest.raises(SpecError, match=words):
        fit_model(cartpole_transitions(60, 1), **options)


def test_a_single_episode_is_split_in_time():
    one = msgspec.structs.replace(linear_system(200, 3), episodes=np.zeros(200, np.int64))
    card = fit_model(one, held_out_ratio=0.25).card
    assert (card.rows, card.held_out_rows) == (150, 50)
    assert [error.windows for error in card.errors] == [50, 46, 41, 31]


def test_a_horizon_longer_than_any_episode_has_no_figure():
    transitions = msgspec.structs.replace(linear_system(200, 3), episodes=np.arange(200) // 4)
    errors = fit_model(transitions).card.errors
    assert [error.windows > 0 for error in errors] == [True, False, False, False]
    assert errors[1].rmse == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"neutral": np.zeros(39, bool)}, r"neutral is bool\[39\]"),
        ({"states": np.zeros((40, 3), np.float32)}, "states is float32"),
        ({"next_states": np.full((40, 3), np.nan)}, "next_states holds a number that is not finite"),
        ({"episodes": np.arange(40) % 2}, "do not stand together"),
        ({"actions": np.zeros(40, np.int64)}, "actions is int64"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_columns_that_contradict_each_other_are_refused(tmp_path, change, words):
    broken = msgspec.structs.replace(linear_system(40, 0), **change)
    with pytest.raises(SpecError, match=words):
        fit_model(broken)
    with pytest.raises(SpecError, match=words):
        write_transitions(broken, tmp_path / "t.safetensors")
    assert not list(tmp_path.iterdir())


def test_actions_beyond_the_space_and_observations_without_dimensions_are_refused():
    transitions = cartpole_transitions(60, 1)
    actions = transitions.actions.copy()
    actions[5] = 2
    with pytest.raises(SpecError, match=r"not all 0 \.\. 1"):
        fit_model(msgspec.structs.replace(transitions, actions=actions))
    card = msgspec.structs.replace(transitions.card, observation=transitions.card.action)
    with pytest.raises(SpecError, match="discrete"):
        fit_model(msgspec.structs.replace(transitions, card=card))


def test_transitions_come_back_from_their_file_as_they_were(tmp_path):
    for number, transitions in enumerate((cartpole_transitions(120, 3), linear_system(80, 3))):
        path = tmp_path / f"{number}.safetensors"
        write_transitions(transitions, path)
        read = read_transitions(path)
        assert read.card == transitions.card
        assert len(read) == len(transitions)
        for name in ("states", "actions", "neutral", "next_states", "episodes"):
            np.testing.assert_array_equal(getattr(read, name), getattr(transitions, name))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_broken_file_of_transitions_is_refused_or_whole(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("broken") / "t.safetensors"
    write_transitions(linear_system(20, 0), path)
    whole = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(whole) - 1))
    match data.draw(st.sampled_from(("flip", "cut", "grow"))):
        case "flip":
            whole[at] ^= data.draw(st.integers(1, 255))
        case "cut":
            del whole[at:]
        case "grow":
            whole[at:at] = data.draw(st.binary(min_size=1, max_size=20))
    path.write_bytes(whole)
    try:
        read = read_transitions(path)
    except SpecError as error:
        assert error.path == str(path)
        assert error.hint
    else:
        assert not read.problem()
