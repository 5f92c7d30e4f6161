"""Pump, streams and signals on plain pipes: no guest is needed to see that no byte is lost."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import netlab
from netlab.namespaces.guest.inside import mount_plan
from netlab.namespaces.guest.job import NULL, PIPE, SAME_AS_STDOUT
from netlab.namespaces.guest.pump import HELD_BYTES, Pump
from netlab.namespaces.guest.signal_catch import caught_signals
from netlab.namespaces.guest.streams import describe_streams, window_size

Pipe = tuple[int, int]


@pytest.fixture
def pipes() -> Iterator[tuple[Pipe, Pipe]]:
    made = (os.pipe2(os.O_NONBLOCK), os.pipe2(os.O_NONBLOCK))
    yield made
    for fd in (*made[0], *made[1]):
        try:
            os.close(fd)
        except OSError:  # closed by the test
            continue


def test_every_byte_passes_in_order(pipes: tuple[Pipe, Pipe]) -> None:
    (source, feed), (drain, sink) = pipes
    pump = Pump(source, sink, 4096)
    data = random.Random(3).randbytes(500_000)
    sent, got = 0, b""
    while len(got) < len(data):
        if sent < len(data):
            with contextlib.suppress(BlockingIOError):
                sent += os.write(feed, data[sent : sent + 30_000])
        if pump.wants_input:
            pump.fill()
        if pump.wants_room:
            assert pump.drain()
        assert len(pump.pending) < HELD_BYTES * 2
        with contextlib.suppress(BlockingIOError):
            got += os.read(drain, 10_000)
    assert got == data
    os.close(feed)
    pump.fill()
    assert pump.finished


def test_a_full_sink_holds_the_source_back(pipes: tuple[Pipe, Pipe]) -> None:
    (source, feed), (_, sink) = pipes
    pump = Pump(source, sink)
    for _ in range(20):
        with contextlib.suppress(BlockingIOError):
            os.write(feed, bytes(60_000))
        if pump.wants_input:
            pump.fill()
        pump.drain()
    assert not pump.wants_input
    assert pump.wants_room


def test_a_sink_without_a_reader_is_told_once_and_then_swallows(pipes: tuple[Pipe, Pipe]) -> None:
    (source, feed), (drain, sink) = pipes
    pump = Pump(source, sink)
    os.close(drain)
    os.write(feed, b"abc")
    pump.fill()
    assert not pump.drain()
    assert pump.sink is None
    os.write(feed, b"def")
    assert pump.fill() == 3
    assert not pump.pending
    assert pump.drain()


def test_streams_are_told_apart(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    with (tmp_path / "a").open("wb") as a, (tmp_path / "b").open("wb") as b, Path(os.devnull).open("rb") as null:
        assert describe_streams(read_end, a.fileno(), b.fileno()) == (PIPE, PIPE, PIPE)
        assert describe_streams(null.fileno(), write_end, write_end) == (NULL, PIPE, SAME_AS_STDOUT)
        assert describe_streams(None, a.fileno(), write_end) == (NULL, PIPE, PIPE)
        assert window_size((a.fileno(), None)) == (0, 0)
    os.close(read_end)
    os.close(write_end)
    assert describe_streams(read_end, 1, 2).stdin == NULL  # closed


def test_signals_become_bytes_and_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGWINCH)
    with caught_signals((signal.SIGWINCH,)) as fd:
        signal.raise_signal(signal.SIGWINCH)
        assert os.read(fd, 10) == bytes((signal.SIGWINCH,))
    assert signal.getsignal(signal.SIGWINCH) is before


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with caught_signals((signal.SIGHUP,)) as fd:
            signal.raise_signal(signal.SIGHUP)
            with pytest.raises(BlockingIOError):
                os.read(fd, 1)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_hosts_run_folder_stays_where_the_command_works_in_it() -> None:
    assert "/run" in [mount.target for mount in mount_plan("/home/me")]
    assert "/run" in [mount.target for mount in mount_plan("/runs")]
    assert "/run" not in [mount.target for mount in mount_plan("/run/user/1/x")]


def test_the_guests_programs_need_no_packages() -> None:
    """Pid 1 and the supervisor run with the standard library alone, also where msgspec is missing."""
    root = Path(netlab.__file__).parents[1]
    names = ("pid1", "supervisor", "command_streams", "confinement")
    program = f"import sys; sys.path.append({str(root)!r})\n" + "\n".join(
        f"import netlab.namespaces.guest.{name}" for name in names
    )
    program += (
        "\nassert not any('site-packages' in (getattr(m, '__file__', '') or '') for m in sys.modules.values())"
    )
    subprocess.run([sys.executable, "-ISB", "-c", program], check=True)
