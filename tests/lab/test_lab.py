from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from netlab.errors import KernelError, LabError, ProfileError, SpecError
from netlab.lab import Lab
from netlab.lab_spec import LabSpec
from netlab.namespaces.host import Host

EXAMPLES = Path(__file__).parents[2] / "examples"


def _exchange(one: Host, other: Host) -> bytes:
    """Send one datagram over the first link of two hosts and return what arrived."""
    with other.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as receiver:
        receiver.settimeout(30)
        receiver.bind((one.address_of(other.name), 7))
        with one.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender:
            sender.sendto(one.name.encode(), (one.address_of(other.name), 7))
        return receiver.recv(100)


def test_two_labs_at_once_do_not_meet() -> None:
    with Lab() as first, Lab() as second:
        hosts = []
        for lab in (first, second):
            edge, agent = lab.add_host("edge"), lab.add_host("agent")
            lab.add_link(edge, agent)
            hosts.append((edge, agent))
        assert hosts[0][1].address == hosts[1][1].address
        with hosts[0][1].call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as deaf:
            deaf.bind((hosts[0][1].address, 7))
            deaf.settimeout(0.1)
            assert _exchange(*hosts[1]) == b"edge"
            with pytest.raises(TimeoutError):
                deaf.recv(100)
        one, two = (lab.hosts["edge"].start(["sleep", "100"]) for lab in (first, second))
        first.close()
        assert one.poll() is not None
        assert two.poll() is None


def test_labs_made_from_threads_at_once() -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(3):
                with Lab() as lab:
                    edge, agent = lab.add_host("edge"), lab.add_host("agent")
                    lab.add_link(edge, agent)
                    assert _exchange(edge, agent) == b"edge"
                    assert agent.start(["true"]).wait(30) == 0
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_star_of_hosts() -> None:
    with Lab() as lab:
        centre = lab.add_host("centre")
        edges = [lab.add_host(f"edge{number}") for number in range(8)]
        for edge in edges:
            lab.add_link(edge, centre)
        for edge in edges:
            assert _exchange(edge, centre) == edge.name.encode()
        assert [one.interface for one in centre.attachments] == [f"eth{number}" for number in range(8)]
        assert centre.environment()["NETLAB_PEER_EDGE7"] == "10.77.0.29"


def test_nothing_is_held_after_fifty_labs() -> None:
    def held() -> tuple[int, int, list[str]]:
        children = [path.read_text() for path in Path("/proc/self/task").glob("*/children")]
        return len(os.listdir("/proc/self/fd")), threading.active_count(), "".join(children).split()

    with Lab():
        pass  # what is made once is made by now
    before = held()
    for number in range(50):
        with Lab() as lab:
            edge, agent = lab.add_host("edge"), lab.add_host("agent")
            lab.add_link(edge, agent)
            if number % 10 == 0:
                agent.start(["sleep", "100"])
    assert held() == before


def test_name_taken() -> None:
    with Lab("mine"):
        with pytest.raises(SpecError, match=rf"'mine' is open already in process {os.getpid()}") as caught:
            Lab("mine").open()
        assert caught.value.key == "name"
        script = "from netlab.lab import Lab; Lab('mine').open()"
        other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert f"'mine' is open already in process {os.getpid()}" in other.stderr
    with Lab("mine"):
        pass


def test_only_a_name_in_use_is_open_already(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: socket.socket, address: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    class Refusing(socket.socket):
        bind = refuse

    monkeypatch.setattr("netlab.lab_name.socket.socket", Refusing)
    with pytest.raises(KernelError, match="cannot take the lab's name 'mine': Operation not permitted"):
        Lab("mine").open()


def test_arguments_beat_the_spec(tmp_path: Path) -> None:
    spec = LabSpec(name="from-spec", seed=7)
    assert (Lab(spec=spec).name, Lab(spec=spec).seed) == ("from-spec", 7)
    lab = Lab("mine", seed=0, spec=spec)
    assert (lab.name, lab.seed) == ("mine", 0)
    path = tmp_path / "lab.toml"
    path.write_text('name = "from-file"\nseed = 7\n')
    lab = Lab.from_toml(path, name="mine", seed=8)
    assert (lab.name, lab.seed) == ("mine", 8)
    lab = Lab.from_toml(path)
    assert (lab.name, lab.seed) == ("from-file", 7)
    assert Lab().seed == 0


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "7", True])
def test_a_bad_seed_is_refused_at_once(seed: object) -> None:
    with pytest.raises(SpecError, match=r"must be a whole number from 0 to 2\^64 - 1") as caught:
        Lab(seed=seed)  # type: ignore[arg-type]
    assert caught.value.key == "seed"


def test_bad_names_and_links_make_nothing() -> None:
    with pytest.raises(SpecError, match="'a b' must be 1 to 64 letters"):
        Lab("a b")
    with Lab("strict") as lab:
        edge = lab.add_host("edge")
        before = sorted(os.listdir("/proc/self/fd"))
        for name in ("", "-x", "x" * 65, "a/b", "é"):
            with pytest.raises(SpecError, match="must be 1 to 64 letters"):
                lab.add_host(name)
        with pytest.raises(SpecError, match="'edge' is a host of this lab already"):
            lab.add_host("edge")
        with pytest.raises(SpecError, match="'nobody' is no host of lab strict") as caught:
            lab.add_link(edge, "nobody")
        assert caught.value.hint == "its hosts: edge"
        with pytest.raises(SpecError, match="'edge' twice: a link joins two hosts"):
            lab.add_link(edge, "edge")
        with pytest.raises(LabError, match="host edge has no address"):
            _ = edge.address
        lab.add_host("agent")
        after_host = sorted(os.listdir("/proc/self/fd"))
        with pytest.raises(ProfileError, match="unknown preset"):
            lab.add_link(edge, "agent", "wifi-degarded")
        with pytest.raises(ProfileError, match="int is no impairment"):
            lab.add_link(edge, "agent", 3)  # type: ignore[arg-type]
        assert sorted(os.listdir("/proc/self/fd")) == after_host
        assert len(after_host) == len(before) + 2  # a host costs its namespace and its socket
        lab.add_link(edge, "agent")
        with pytest.raises(SpecError, match="'edge-agent' is a link of this lab already"):
            lab.add_link(edge, "agent")
        with Lab() as other, pytest.raises(SpecError, match="'edge' is no host of lab"):
            other.add_host("edge")
            other.add_link(edge, "edge")
    with pytest.raises(LabError, match="lab strict is not open"):
        lab.add_host("late")


def test_the_first_error_stays_the_first() -> None:
    with pytest.raises(ZeroDivisionError) as caught, Lab("noisy") as lab:
        lab.add_host("edge")
        lab._closers.push("fail on purpose", _fail)
        raise ZeroDivisionError("the first")
    assert caught.value.__notes__ == ["and then, closing lab noisy: on purpose"]


def test_failures_while_closing_are_all_told() -> None:
    lab = Lab("noisy").open()
    lab.add_host("edge")
    lab._closers.push("fail on purpose", _fail)
    lab._closers.push("fail on purpose", _fail)
    with pytest.raises(ExceptionGroup, match="closing lab noisy") as caught:
        lab.close()
    assert len(caught.value.exceptions) == 2
    lab.close()


def _fail() -> None:
    raise LabError("on purpose")


def test_an_interrupt_while_closing_stops_nothing() -> None:
    lab = Lab().open()
    process = lab.add_host("edge").start(["sleep", "100"])

    def interrupt() -> None:
        raise KeyboardInterrupt

    lab._closers.push("be interrupted", interrupt)
    with pytest.raises(KeyboardInterrupt):
        lab.close()
    assert process.poll() is not None


def test_check_finds_the_dead_service() -> None:
    with Lab() as lab:
        lab.add_host("edge").start(["sleep", "100"])
        lab.check()
        lab.hosts["edge"].start(["sh", "-c", "exit 5"]).wait(30)
        with pytest.raises(LabError, match=r"edge: sh .* failed \(exit code 5\)"):
            lab.check()


SPEC = """
name = "from-file"
seed = 7
[hosts.edge]
command = ["sh", "-c", "pwd; echo $NETLAB_PEER $COLOUR; exec sleep 100"]
env = { COLOUR = "red" }
cwd = "sub"
output = "edge.log"
[hosts.agent]
[[link]]
ends = ["edge", "agent"]
mtu = 1400
"""


def test_from_toml(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "lab.toml").write_text(SPEC)
    with Lab.from_toml(tmp_path / "lab.toml") as lab:
        assert (lab.name, lab.seed, list(lab.hosts), list(lab.links)) == (
            "from-file", 7, ["edge", "agent"], ["edge-agent"],
        )  # fmt: skip
        assert _exchange(lab.hosts["edge"], lab.hosts["agent"]) == b"edge"
        (process,) = lab.start_commands()
        deadline_s = time.monotonic() + 30
        while (tmp_path / "edge.log").read_text().count("\n") < 2 and time.monotonic() < deadline_s:
            time.sleep(0.01)
        assert (tmp_path / "edge.log").read_text() == f"{tmp_path}/sub\n10.77.0.2 red\n"
        lab.check()
    assert process.poll() is not None


def test_a_bad_profile_in_a_spec_makes_nothing(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(SPEC + 'profile = "wifi-degarded"\n')
    with pytest.raises(SpecError, match=r"lab\.toml: link\[0\]\.profile: .*did you mean 'wifi-degraded'"):
        Lab.from_toml(tmp_path / "lab.toml")


def test_a_folder_that_is_not_there_makes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(SPEC)
    with pytest.raises(SpecError, match=r"lab\.toml: hosts\.edge\.cwd: 'sub': there is no folder") as caught:
        Lab.from_toml(path)
    assert (caught.value.path, caught.value.key) == (str(path), "hosts.edge.cwd")
    path.write_text('[hosts.edge]\ncommand = ["true"]\noutput = "nope/x"\n')
    with pytest.raises(SpecError, match=r"lab\.toml: hosts\.edge\.output: 'nope/x': there is no folder"):
        Lab.from_toml(path)


def test_neighbours_that_programs_could_not_tell_apart() -> None:
    with Lab() as lab:
        for name in ("centre", "x-y", "x_y"):
            lab.add_host(name)
        lab.add_link("centre", "x-y")
        lab.add_link("x-y", "x_y")
        for ends in (("centre", "x_y"), ("x_y", "centre")):
            with pytest.raises(SpecError, match="are both NETLAB_PEER_X_Y to its programs"):
                lab.add_link(*ends)
        assert list(lab.links) == ["centre-x-y", "x-y-x_y"]
        lab.add_link("centre", "x-y", name="second")


def test_what_is_of_the_wrong_type() -> None:
    with pytest.raises(SpecError, match="name: 5 must be 1 to 64 letters"):
        Lab(5)  # type: ignore[arg-type]
    with Lab() as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        for name in (5, None, b"x", ["x"]):
            with pytest.raises(SpecError, match="must be 1 to 64 letters"):
                lab.add_host(name)  # type: ignore[arg-type]
        for end in (None, 5, b"agent", ["agent"]):
            with pytest.raises(SpecError, match=r"link\.ends: .* is no host"):
                lab.add_link(edge, end)  # type: ignore[arg-type]
        for mtu in ("1500", 1500.0, None, True):
            with pytest.raises(SpecError, match=r"link\.mtu: .* must be a whole number, 68 \.\. 65535"):
                lab.add_link(edge, agent, mtu=mtu)  # type: ignore[arg-type]
        with pytest.raises(SpecError, match=r"link\.name: 5 must be"):
            lab.add_link(edge, agent, name=5)  # type: ignore[arg-type]
        assert (list(lab.hosts), list(lab.links)) == (["edge", "agent"], [])


def test_a_failing_command_in_a_spec_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text('[hosts.edge]\ncommand = ["nosuch-program"]\n')
    with (
        pytest.raises(KernelError, match="cannot start 'nosuch-program' in host edge"),
        Lab.from_toml(tmp_path / "lab.toml") as lab,
    ):
        lab.start_commands()


def test_without_rights_it_says_what_to_do() -> None:
    script = """
import os
from netlab.errors import PrivilegeError
from netlab.lab import Lab
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    with Lab() as lab:
        lab.add_host("edge")
except PrivilegeError as error:
    print(error, "|", error.hint)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("cannot make the network namespace of edge: Operation not permitted")
    assert "| run as root (sudo)" in done.stdout


def test_as_root_of_a_user_namespace() -> None:
    script = """
from netlab.lab import Lab
with Lab() as lab:
    edge, agent = lab.add_host("edge"), lab.add_host("agent")
    lab.add_link(edge, agent)
    process = edge.start(["sh", "-c", "ls /sys/class/net; ls -d /proc/[0-9]* | wc -l"])
    print(process.wait(30), process.last_lines().split())
"""
    command = ["unshare", "--user", "--map-root-user", sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unshare failed" in done.stderr:
        pytest.skip("user namespaces are not allowed here")
    status, rest = done.stdout.split(" ", 1)
    assert (status, done.stderr) == ("0", "")
    assert rest.startswith("['eth0', 'lo', ")


def test_inside_another_pid_namespace() -> None:
    script = (
        "from netlab.lab import Lab\nwith Lab() as lab:\n    print(lab.add_host('a').start(['true']).wait(30))"
    )
    for options in (["--mount-proc"], []):
        command = ["unshare", "--pid", "--fork", *options, sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("0\n", "")
