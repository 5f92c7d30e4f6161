"""Labs that stay: up, list, show, down, gc, and everything that can go wrong with their holder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from staying_labs import StayingLabs, namespaces_held, namespaces_of, state_of, wait_until

from netlab.namespaces.cgroup_folder import CgroupFolder
from netlab.namespaces.syscalls import mount, umount


@pytest.fixture
def labs(tmp_path: Path) -> Iterator[StayingLabs]:
    labs = StayingLabs(tmp_path)
    yield labs
    labs.close()


def test_a_lab_stays_and_goes(labs: StayingLabs) -> None:
    interfaces = socket.if_nameindex()
    record = labs.up()
    (row,) = labs.list()
    assert (row["name"], row["state"], row["engine"], row["holder_pid"]) == (
        "two", "up", "host", record["holder"]["pid"],
    )  # fmt: skip
    namespaces = namespaces_of(record["holder"]["pid"])
    assert len(namespaces) == 3  # two hosts and the wire
    assert namespaces_held(namespaces) == namespaces
    assert oct(labs.runtime.stat().st_mode)[-3:] == "700"
    assert oct((labs.runtime / record["id"] / "socket").stat().st_mode)[-3:] == "600"
    assert os.getsid(record["holder"]["pid"]) == record["holder"]["pid"]
    streams = {os.readlink(f"/proc/{record['holder']['pid']}/fd/{fd}") for fd in (0, 1, 2)}
    assert streams == {"/dev/null"}
    done = labs.run("down", "two")
    assert (done.returncode, done.stderr) == (0, "netlab: lab two is down\n")
    # At once, not in a while: down has waited.
    assert state_of(record["holder"]["pid"]) in ("", "Z")
    assert labs.processes() == []
    assert labs.rests() == []
    assert namespaces_held(namespaces) == set()
    assert socket.if_nameindex() == interfaces
    assert labs.list() == []


def test_show_reads_back(labs: StayingLabs) -> None:
    labs.up(labs.spec, "--name", "field", "--seed", 7)
    shown = labs.show("field")
    assert (shown["name"], shown["seed"], shown["engine"], shown["playing"]) == ("field", 7, "host", False)
    a, b = shown["hosts"]
    assert a["interfaces"] == [
        {"name": "eth0", "address": "10.77.0.1", "link": "radio", "peer": "b", "peer_address": "10.77.0.2"}
    ]
    (process,) = a["processes"]
    assert (process["argv"], process["status"], process["from_spec"]) == (["sleep", "1000"], None, True)
    assert b["processes"] == []
    assert [(link["name"], link["ends"], link["forward"]) for link in shown["links"]] == [
        ("radio", ["a", "b"], None)
    ]
    os.kill(process["pid"], signal.SIGKILL)
    wait_until(lambda: labs.show("field")["hosts"][0]["processes"][0]["status"] == -signal.SIGKILL)
    assert "was killed by SIGKILL" in labs.show("field")["problem"]
    text = labs.run("show", "field").stdout
    assert "ended with -9: sleep 1000" in text
    assert "problem:" in text


@pytest.fixture
def control_groups(tmp_path: Path) -> Iterator[None]:
    """Mount them: the /sys of these tests has none."""
    folder = tmp_path / "cgroup"
    folder.mkdir()
    try:
        mount("none", str(folder), "cgroup2")
    except OSError as error:
        pytest.skip(f"no control groups of version 2: {error}")
    yield
    umount(str(folder))


def test_without_control_groups_it_goes_on_and_says_so(labs: StayingLabs) -> None:
    record = labs.up()
    shown = labs.show("two")
    assert shown["use"] is None
    assert "cgroup" in shown["no_use"] or "control groups" in shown["no_use"]
    assert "are not known" in labs.run("show", "two").stdout
    assert not any(Path(path).exists() for path in record["cgroup"])


@pytest.mark.usefixtures("control_groups")
def test_its_processes_are_in_a_control_group_of_their_own(labs: StayingLabs) -> None:
    record = labs.up()
    shown = labs.show("two")
    assert shown["use"]["processes"] >= 3  # the holder, the keeper, sleep
    assert shown["use"]["cpu_s"] > 0
    paths = [Path(path) for path in record["cgroup"] if Path(path).exists()]
    assert paths
    assert all(path.name == f"netlab-{record['id']}" for path in paths)
    sleeper = shown["hosts"][0]["processes"][0]["pid"]
    assert f"netlab-{record['id']}" in Path(f"/proc/{sleeper}/cgroup").read_text()
    labs.kill_holder(record)
    assert any(path.exists() for path in paths), "the one thing that outlives kill -9"
    assert labs.run("gc").returncode == 0
    assert not any(path.exists() for path in paths)


def test_a_killed_holder_takes_the_lab_along_and_gc_tidies_up(labs: StayingLabs) -> None:
    record = labs.up()
    namespaces = namespaces_of(record["holder"]["pid"])
    labs.kill_holder(record)
    wait_until(lambda: labs.processes() == [])
    wait_until(lambda: namespaces_held(namespaces) == set())
    (row,) = labs.list()
    assert (row["name"], row["state"]) == ("two", "dead")
    done = labs.run("exec", "two", "a", "true")
    assert done.returncode == 1
    assert "lab two is dead" in done.stderr
    assert "netlab lab gc" in done.stderr
    done = labs.run("gc", "--json")
    assert json.loads(done.stdout) == {"removed": [record["id"]]}
    assert labs.rests() == []


def test_the_next_up_tidies_up_as_well(labs: StayingLabs) -> None:
    first = labs.up()
    labs.kill_holder(first)
    second = labs.up()
    assert labs.rests() == [second["id"]]
    assert not any(path.exists() for path in CgroupFolder.plan(first["id"]).paths)


def test_down_of_a_dead_lab_removes_what_it_left(labs: StayingLabs) -> None:
    labs.kill_holder(labs.up())
    assert "was dead; what it left is removed" in labs.run("down", "two").stderr
    assert labs.rests() == []


def test_a_name_is_taken(labs: StayingLabs) -> None:
    record = labs.up()
    done = labs.run("up", labs.spec)
    assert done.returncode == 2
    assert f"'two' is up already (holder: process {record['holder']['pid']})" in done.stderr
    assert "netlab lab down two" in done.stderr
    labs.up(labs.spec, "--name", "other")
    assert [row["name"] for row in labs.list()] == ["two", "other"]
    assert labs.run("down", "--all").returncode == 0
    assert labs.rests() == []


def test_of_several_up_at_once_one_wins(labs: StayingLabs) -> None:
    rivals = [labs.start("up", labs.spec) for _ in range(4)]
    outcomes = [(rival.communicate(timeout=60)[1], rival.returncode) for rival in rivals]
    assert sorted(code for _, code in outcomes) == [0, 2, 2, 2]
    assert all("already" in text for text, code in outcomes if code)
    (row,) = labs.list()
    assert row["state"] == "up"


def test_a_broken_spec_is_told_and_leaves_nothing(labs: StayingLabs) -> None:
    for text, words in (
        ("hosts = 3", "must be tables"),
        ("[hosts.a]\ncolour = 1", "unknown key"),
        ("[hosts.a]\ncommand = ['nosuch-program']", "cannot start 'nosuch-program'"),
    ):
        labs.spec.write_text(text)
        done = labs.run("up", labs.spec)
        assert done.returncode in (1, 2)
        assert words in done.stderr
        assert labs.rests() == []
    done = labs.run("up", labs.folder / "none.toml")
    assert done.returncode == 2
    assert "cannot be read" in done.stderr
    labs.bury()
    assert labs.processes() == []


def test_ctrl_c_while_it_comes_up_leaves_nothing(labs: StayingLabs) -> None:
    hosts = "".join(f"[hosts.h{number}]\n" for number in range(300))
    links = "".join(f'[[link]]\nends = ["h{number}", "h{number + 1}"]\n' for number in range(299))
    labs.spec.write_text(hosts + links)
    client = labs.start("up", labs.spec)
    wait_until(lambda: [name for name in labs.rests() if not name.startswith(".")])
    client.send_signal(signal.SIGINT)
    _, text = client.communicate(timeout=60)
    assert client.returncode == 130
    assert "interrupted" in text
    assert labs.processes() == []
    assert labs.rests() == []


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.chmod(0o755), "has mode 755"),
        (lambda path: os.chown(path, 4321, 4321), "belongs to user 4321"),
        (lambda path: (path.rmdir(), path.touch()), "is no folder"),
        (lambda path: (path.rmdir(), path.symlink_to("/tmp")), "is no folder"),
    ],
    ids=["mode", "owner", "file", "link"],
)
def test_a_runtime_folder_that_others_could_enter_is_refused(labs: StayingLabs, spoil: object, words: str) -> None:
    labs.runtime.mkdir(mode=0o700)
    assert callable(spoil)
    spoil(labs.runtime)
    for command in (("up", labs.spec), ("list",), ("gc",), ("show", "two")):
        done = labs.run(*command)
        assert done.returncode == 1
        assert words in done.stderr
        assert "hint: " in done.stderr
    labs.runtime.rmdir() if labs.runtime.is_dir() and not labs.runtime.is_symlink() else labs.runtime.unlink()


def test_a_full_disk(labs: StayingLabs) -> None:
    labs.runtime.mkdir(mode=0o700)
    mount("tmpfs", str(labs.runtime), "tmpfs", 0, "size=64k,mode=0700")
    try:
        with pytest.raises(OSError, match="No space"), (labs.runtime / "filler").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        done = labs.run("up", labs.spec)
        assert done.returncode == 1
        assert "No space left on device" in done.stderr
        assert "make room" in done.stderr
        assert labs.rests() == ["filler"]
        (labs.runtime / "filler").unlink()
        labs.up()
        assert labs.run("down", "two").returncode == 0
    finally:
        umount(str(labs.runtime))
    labs.bury()


def test_a_corrupt_record(labs: StayingLabs) -> None:
    record = labs.up()
    (labs.runtime / record["id"] / "lab.json").write_text('{"id": 3')
    (row,) = labs.list()
    assert row["state"] == "unreadable"
    assert "is no record of a lab" in row["problem"]
    done = labs.run("show", record["id"])
    assert done.returncode == 1
    assert f"netlab lab down {record['id']}" in done.stderr
    assert json.loads(labs.run("gc", "--json").stdout) == {"removed": []}, "it lives: its lock says so"
    assert labs.run("down", record["id"]).returncode == 0
    assert labs.processes() == []
    assert labs.rests() == []


def test_rests_that_are_no_labs(labs: StayingLabs) -> None:
    record = labs.up()
    dead = labs.runtime / "0a0b0c"
    shutil.copytree(labs.runtime / record["id"], dead, ignore=shutil.ignore_patterns("socket"))
    (dead / "lab.json").write_text("nothing of the kind")
    (dead / "socket").touch()  # where nobody listens
    (labs.runtime / "somebody's").mkdir()
    half_made = labs.runtime / ".new-111111"
    half_made.mkdir()
    assert [row["state"] for row in labs.list()] == ["up", "dead"]
    assert json.loads(labs.run("gc", "--json").stdout) == {"removed": ["0a0b0c"]}
    assert not half_made.exists()
    assert labs.rests() == sorted([record["id"], "somebody's"])
    assert labs.show("two")["id"] == record["id"]
    (labs.runtime / "somebody's").rmdir()


def test_a_recycled_number_is_not_taken_for_the_holder(labs: StayingLabs) -> None:
    record = labs.up()
    folder = labs.runtime / record["id"]
    bystander = subprocess.Popen(["sleep", "1000"])
    try:
        labs.kill_holder(record)
        record["holder"]["pid"] = bystander.pid  # as if its number had been given away
        (folder / "lab.json").write_text(json.dumps(record))
        (row,) = labs.list()
        assert row["state"] == "dead"
        assert labs.run("down", "two").returncode == 0
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_stopped_holder_does_not_keep_down_waiting(labs: StayingLabs) -> None:
    record = labs.up()
    os.kill(record["holder"]["pid"], signal.SIGSTOP)
    began_s = time.monotonic()
    done = labs.run("down", "two")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began_s < 60
    assert labs.processes() == []
    assert labs.rests() == []


def test_sigterm_ends_it_in_order(labs: StayingLabs) -> None:
    record = labs.up()
    os.kill(record["holder"]["pid"], signal.SIGTERM)
    wait_until(lambda: labs.processes() == [])
    assert labs.rests() == []
    assert not any(Path(path).exists() for path in record["cgroup"])


def test_a_guest_is_no_place_for_it(labs: StayingLabs) -> None:
    inside = {**labs.environment, "NETLAB_GUEST": "6.1.0 sha256:00"}
    for words, environment in (
        (("up", labs.spec, "--on", "guest"), labs.environment),
        (("list", "--virtual-time"), labs.environment),
        (("up", labs.spec), inside),
        (("list",), inside),
    ):
        done = labs.run(*words, env=environment)
        assert done.returncode == 2
        assert "a guest is for commands that end" in done.stderr
        assert "--on relay" in done.stderr
    assert labs.run("list", "--on", "host", env=inside).returncode == 0


def test_unknown_names(labs: StayingLabs) -> None:
    labs.up(labs.spec, "--name", "field")
    for words, said in (
        (("show", "feild"), "did you mean 'field'"),
        (("exec", "field", "aa", "true"), "did you mean 'a'"),
        (("set", "field", "raido", "wifi-normal"), "did you mean 'radio'"),
        (("set", "field", "radio", "wifi-normall"), "did you mean 'wifi-normal'"),
        (("set", "field", "radio"), "LINK=PROFILE"),
        (("set", "field", "radio=wifi-normal", "radio=wifi-normal"), "named twice"),
        (("down",), "--all"),
        (("down", "field", "--all"), "--all"),
    ):
        done = labs.run(*words)
        assert done.returncode == 2, (words, done.stderr)
        assert said in done.stderr
