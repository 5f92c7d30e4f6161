"""``netlab run --mode remote`` against a real ``netlab agent serve`` on 127.0.0.1."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from saved_linear import NETLAB, QUICK_HZ, netlab_run, read_lines, returns, write_linear
from service_pair import PATIENCE_S, wait_for

from netlab.cli.main import main
from netlab.cli.run import run as run_command
from netlab.envs.config import EnvConfig
from netlab.wire.key import Key


@contextlib.contextmanager
def serving(folder: Path, *words: str) -> Iterator[str]:
    """Serve a policy; yield its address."""
    ready = folder / "ready"
    command = [*NETLAB, "agent", "serve", "--bind", "127.0.0.1:0", "--ready-file", str(ready), *words]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as agent:
        try:
            yield wait_for(ready)
        finally:
            agent.terminate()
            agent.wait(PATIENCE_S)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "saved.safetensors"
    write_linear(path)
    return path


def test_a_served_file_is_asked_for_what_its_card_says(tmp_path: Path, saved: Path) -> None:
    with serving(tmp_path, "--policy", str(saved)) as address:
        document = netlab_run(tmp_path, saved.name, "--mode", "remote", "--agent", address, "--ticks", "ticks")
    run = document["run"]
    assert (document["mode"], document["engine"], document["clock"]) == ("remote", "network", "real")
    assert (run["task"], run["rate_hz"], run["actuator"], run["horizon_ticks"]) == (
        "CartPole-v1",
        QUICK_HZ,
        "scheduled",
        10,
    )
    assert run["policy"] == document["policy"] == document["card"]["name"] == "saved-linear"
    assert returns(document) == [500.0]
    assert run["connections"] == 1 and run["spec"] is None
    assert len(read_lines(tmp_path / "ticks")) == run["counters"]["ticks"] == 500
    assert (document["asked"], document["delivered"], document["network"]) == ([], [], "")


def test_another_file_of_the_same_name_is_said_to_be_another_policy(tmp_path: Path, saved: Path) -> None:
    other = tmp_path / "other.safetensors"
    write_linear(other, gains=(2.0, 5.0, 50.0, 15.0))
    words = ["--mode", "remote", "--actuator", "newest", "--agent"]
    with serving(tmp_path, "--policy", str(other)) as address:
        same, another = (CliRunner().invoke(main, ["run", str(path), *words, address]) for path in (other, saved))
    assert same.exit_code == another.exit_code == 0, same.stderr + another.stderr
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in (other, saved)]
    assert "the agent serves" not in same.stderr
    expected = "the agent serves 'saved-linear' ({}), and not 'saved-linear' ({})".format(*hashes)
    assert expected in " ".join(another.stderr.split())


def test_a_key_opens_the_agent_and_another_policy_there_is_said(tmp_path: Path, saved: Path) -> None:
    key = tmp_path / "shared.key"
    Key.new().write(key)
    asked = [str(saved), "--mode", "remote", "--actuator", "newest"]
    with serving(tmp_path, "--policy", "linear", "--key-file", str(key)) as address:
        done = CliRunner().invoke(main, ["run", *asked, "--agent", address, "--key", str(key)])
    assert done.exit_code == 0, done.stderr
    assert "the agent serves 'linear', and not 'saved-linear'" in done.stderr
    assert "remote: CartPole-v1, policy saved-linear, newest, a real network\n" in done.stdout


def test_where_nobody_serves_the_hint_has_this_commands_options(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netlab.modes.remote.EnvConfig", functools.partial(EnvConfig, wait_s=0.3))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{deaf.getsockname()[1]}"
        done = CliRunner().invoke(main, ["run", str(saved), "--mode", "remote", "--agent", address])
    assert done.exit_code == 1
    (hint,) = [line for line in done.stderr.splitlines() if line.startswith("hint: ")]
    assert "netlab agent serve" in hint
    known = {word for one in run_command.params for word in one.opts}
    assert set(re.findall(r"--[a-z-]+", hint)) <= known
