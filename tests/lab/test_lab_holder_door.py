"""A peer that lies, stalls or babbles at a holder's door hurts nobody: not the holder, not other clients."""

from __future__ import annotations

import array
import os
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from staying_labs import StayingLabs, wait_until

from netlab.holder.door import MAX_CLIENTS
from netlab.holder.frames import MAX_REQUEST_BYTES, receive_frame
from netlab.holder.messages import REPLIES, Refused

SHOW = b'{"type":"ShowLab"}'


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory, private_namespaces: None) -> Iterator[StayingLabs]:
    labs = StayingLabs(tmp_path_factory.mktemp("labs"))
    labs.up()
    with peer(labs) as link:  # from here on its log is open
        link.sendall(frame(b"hello"))
        assert isinstance(answer(link), Refused)
    yield labs
    labs.close()


@pytest.fixture
def holder(labs: StayingLabs) -> int:
    return int(labs.list()[0]["holder_pid"])


def peer(labs: StayingLabs) -> socket.socket:
    (name,) = labs.rests()
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.connect(str(labs.runtime / name / "socket"))
    return link


def frame(body: bytes) -> bytes:
    return struct.pack("=I", len(body)) + body


def answer(link: socket.socket) -> object:
    received = receive_frame(link, REPLIES, 1 << 20, first_within_s=60.0)
    return received and received.message


def open_descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (struct.pack("=I", MAX_REQUEST_BYTES + 1), f"at most {MAX_REQUEST_BYTES}"),
        (struct.pack("=I", 2**32 - 1) + b"x" * 4096, f"at most {MAX_REQUEST_BYTES}"),
        (frame(b"no JSON"), "no message"),
        (frame(b"[" * 100_000), "no message"),
        (frame(b'{"type":"Nonsense"}'), "no message"),
        (frame(b'{"type":"RunCommand","host":"a"}'), "no message"),
        (frame(b'{"type":"RunCommand","host":"a","argv":["bHM="],"env":[],"cwd":"Lw=="}'), "three streams"),
        (frame(b'{"type":"SignalCommand","number":9}'), "no command"),
        (frame(b'{"type":"SetLinks","wishes":[]}'), "no message"),
        (os.urandom(64), ""),
    ],
)
def test_nonsense_is_refused_in_words(labs: StayingLabs, holder: int, sent: bytes, words: str) -> None:
    before = open_descriptors(holder)
    with peer(labs) as link:
        link.sendall(sent)
        link.shutdown(socket.SHUT_WR)
        reply = answer(link)
        assert reply is None or (isinstance(reply, Refused) and words in reply.message)
        assert reply is not None or not words
    assert labs.show("two")["name"] == "two"
    wait_until(lambda: open_descriptors(holder) <= before)


def test_descriptors_that_nobody_asked_for_are_closed(labs: StayingLabs, holder: int) -> None:
    before = open_descriptors(holder)
    with Path("/dev/null").open() as nothing:
        for count in (1, 3, 20):
            with peer(labs) as link:
                rights = array.array("i", [nothing.fileno()] * count)
                link.sendmsg([frame(SHOW)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
                assert type(answer(link)).__name__ == "LabReport"
            with peer(labs) as link:
                link.sendmsg([b"\xff"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    wait_until(lambda: open_descriptors(holder) <= before)


def test_who_stalls_holds_up_nobody(labs: StayingLabs) -> None:
    with peer(labs) as silent, peer(labs) as halfway, peer(labs) as deaf:
        halfway.sendall(frame(SHOW)[:7])
        deaf.sendall(frame(SHOW))  # and never reads
        began_s = time.monotonic()
        with peer(labs) as link:
            link.sendall(frame(SHOW))
            assert type(answer(link)).__name__ == "LabReport"
        assert time.monotonic() - began_s < 9.0, "ten seconds is what a stalled client has"
        for stalled in (silent, halfway):
            stalled.settimeout(60.0)
            data = stalled.recv(4096)  # shown out, with a word if it listens
            assert b"stalls" in data or b"says nothing" in data


def test_too_many_clients_are_told_so(labs: StayingLabs) -> None:
    links = [peer(labs) for _ in range(MAX_CLIENTS)]
    try:
        with peer(labs) as link:
            link.sendall(frame(SHOW))
            reply = answer(link)
            assert isinstance(reply, Refused)
            assert "no more at once" in reply.message
    finally:
        for link in links:
            link.close()
    wait_until(lambda: labs.run("show", "two").returncode == 0)


def test_another_user_is_a_stranger(labs: StayingLabs) -> None:
    (name,) = labs.rests()
    folder = os.open(labs.runtime / name, os.O_PATH | os.O_DIRECTORY)
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:  # even with the folders open to it, which they are not
        try:
            os.chmod(f"/proc/self/fd/{folder}/socket", 0o666)
            link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            os.setresuid(4321, 4321, 4321)
            link.connect(f"/proc/self/fd/{folder}/socket")
            link.sendall(frame(SHOW))
            os.write(write_end, link.recv(4096))
        except OSError as error:
            os.write(write_end, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    said = os.read(read_end, 4096)
    for fd in (folder, read_end, write_end):
        os.close(fd)
    assert b"another user" in said or b"Permission denied" in said
