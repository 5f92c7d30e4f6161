"""Checkpoint files: what is written is what is read, and what is not one is refused by name."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

from netlab.agents.checkpoint import Checkpoint, CheckpointCard, RandomState, read_checkpoint, require_room
from netlab.agents.ppo_config import PPOConfig
from netlab.agents.ppo_spaces import PPOSpaces
from netlab.agents.tensor_file import write_tensors
from netlab.errors import SpecError
from netlab.messages import Space


@pytest.fixture
def checkpoint() -> Checkpoint:
    rng = np.random.default_rng(1)
    rng.standard_exponential(7, dtype=np.float32)  # leaves half a word behind
    draw = lambda *shape: rng.normal(size=shape).astype(np.float32)  # noqa: E731
    return Checkpoint(
        card=CheckpointCard(
            config=PPOConfig(environments=3, hidden_units=(2,)),
            spaces=PPOSpaces(observation=4, action=Space(kind="discrete", dtype="int64", n=2)),
            seed=2**40,
            iteration=21,  # one since the last reset
            adam_steps=560,
            random=RandomState.of(rng),
            finished=3,
            recent=(1.0, 2.5),
            note="CartPole-v1, clean",
            versions={"numpy": np.__version__},
        ),
        weights={"actor.0.weight": draw(2, 4), "actor.0.bias": draw(2)},
        first=draw(10),
        second=draw(10),
        observations=draw(3, 4),
        state=draw(2, 3, 0),
        played=rng.integers(0, 2, (128, 3)),
    )


def test_what_is_written_is_what_is_read(checkpoint: Checkpoint, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    checkpoint.write(path)
    found = read_checkpoint(path)
    assert found.card == checkpoint.card
    assert found.weights.keys() == checkpoint.weights.keys()
    for name, array in checkpoint.weights.items():
        np.testing.assert_array_equal(found.weights[name], array)
    for name in ("first", "second", "observations", "state", "played"):
        np.testing.assert_array_equal(getattr(found, name), getattr(checkpoint, name))


@pytest.mark.parametrize("draws", [0, 1, 2, 3])
def test_a_random_generator_goes_on_where_it_was(draws: int) -> None:
    rng = np.random.default_rng(3)
    rng.standard_exponential(draws, dtype=np.float32)
    rng.integers(0, 10, draws, dtype=np.uint32)
    state = msgspec.json.decode(msgspec.json.encode(RandomState.of(rng)), type=RandomState)
    other = state.generator()
    assert (
        other.integers(0, 10**6, 5, dtype=np.uint32).tolist()
        == rng.integers(0, 10**6, 5, dtype=np.uint32).tolist()
    )
    assert other.permutation(100).tolist() == rng.permutation(100).tolist()


def test_files_that_are_none_are_refused(checkpoint: Checkpoint, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    with pytest.raises(SpecError, match="cannot be read"):
        read_checkpoint(path)
    checkpoint.write(path)
    whole = path.read_bytes()
    for part in (b"", whole[:5], whole[:200], whole[:-1], b"PK\x03\x04" + whole, whole + b"x"):
        path.write_bytes(part)
        with pytest.raises(SpecError, match="is not a checkpoint of PPO") as caught:
            read_checkpoint(path)
        assert "netlab train" in caught.value.hint


def test_another_kind_of_card_is_refused(checkpoint: Checkpoint, tmp_path: Path) -> None:
    class Other(msgspec.Struct):
        task: str = "CartPole-v1"

    path = tmp_path / "model.safetensors"
    write_tensors(path, Other(), {"w": np.zeros(3, dtype=np.float32)}, max_bytes=10_000)
    with pytest.raises(SpecError, match="its card is not one"):
        read_checkpoint(path)
    config = b'"discount":0.995'
    checkpoint.write(path)
    written = (
        path.read_bytes()
        .replace(config, b'"discount":9.995')
        .replace(rb"\"discount\":0.995", rb"\"discount\":9.995")
    )
    path.write_bytes(written)
    with pytest.raises(SpecError, match=r"discount: 9\.995"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("adam.first", np.zeros(9, dtype=np.float32), "adam.first is float32"),
        ("adam.second", np.zeros(10, dtype=np.float64), "adam.second is float64"),
        ("collector.observations", np.zeros((3, 5), dtype=np.float32), "collector.observations is"),
        ("collector.state", np.zeros((2, 3, 4), dtype=np.float32), "collector.state is"),
        ("collector.played", np.zeros((5, 4), dtype=np.int64), "its actions are int64"),
        ("collector.played", np.zeros((5, 3), dtype=np.float32), "its actions are float32"),
        ("collector.played", np.zeros((2 * 128, 3), dtype=np.int64), "must be int64[128, 3]"),
        ("collector.played", np.zeros(0, dtype=np.int64), "must be int64[128, 3]"),
        ("collector.played", np.full((128, 3), 2), "its actions are not all 0 .. 1"),
        ("collector.played", np.full((128, 3), -1), "its actions are not all 0 .. 1"),
        ("collector.played", None, "has no collector.played"),
    ],
)
def test_arrays_that_contradict_the_card_are_refused(
    checkpoint: Checkpoint, tmp_path: Path, name: str, array: np.ndarray | None, words: str
) -> None:
    path = tmp_path / "run.safetensors"
    tensors = {f"network.{key}": value for key, value in checkpoint.weights.items()}
    tensors |= {
        "adam.first": checkpoint.first,
        "adam.second": checkpoint.second,
        "collector.observations": checkpoint.observations,
        "collector.state": checkpoint.state,
        "collector.played": checkpoint.played,
    }
    if array is None:
        del tensors[name]
    else:
        tensors[name] = array
    write_tensors(path, checkpoint.card, tensors, max_bytes=1 << 20)
    with pytest.raises(SpecError, match=re.escape(words)) as caught:
        read_checkpoint(path)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("number", ["1e308", "-1e308", "1e999"])
def test_returns_that_have_no_mean_are_refused(checkpoint: Checkpoint, tmp_path: Path, number: str) -> None:
    path = tmp_path / "run.safetensors"
    checkpoint.write(path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + length].replace(b'"recent\\":[1.0', f'"recent\\":[{number}'.encode())
    assert number.encode() in header
    path.write_bytes(len(header).to_bytes(8, "little") + header + data[8 + length :])
    with pytest.raises(SpecError, match=r"its card is not one.*(recent|out of range)"):
        read_checkpoint(path)


def test_a_run_whose_checkpoint_could_grow_too_large_is_refused() -> None:
    """2^24 steps may be kept: of one number each they fit, of sixteen they are a gigabyte."""
    config = PPOConfig(environments=64, horizon_steps=128, reset_every_iterations=2048, total_steps=2**24)
    for shape, fits in (((1,), True), ((15,), True), ((16,), False)):
        bounds = {"low": (-1.0,) * shape[0], "high": (1.0,) * shape[0]}
        action = Space(kind="box", dtype="float32", shape=shape, **bounds)
        spaces = PPOSpaces(observation=4, action=action)
        if fits:
            require_room(config, spaces, 10_000)
        else:
            with pytest.raises(SpecError, match="a checkpoint of up to"):
                require_room(config, spaces, 10_000)
    with pytest.raises(SpecError, match="a checkpoint of up to"):
        require_room(msgspec.structs.replace(config, reset_every_iterations=1), spaces, 2**30 // 12)
    short = msgspec.structs.replace(config, total_steps=8192)
    require_room(short, spaces, 10_000)  # it is over before there are so many
