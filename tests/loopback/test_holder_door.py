"""The door of a staying lab outlives what kills doors: no thread, no descriptor, a descriptor beyond 1023."""

from __future__ import annotations

import os
import resource
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from netlab.holder.door import Door
from netlab.holder.frames import Received, receive_frame, send_frame
from netlab.holder.messages import REPLIES, Refused, ShowLab

BEYOND_SELECT = 1100


def answer(link: socket.socket, received: Received) -> None:
    send_frame(link, Refused(message=type(received.message).__name__))


@pytest.fixture
def folder_fd(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


@pytest.fixture
def door(folder_fd: int) -> Iterator[Door]:
    door = Door(folder_fd, answer)
    door.open()
    yield door
    door.close()


@pytest.fixture
def many_descriptors() -> Iterator[int]:
    """Use up the first 1,100 descriptors of this process, as a lab of that many hosts does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * BEYOND_SELECT:
        pytest.skip(f"no more than {hard} descriptors here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * BEYOND_SELECT), hard))
    taken = [os.open(os.devnull, os.O_RDONLY)]
    while taken[-1] < BEYOND_SELECT:
        taken.append(os.dup(taken[0]))
    yield taken[-1]
    for fd in taken:
        os.close(fd)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connected(folder: Path) -> socket.socket:
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.connect(str(folder / "socket"))
    return link


def said_to(link: socket.socket) -> str:
    received = receive_frame(link, REPLIES, 1 << 20, first_within_s=20.0)
    assert received is not None
    assert isinstance(received.message, Refused)
    return received.message.message


def ask(folder: Path) -> str:
    with connected(folder) as link:
        send_frame(link, ShowLab())
        return said_to(link)


def test_where_there_are_a_thousand_descriptors(many_descriptors: int, tmp_path: Path, door: Door) -> None:
    assert ask(tmp_path) == "ShowLab"


def test_where_none_is_left(many_descriptors: int, tmp_path: Path, door: Door) -> None:
    """Accepting fails, with all of the door's own descriptors beyond 1023, until there is one again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with connected(tmp_path) as link, connected(tmp_path) as other:
        for one in (link, other):
            assert one.fileno() > BEYOND_SELECT
            send_frame(one, ShowLab())
            assert said_to(one) == "ShowLab"
            assert one.recv(1) == b"", "the door has closed its descriptor"
        late = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        probe = os.dup(0)
        os.close(probe)
        resource.setrlimit(resource.RLIMIT_NOFILE, (probe, hard))
        try:
            with late:
                late.connect(str(tmp_path / "socket"))
                send_frame(late, ShowLab())
                with pytest.raises(Exception, match="says nothing"):
                    receive_frame(late, REPLIES, 1 << 20, first_within_s=0.5)
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
                assert said_to(late) == "ShowLab"
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_where_no_thread_is_left(tmp_path: Path, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    with connected(tmp_path) as link:
        assert "no thread for another client" in said_to(link)
    monkeypatch.setattr(threading.Thread, "start", start)
    assert ask(tmp_path) == "ShowLab"
