from __future__ import annotations

import json
import math
import os
import tracemalloc

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_files import CARTPOLE, REACHER, cartpole_transitions, linear_file, lstm_file, mlp_file, with_card

from netlab.agents.fit_model import fit_model
from netlab.agents.policy_export import export_policy
from netlab.agents.policy_file import MAX_BYTES, PolicyFile, read_policy, write_policy
from netlab.agents.tensor_file import write_tensors
from netlab.control.feature_spec import FeatureSpec
from netlab.errors import LocalProtocolError, SpecError
from netlab.messages import Space

RICH = FeatureSpec(stack=4, actions=6, age=True, acknowledgement=3, network=True)


@pytest.fixture(scope="module")
def model():
    return fit_model(cartpole_transitions(300, 1))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "policy.safetensors"


def header_of(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def write_header(path, header, rest=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + rest)


def all_kinds(model):
    return [
        linear_file(),
        linear_file(model),
        mlp_file(CARTPOLE, RICH, (64, 64)),
        mlp_file(REACHER, FeatureSpec(), (8,)),
        lstm_file(choose="sampled", sampling_seed=7),
    ]


def test_a_policy_comes_back_as_it_was_and_is_the_same_bytes_each_time(path, tmp_path, model):
    for file in all_kinds(model):
        write_policy(file, path)
        read = read_policy(path)
        assert read.card == file.card
        assert set(read.weights) == set(file.weights)
        for name, weight in file.weights.items():
            np.testing.assert_array_equal(read.weights[name], weight)
            assert not read.weights[name].flags.writeable
        assert (read.model is None) == (file.model is None)
        if read.model is not None and file.model is not None:
            np.testing.assert_array_equal(read.model.tensors["weight"], file.model.tensors["weight"])
        write_policy(read, tmp_path / "again.safetensors")
        assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_any_program_that_reads_safetensors_reads_it(path):
    from safetensors.numpy import load_file

    write_policy(linear_file(), path)
    assert load_file(path)["actor.0.weight"].shape == (2, 4)
    card = json.loads(header_of(path)[0]["__metadata__"]["netlab"])
    assert card["training"]["command"] == "netlab train"
    assert card["features"]["predicted"] is True


CONTRADICTIONS = {
    "a learned predictor without a model": lambda f, m: with_card(f, predictor="learned"),
    "a model nobody asks": lambda f, m: PolicyFile(with_card(f, model=m.card).card, f.weights, m),
    "another model's card": lambda f, m: with_card(
        linear_file(m), model=msgspec.structs.replace(m.card, seed=m.card.seed + 1)
    ),
    "physics of another task": lambda f, m: with_card(
        mlp_file(REACHER, FeatureSpec(), ()), predictor="cartpole-physics"
    ),
    "a grid for an mlp": lambda f, m: with_card(f, grid=lstm_file().card.grid),
    "features of another width": lambda f, m: with_card(f, features=FeatureSpec(stack=2)),
    "more actions than logits": lambda f, m: with_card(
        f, task=msgspec.structs.replace(CARTPOLE, action=Space(kind="discrete", dtype="int64", n=3))
    ),
    "a missing bias": lambda f, m: without(f, "actor.0.bias"),
    "a missing deviation": lambda f, m: without(mlp_file(REACHER, FeatureSpec(), ()), "log_sd"),
    "no layer at all": lambda f, m: PolicyFile(f.card, {}),
    "a tensor too many": lambda f, m: PolicyFile(f.card, dict(f.weights) | {"critic": np.zeros(1, np.float32)}),
    "doubles": lambda f, m: PolicyFile(f.card, {n: np.asarray(w, np.float64) for n, w in f.weights.items()}),
    "a layer that does not fit the next": lambda f, m: other_shape(
        mlp_file(CARTPOLE, FeatureSpec(), (8, 8)), "actor.1.weight", (8, 9)
    ),
    "an lstm called mlp": lambda f, m: with_card(lstm_file(), kind="mlp", grid=None),
    "an lstm without its encoder": lambda f, m: without(lstm_file(), "encoder.weight"),
    "gates that are not four": lambda f, m: other_shape(lstm_file(), "lstm.weight_ih_l0", (3, 10)),
    "a grid beyond the features": lambda f, m: with_card(
        lstm_file(), grid=msgspec.structs.replace(lstm_file().card.grid, cells=5)
    ),
}


def without(file, name):
    return PolicyFile(file.card, {one: weight for one, weight in file.weights.items() if one != name})


def other_shape(file, name, shape):
    return PolicyFile(file.card, dict(file.weights) | {name: np.zeros(shape, np.float32)})


@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_parts_that_contradict_each_other_are_neither_written_nor_read(path, model, what):
    broken = CONTRADICTIONS[what](linear_file(), model)
    assert broken.problem()
    with pytest.raises(SpecError, match="policy"):
        write_policy(broken, path)
    assert not path.exists()
    tensors = dict(broken.weights)
    if broken.model is not None:
        tensors |= {f"model.{name}": one for name, one in broken.model.tensors.items()}
    write_tensors(path, broken.card, tensors, max_bytes=MAX_BYTES)
    if what == "another model's card":  # in a file there is but one card, so there is nothing to contradict it
        assert read_policy(path).model.card == broken.card.model
        return
    with pytest.raises(SpecError, match="is not a policy file") as caught:
        read_policy(path)
    assert caught.value.path == str(path)
    assert "netlab train" in caught.value.hint


CARDS = {
    "a newer format": ({"format": 2}, "format"),
    "an unknown key": ({"colour": "red"}, "colour"),
    "a kind that is none": ({"kind": "transformer"}, "kind"),
    "a name that is no text": ({"name": 3}, "name"),
    "a stack of none": ({"features": {"stack": 0}}, "stack"),
    "features nobody has": ({"features": {"smell": True}}, "smell"),
    "a horizon of none": ({"horizon_ticks": 0}, "horizon_ticks"),
    "a horizon that is no word": ({"horizon_ticks": "some"}, "horizon_ticks"),
    "an empty name": ({"name": ""}, r"\$\.name"),
    "a name that drives a terminal": ({"name": "\x1b[31mred"}, r"\$\.name"),
    "a summary of two lines": ({"summary": "red\n\nfoo"}, r"\$\.summary"),
    "a summary that ends a line": ({"summary": "red\n"}, r"\$\.summary"),
    "a summary that is turned about": ({"summary": "red\u202eder"}, r"\$\.summary"),
    "a version that clears the screen": (
        {"training": {"command": "x", "seed": 1, "steps": 1, "versions": {"numpy": "\x9b2J"}}},
        r"\$\.training\.versions",
    ),
    "no rate to speak of": ({"task": {**msgspec.to_builtins(CARTPOLE), "rate_hz": 5e-324}}, r"\$\.task\.rate_hz"),
    "a tick of thirty years": ({"task": {**msgspec.to_builtins(CARTPOLE), "rate_hz": 1e-9}}, r"\$\.task\.rate_hz"),
    "a row of a million": ({"features": {"stack": 64, "actions": 256}}, "float32"),
}


@pytest.mark.parametrize("what", CARDS)
def test_a_card_that_is_none_is_named(path, what):
    changes, words = CARDS[what]
    write_policy(linear_file(), path)
    header, rest = header_of(path)
    card = json.loads(header["__metadata__"]["netlab"]) | changes
    header["__metadata__"]["netlab"] = json.dumps(card)
    write_header(path, header, rest)
    with pytest.raises(SpecError, match=words):
        read_policy(path)


def bomb(depth):
    return b'{"__metadata__":{"netlab":' + b"[" * depth


HEADERS = {
    "nothing": b"",
    "no json": b"\x80\x04K\x01.",
    "a list": b"[]",
    "no card": {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}},
    "a card that is a number": {"__metadata__": {"netlab": 3}},
    "an empty card": {"__metadata__": {"netlab": "{}"}},
    "half a card": {"__metadata__": {"netlab": '{"name":'}},
    "a deep card": {"__metadata__": {"netlab": "[" * 100_000}},
    "a deep header": bomb(100_000),
    "many entries": {"__metadata__": {str(n): "" for n in range(50)}},
    "many arrays": {"__metadata__": {"netlab": "{}"}} | {str(n): 0 for n in range(2000)},
    "not utf-8": b'{"__metadata__":{"netlab":"\xff"}}',
}


@pytest.mark.parametrize("what", HEADERS)
def test_a_header_that_is_none_is_refused(path, what):
    write_header(path, HEADERS[what])
    with pytest.raises(SpecError, match="is not a policy file") as caught:
        read_policy(path)
    assert str(caught.value).count(str(path)) == 1
    assert caught.value.hint


@pytest.mark.parametrize("length", [0, 9, 2**20 + 1, 2**32, 2**63, 2**64 - 1])
def test_a_header_that_lies_about_its_length_is_refused(path, length):
    write_policy(linear_file(), path)
    data = path.read_bytes()
    path.write_bytes(length.to_bytes(8, "little") + data[8:])
    with pytest.raises(SpecError, match="is not a policy file"):
        read_policy(path)


ENTRIES = {
    "an array beyond the end": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]},
    "a shape that overflows": {"dtype": "F32", "shape": [2**62, 2**62], "data_offsets": [0, 8]},
    "a negative shape": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 8]},
    "a hole before it": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
    "an unknown type": {"dtype": "Q7", "shape": [2], "data_offsets": [0, 8]},
    "half floats": {"dtype": "F16", "shape": [4], "data_offsets": [0, 8]},
    "brain floats": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]},
    "bytes of floats": {"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]},
    "halves of bytes": {"dtype": "F4", "shape": [16], "data_offsets": [0, 8]},
}


@pytest.mark.parametrize("what", ENTRIES)
def test_an_array_that_is_not_there_is_refused(path, what):
    write_policy(linear_file(), path)
    metadata = header_of(path)[0]["__metadata__"]
    write_header(path, {"__metadata__": metadata, "actor.0.weight": ENTRIES[what]}, bytes(8))
    with pytest.raises(SpecError) as caught:
        read_policy(path)
    kind = ENTRIES[what]["dtype"]
    if kind != "F32":
        assert f"is not a policy file: 'actor.0.weight' holds {kind}: must be one of F32, F64" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "twice"),
    [
        ('"actor.0.bias"', "actor.0.weight"),  # named as the other is
        ('"data_offsets"', "dtype"),
        ('{"__metadata__":', "__metadata__"),
    ],
)
def test_a_header_that_says_a_thing_twice_is_refused(path, text, twice):
    """Other readers take the first, or the last: two of them would see two policies in one file."""
    write_policy(linear_file(), path)
    header, rest = header_of(path)
    written = json.dumps(header, separators=(",", ":"))
    assert text in written
    change = f'{{"__metadata__":{{}},"{twice}":' if twice == "__metadata__" else f'"{twice}"'
    write_header(path, written.replace(text, change, 1).encode(), rest)
    with pytest.raises(SpecError, match=f"is not a policy file: .*'{twice}' stands in its header twice"):
        read_policy(path)


def test_a_huge_file_is_refused_without_being_read_whole(path):
    with path.open("wb") as file:
        file.truncate(10 << 30)  # sparse: it takes no room
    tracemalloc.start()
    try:
        with pytest.raises(SpecError, match=f"larger than {MAX_BYTES} bytes"):
            read_policy(path)
        assert tracemalloc.get_traced_memory()[1] < 4 * MAX_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["missing.safetensors", ".", "a\0b.safetensors"], ids=repr)
def test_what_cannot_be_read_is_said(tmp_path, name):
    with pytest.raises(SpecError, match=r"cannot be read|is not a plain file") as caught:
        read_policy(f"{tmp_path}/{name}")
    assert caught.value.hint


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_weights_that_are_not_finite_are_neither_written_nor_read(path, number):
    file = linear_file()
    weights = {name: weight.copy() for name, weight in file.weights.items()}
    weights["actor.0.bias"][1] = number
    with pytest.raises(LocalProtocolError, match=r"actor\.0\.bias"):
        write_policy(PolicyFile(file.card, weights), path)
    write_policy(file, path)
    data = bytearray(path.read_bytes())
    header, rest = header_of(path)
    at = len(data) - len(rest) + header["actor.0.bias"]["data_offsets"][0]
    data[at : at + 4] = np.float32(number).tobytes()
    path.write_bytes(data)
    with pytest.raises(SpecError, match=r"actor\.0\.bias.*not finite"):
        read_policy(path)


def test_what_cannot_be_written_leaves_what_was_there(tmp_path, path):
    with pytest.raises(SpecError, match="cannot be written"):
        write_policy(linear_file(), tmp_path / "nowhere" / "policy.safetensors")
    write_policy(linear_file(), path)
    before = path.read_bytes()
    task = msgspec.structs.replace(
        REACHER, action=Space(kind="box", dtype="float32", shape=(2,), low=(-math.inf, 0.0))
    )
    with pytest.raises(LocalProtocolError, match="could not be read again"):
        write_policy(mlp_file(task, FeatureSpec(), ()), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_an_export_leaves_the_critic_behind_and_copies_the_rest(path, model):
    file = mlp_file(CARTPOLE, FeatureSpec(), (8,))
    training = dict(file.weights) | {"critic.0.weight": np.ones((8, 4), np.float32)}
    card = msgspec.structs.replace(file.card, predictor="learned")
    exported = export_policy(card, training, model)
    assert set(exported.weights) == set(file.weights)
    assert exported.card.model == model.card
    training["actor.0.weight"][:] = 0.0
    assert exported.weights["actor.0.weight"].any()
    write_policy(exported, path)
    assert read_policy(path).card == exported.card


def test_what_cannot_be_exported_is_named():
    file = lstm_file()
    with pytest.raises(SpecError, match=r"lacks actor\.bias"):
        export_policy(file.card, without(file, "actor.bias").weights)
    diverged = dict(file.weights) | {"lstm.bias_hh_l0": np.full(32, np.nan, np.float32)}
    with pytest.raises(SpecError, match="not finite") as caught:
        export_policy(file.card, diverged)
    assert "netlab train RECIPE --export" in caught.value.hint


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_broken_policy_file_is_refused_or_a_policy(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("broken") / "policy.safetensors"
    write_policy(linear_file(), path)
    whole = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(whole) - 1))
    match data.draw(st.sampled_from(("flip", "cut", "grow", "other"))):
        case "flip":
            whole[at] ^= data.draw(st.integers(1, 255))
        case "cut":
            del whole[at:]
        case "grow":
            whole[at:at] = data.draw(st.binary(min_size=1, max_size=20))
        case "other":
            whole = bytearray(data.draw(st.binary(max_size=200)))
    path.write_bytes(whole)
    try:
        read = read_policy(path)
    except SpecError as error:
        assert error.path == str(path)
        assert error.hint
    else:
        assert not read.problem()
