"""What is told to the supervisor, to the kernel and to pid 1."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import GuestError
from netlab.namespaces.guest.job import PIPE, TERMINAL, Job
from netlab.namespaces.guest.kernel_plan import EventReader, KernelPlan, encode_event, kernel_arguments

TEXT = st.binary(max_size=30).map(lambda data: data.replace(b"\0", b"").decode("utf-8", "surrogateescape"))


def arguments(**changes: object) -> tuple[str, ...]:
    given_: dict[str, object] = {
        "binary": "/cache/linux",
        "memory_bytes": 1 << 30,
        "job_folder": "/jobs/job",
        "init": ("/usr/bin/python3", "-BsS", "/lib/netlab/entry.py", "init", "/proc/self/fd/7"),
    }
    return kernel_arguments(**{**given_, **changes})  # type: ignore[arg-type]


@given(st.lists(TEXT, min_size=1), st.dictionaries(TEXT, TEXT), TEXT)
def test_a_job_survives_its_file(argv: list[str], env: dict[str, str], cwd: str) -> None:
    job = Job(argv=tuple(argv), env=env, cwd=cwd, umask=0o27, rlimits=((7, 1024, -1),), ignored_signals=(1,),
              stdin=TERMINAL, stdout=PIPE, rows=3, columns=4, modules=("/a.ko",))  # fmt: skip
    text = job.to_json()
    assert text.isascii()
    assert Job.from_json(text) == job


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"argv": 1}', "null"])
def test_what_is_no_job_is_refused(text: str) -> None:
    with pytest.raises(GuestError, match="not a job"):
        Job.from_json(text)


def test_a_plan_survives_the_way_to_the_supervisor() -> None:
    plan = KernelPlan(
        argv=("/cache/linux", "rw"), env={"TMPDIR": "/dev/shm"}, folder="/cache", job_folder="/jobs/job",
        job_files={"job.json": "{}", "KEY": "\xff\x00"}, descriptors=(5, 6), log_fd=5, cpus=(1, 0), confine=True,
        writable=("/tmp",), memory_bytes=7,
    )  # fmt: skip
    assert "job.json" not in repr(plan)  # nor what it holds: keys
    data = plan.encode()
    assert int.from_bytes(data[:4], "little") == len(data) - 4
    assert KernelPlan.from_json(data[4:].decode("ascii")) == plan


def test_events_survive_any_cut() -> None:
    data = encode_event("started", cpu=1) + encode_event("ended", status=-9)
    for cut in range(len(data)):
        reader = EventReader()
        assert reader.feed(data[:cut]) + reader.feed(data[cut:]) == [
            {"event": "started", "cpu": 1},
            {"event": "ended", "status": -9},
        ]


def test_the_consoles_and_the_memory_stand_on_the_command_line() -> None:
    line = arguments()
    assert line[0] == "/cache/linux"
    for expected in (
        "mem=1048576K", "con0=null,fd:3", "con1=null,fd:4", "con2=null,fd:5", "con3=fd:6,fd:6", "con=null",
        "rootfstype=hostfs", "seccomp=on", "uml_dir=/jobs/job/", "init=/usr/bin/python3",
    ):  # fmt: skip
        assert expected in line
    assert not any(argument.startswith("time-travel") for argument in line)  # real time alone in this version


def test_what_follows_the_dashes_goes_to_pid_1() -> None:
    line = arguments()
    assert line[line.index("--") + 1 :] == ("-BsS", "/lib/netlab/entry.py", "init", "/proc/self/fd/7")


def test_paths_with_blanks_are_quoted_as_the_kernel_reads_them() -> None:
    line = arguments(init=("/my python/python3", "/my code/entry.py"))
    # The kernel takes double quotes away as a shell does.
    assert "init=/my python/python3" in shlex.split(" ".join(line))
    assert shlex.split(" ".join(line))[-1] == "/my code/entry.py"


@pytest.mark.parametrize("folder", ["/tmp/my jobs", "/tmp/a\tb", '/tmp/"'])
def test_a_job_folder_with_blanks_is_refused(folder: str) -> None:
    with pytest.raises(GuestError, match="white space"):
        arguments(job_folder=folder)


def test_a_command_line_that_the_kernel_would_cut_is_refused() -> None:
    with pytest.raises(GuestError, match="4000 at most"):
        arguments(init=("/usr/bin/python3", "/x" * 2000))
