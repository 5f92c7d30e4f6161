"""One policy file in four places: ``netlab run --mode local | model | lab | remote``."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import gymnasium
import pytest
from saved_linear import LINK, NETLAB, netlab_run, returns, write_linear

from netlab.agents.policy import make_policy
from netlab.control.question import Question
from netlab.envs.cartpole import CartPole
from netlab.envs.episode import episode_seed
from netlab.modes.report import RunReport

SEED = 11
PATIENCE_S = 30.0


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


def test_one_file_plays_in_all_four(tmp_path: Path) -> None:
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("there is no /dev/net/tun")
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
