"""``netlab lab run`` on this kernel: commands of hosts, and an episode through a relay."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from netlab.episode.report import compare_reports, read_report
from netlab.traces.packets.packet_log import PacketLog

EXAMPLE = Path(__file__).parents[2] / "examples" / "cartpole.toml"


def netlab(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "netlab", "lab", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=folder)


def write(folder: Path, server: str, client: str) -> Path:
    path = folder / "lab.toml"
    path.write_text(
        f'name = "lab-{os.getpid()}"\n[hosts.server]\ncommand = ["sh", "-c", """{server}"""]\n'
        f'[hosts.client]\ncommand = ["sh", "-c", """{client}"""]\n[[link]]\nends = ["client", "server"]\n'
    )
    return path


def test_commands_run_until_all_have_ended(tmp_path: Path) -> None:
    spec = write(tmp_path, "echo served", "echo asked $NETLAB_PEER")
    done = netlab(tmp_path, "run", spec, "--on", "host", "--packets", "packets.txt")
    assert (done.returncode, done.stdout) == (0, "server: served\nclient: asked 10.77.0.2\n")
    assert PacketLog.decode((tmp_path / "packets.txt").read_bytes()).header["engine"] == "host"


@pytest.mark.parametrize(("script", "status"), [("exit 7", 7), ("kill -9 $$", 137)])
def test_the_first_that_fails_gives_the_status_once_the_others_have_ended(
    tmp_path: Path, script: str, status: int
) -> None:
    spec = write(tmp_path, "sleep 0.7; echo served; exit 3", f"echo no; {script}")
    done = netlab(tmp_path, "run", spec, "--on", "host")
    assert (done.returncode, done.stdout) == (status, "server: served\nclient: no\n")
    how = "failed with status 7" if status == 7 else "was killed by signal 9"
    assert f"netlab: the command of client {how}; waiting for server\n" in done.stderr
    assert "netlab: the command of server failed with status 3\n" in done.stderr


def test_an_episode_through_a_relay_meets_the_draws_of_the_model(tmp_path: Path) -> None:
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("there is no /dev/net/tun")
    for corner in ("model", "relay"):
        done = netlab(tmp_path, "run", EXAMPLE, "--on", corner, "--output", f"{corner}.json")
        assert done.returncode == 0, done.stderr
    model, relay = (read_report(tmp_path / f"{corner}.json") for corner in ("model", "relay"))
    assert (relay.engine, relay.clock) == ("relay", "real")
    assert "early" not in relay.log
    for one in compare_reports(model, relay).packets:
        assert one.compared >= 50 and one.fates == 0, one


def test_an_episode_that_begins_without_a_quiet_moment_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from netlab.episode import lab
    from netlab.episode.run import EpisodePlan
    from netlab.lab_spec import read_lab_spec
    from netlab.namespaces.kernel_wire import KernelWiring

    monkeypatch.setattr(lab, "wait_for_quiet", lambda counts: False)
    spec = tmp_path / "clean.toml"
    spec.write_text(
        '[hosts.a]\n[hosts.b]\n[[link]]\nends = ["a", "b"]\n[episode]\nedge = "a"\nagent = "b"\nrate_hz = 500.0\n'
    )
    told: list[str] = []
    played = lab.play_in_lab(EpisodePlan.of(read_lab_spec(spec), str(spec)), KernelWiring(), told.append)
    assert "without a quiet moment" in played.packets.header["restless"]
    assert any("without a quiet moment" in text and "corners may not agree" in text for text in told)
