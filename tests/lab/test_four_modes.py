"""One policy file in four places: ``netlab run --mode local | model | lab | remote``."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from saved_linear import LINK, NETLAB, netlab_run, returns, write_linear

from netlab.agents.policy import make_policy
from netlab.control.question import Question
from netlab.envs.cartpole import CartPole
from netlab.envs.episode import episode_seed
from netlab.modes.report import RunReport

SEED = 11
EPISODES = 2  # of those that fall
PATIENCE_S = 30.0


@pytest.fixture
def tun() -> None:
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("there is no /dev/net/tun")


def plain_return(policy: str, seed: int) -> float:
    """Return what Gymnasium makes of an episode."""
    env = gymnasium.make("CartPole-v1")
    decides, _ = make_policy(policy, CartPole().description)
    state, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        state, reward, terminated, truncated, _ = env.step(int(decides.decide(Question.of_state(state))))
        total += float(reward)
        over = terminated or truncated
    return total


def wait_for(path: Path) -> str:
    deadline_s = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < deadline_s, "the agent never listened"
        time.sleep(0.01)
    return path.read_text().strip()


def test_one_file_plays_in_all_four(tmp_path: Path, tun: None) -> None:
    card = write_linear(tmp_path / "saved.safetensors")
    asked = ["saved.safetensors", "--seed", SEED, "--mode"]
    documents = {
        "local": netlab_run(tmp_path, *asked, "local"),
        "model": netlab_run(tmp_path, *asked, "model", "--network", LINK),
        "lab": netlab_run(tmp_path, *asked, "lab", "--network", LINK, "--on", "relay"),
    }
    serve = [*NETLAB, "agent", "serve", "--bind", "127.0.0.1:0", "--ready-file", "ready"]
    with subprocess.Popen(
        [*serve, "--policy", "saved.safetensors"], cwd=tmp_path, stderr=subprocess.DEVNULL
    ) as agent:
        try:
            address = wait_for(tmp_path / "ready")
            documents["remote"] = netlab_run(tmp_path, *asked, "remote", "--agent", address)
        finally:
            agent.terminate()
            agent.wait(PATIENCE_S)

    # The link is one that this policy masters, and so is Gymnasium without any: nobody falls anywhere.
    plain = plain_return(str(tmp_path / "saved.safetensors"), episode_seed(SEED, 0))
    assert {mode: returns(document) for mode, document in documents.items()} == {
        mode: [plain] for mode in documents
    }
    assert plain == 500.0
    engines = {mode: (document["engine"], document["clock"]) for mode, document in documents.items()}
    assert engines == {
        "local": ("none", "virtual"),
        "model": ("model", "virtual"),
        "lab": ("relay", "real"),
        "remote": ("network", "real"),
    }
    for mode, document in documents.items():
        run = document["run"]
        assert document.keys() == set(RunReport.__struct_fields__)
        assert document["mode"] == mode
        assert run["policy"] == document["policy"] == card.name
        assert document["policy_sha256"] == documents["local"]["policy_sha256"]
        if mode != "model":
            assert run["policy_sha256"] == document["policy_sha256"], "what decided is what was asked for"
        assert (run["actuator"], run["horizon_ticks"], run["fallback"]) == (
            "scheduled",
            card.horizon_ticks,
            "neutral",
        )
        assert run["episodes"][0]["seed"] == episode_seed(SEED, 0)
        assert run["counters"]["ticks"] == 500 and run["rate_hz"] == card.task.rate_hz
    # The same seed meets the same draws: of 500 packets those on the model were lost, and no other.
    lost = [[way["lost"] for way in documents[mode]["delivered"]] for mode in ("model", "lab")]
    assert lost[0][0] == lost[1][0] > 0
    assert documents["local"]["delivered"] == documents["remote"]["delivered"] == []


BEYOND_REACH = "delay=35ms"
"""Both ways together are 14 ticks, more than the 10 that are decided ahead; one alone would be 7."""
LOSSY = "delay=8ms,loss=60%"


def on_model_and_in_lab(folder: Path, network: str) -> list[dict[str, Any]]:
    asked = ["saved.safetensors", "--seed", SEED, "--episodes", EPISODES, "--network", network, "--mode"]
    return [netlab_run(folder, *asked, "model"), netlab_run(folder, *asked, "lab", "--on", "relay")]


def without_force(seed: int) -> float:
    """Return what CartPole makes of nothing done at all."""
    task = CartPole()
    task.reset(seed)
    total, over = 0.0, False
    while not over:
        step = task.step(None)
        total += step.reward
        over = step.terminated or step.truncated
    return total


def test_a_policy_falls_where_its_network_is_too_slow(tmp_path: Path, tun: None) -> None:
    """No action is ever in time, so what is played is known to the tick; half of that delay would be mastered."""
    write_linear(tmp_path / "saved.safetensors")
    fallen = [without_force(episode_seed(SEED, episode)) for episode in range(EPISODES)]
    assert max(fallen) < 100.0
    for document in on_model_and_in_lab(tmp_path, BEYOND_REACH):
        assert returns(document) == fallen, document["mode"]
        assert document["run"]["counters"]["ticks"] == sum(fallen)
    away = netlab_run(tmp_path, "saved.safetensors", "--seed", SEED, "--mode", "local")
    assert returns(away) == [500.0], "it is the network that it falls by"


def test_a_policy_falls_where_its_network_loses_too_much(tmp_path: Path, tun: None) -> None:
    """Of a hundred decisions 16 arrive in time; were one way spared, 40 would."""
    write_linear(tmp_path / "saved.safetensors")
    for document in on_model_and_in_lab(tmp_path, LOSSY):
        assert max(returns(document)) < 250.0, document["mode"]
        for way in document["delivered"]:
            assert 0.4 < way["lost"] / way["sent"] < 0.8, (document["mode"], way)
