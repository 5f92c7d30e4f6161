"""``netlab exec`` as a person types it, on this kernel's netem."""

from __future__ import annotations

import re
import subprocess
import sys

FETCH = """
import os, urllib.request
print(len(urllib.request.urlopen(f"http://{os.environ['NETLAB_PEER']}:8000/").read()) > 0)
"""


def netlab_exec(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "netlab", "exec", "--on", "host", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_peer_runs_at_the_far_end() -> None:
    done = netlab_exec(
        "--profile", "delay=2ms", "--peer", f"{sys.executable} -m http.server 8000", "--",
        sys.executable, "-c", FETCH,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_mtu_reaches_the_link() -> None:
    done = netlab_exec("--profile", "delay=1ms", "--mtu", "900", "--", "cat", "/sys/class/net/eth0/mtu")
    assert (done.returncode, done.stdout) == (0, "900\n"), done.stderr


def test_the_seed_decides_which_packets_are_lost() -> None:
    def answered(seed: str) -> list[str]:
        # 24 packets, each lost one way or the other with probability 3/4: two seeds agree once in 10^4.
        done = netlab_exec(
            "--profile", "loss=50%", "--seed", seed, "--", "sh", "-c", "ping -c 24 -i 0.02 -W 1 $NETLAB_PEER"
        )  # fmt: skip
        return re.findall(r"icmp_seq=(\d+)", done.stdout)

    first = answered("7")
    assert first == answered("7")
    assert first != answered("8")


def test_what_the_profile_warns_of_is_said_and_output_is_the_commands_alone() -> None:
    done = netlab_exec("--profile", "delay=10ms,jitter=8ms,law=normal", "--", "echo", "mine")
    assert done.stdout == "mine\n"
    assert "clipped" in done.stderr
