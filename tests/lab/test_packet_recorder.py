"""The recorder on a link without netem: every frame is seen once, and nothing of the recorder is left."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from netlab.errors import KernelError, LabError
from netlab.lab import Lab
from netlab.lab_recording import LabRecording
from netlab.namespaces import kernel_recorder, packet_taps
from netlab.namespaces.host import Host
from netlab.namespaces.kernel_recorder import KernelRecorder
from netlab.namespaces.kernel_wire import KernelWire

PACKETS = 50
HEADERS = 14 + 20 + 8


def joined(lab: Lab) -> tuple[Host, Host]:
    edge, agent = lab.add_host("edge"), lab.add_host("agent")
    lab.add_link(edge, agent)
    return edge, agent


def udp(host: Host) -> socket.socket:
    sock = host.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    sock.settimeout(30)
    sock.bind((host.address, 7))
    return sock


def send(edge: Host, agent: Host, lengths: list[int]) -> None:
    """Send datagrams one way and wait for each."""
    with udp(edge) as one, udp(agent) as other:
        for length in lengths:
            one.sendto(os.urandom(length), (agent.address, 7))
            assert len(other.recv(2000)) == length


def recorder_process(recording: LabRecording) -> int:
    recorder = recording._recorder
    assert isinstance(recorder, KernelRecorder)
    return recorder._process.pid


def test_every_packet_is_recorded_once_in_order() -> None:
    with Lab() as lab:
        edge, agent = joined(lab)
        recording = lab.record()
        send(edge, agent, [10 + i for i in range(PACKETS)])
        log = recording.finish()
    assert [one.length_bytes for one in log.records] == [HEADERS + 10 + i for i in range(PACKETS)]
    assert {(one.link, one.direction, one.fate) for one in log.records} == {("edge-agent", "forward", "delivered")}
    assert all(one.delay_ns is not None and 0 <= one.delay_ns < 100_000_000 for one in log.records)
    assert (log.header["engine"], log.header["clock"]) == ("host", "real") or "guest" in log.header["engine"]
    assert "incomplete" not in log.header


@pytest.mark.parametrize("side", ["first", "second"])
def test_a_frame_that_came_from_nowhere_makes_the_log_incomplete(side: str) -> None:
    with Lab() as lab:
        edge, agent = joined(lab)
        recording = lab.record()
        send(edge, agent, [10])
        wire, end = lab._wire, getattr(lab.links["edge-agent"].plan, side)
        assert isinstance(wire, KernelWire)
        with wire.namespace.call(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)) as intruder:
            intruder.bind((end.wire_interface, 0))
            intruder.send(bytes(12) + b"\x08\x00" + os.urandom(77))  # leaves to a host, and none has sent it
        log = recording.finish()
    assert log.header["incomplete"] == "1 frames were missed"
    assert [one.fate for one in log.records] == ["delivered"]


def test_what_was_sent_before_begin_is_not_recorded() -> None:
    with Lab() as lab:
        edge, agent = joined(lab)
        recording = lab.record()
        send(edge, agent, [100] * 5)
        recording.begin()
        send(edge, agent, [200] * 3)
        log = recording.finish()
    assert [one.length_bytes for one in log.records] == [HEADERS + 200] * 3


def test_both_directions_and_links_that_come_later() -> None:
    with Lab() as lab:
        edge, agent = joined(lab)
        recording = lab.record()
        far = lab.add_host("far")
        lab.add_link(agent, far, name="second")
        send(agent, edge, [30])
        with udp(far) as other:
            sock = agent.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            with sock:
                sock.sendto(b"x" * 40, (far.address, 7))
                assert other.recv(100) == b"x" * 40
        log = recording.finish()
    found = [(one.link, one.direction, one.length_bytes) for one in log.records]
    assert found == [("edge-agent", "back", HEADERS + 30), ("second", "forward", HEADERS + 40)]


def test_a_stream_is_recorded_and_nothing_of_it_is_lost() -> None:
    size = 2_000_000
    with Lab() as lab:
        edge, agent = joined(lab)
        recording = lab.record()
        server = agent.call(lambda: socket.create_server((agent.address, 8)))
        with server:
            received = bytearray()

            def take() -> None:
                connection, _ = server.accept()
                with connection:
                    while data := connection.recv(1 << 16):
                        received.extend(data)

            taking = threading.Thread(target=take)
            taking.start()
            client = edge.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            with client:
                client.connect((agent.address, 8))
                client.sendall(os.urandom(size))
            taking.join(60)
        log = recording.finish()
    assert len(received) == size
    assert "incomplete" not in log.header
    forward = [one for one in log.records if one.direction == "forward"]
    assert sum(one.length_bytes for one in forward) > size
    assert {one.fate for one in log.records} == {"delivered"}


def test_the_process_ends_with_the_lab_and_after_finish_the_log_stays() -> None:
    with Lab() as lab:
        edge, agent = joined(lab)
        recording = lab.record()
        pid = recorder_process(recording)
        send(edge, agent, [10])
        assert recording.finish() is recording.finish()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_process_ends_when_netlab_is_killed() -> None:
    script = (
        "import time\nfrom netlab.lab import Lab\n"
        "with Lab() as lab:\n lab.add_link(lab.add_host('a'), lab.add_host('b'))\n"
        " print(lab.record()._recorder._process.pid, flush=True)\n time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-P", "-c", script], stdout=subprocess.PIPE) as netlab:
        assert netlab.stdout is not None
        pid = int(netlab.stdout.readline())
        netlab.kill()
    end_s = time.monotonic() + 30
    while is_alive(pid) and time.monotonic() < end_s:
        time.sleep(0.02)
    assert not is_alive(pid)
    with contextlib.suppress(ChildProcessError):  # where orphans come to us, we bury them
        os.waitpid(pid, 0)


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie, which waits for its new parent, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_recorder_that_was_killed_is_reported() -> None:
    with Lab() as lab:
        joined(lab)
        recording = lab.record()
        os.kill(recorder_process(recording), 9)
        time.sleep(0.2)
        with pytest.raises(LabError, match="packet taps"):
            recording.finish()


def test_a_flood_does_not_keep_it_from_ending() -> None:
    stop = threading.Event()
    with Lab() as lab:
        edge, agent = joined(lab)
        recording = lab.record()
        with udp(edge) as one:

            def flood() -> None:
                while not stop.is_set():
                    one.sendto(b"x", (agent.address, 9))

            flooding = threading.Thread(target=flood)
            flooding.start()
            try:
                time.sleep(0.5)
                begin_s = time.monotonic()
                log = recording.finish()
                took_s = time.monotonic() - begin_s
            finally:
                stop.set()
                flooding.join()
    assert len(log.records) > 1000
    assert took_s < 30


class EndlessTap:
    """A packet socket that never runs dry, each frame stamped with the time it is read."""

    def recvmsg_into(
        self, buffers: list[memoryview], size: int
    ) -> tuple[int, list[tuple[int, int, bytes]], int, tuple[str, int, int]]:
        buffers[0][:64] = bytes(64)
        stamp = packet_taps._TIMESPEC.pack(*divmod(time.time_ns(), 10**9))
        return 64, [(0, 0, stamp)], 0, ("nlabcdef-0a", 0, 0)

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        return packet_taps._STATISTICS.pack(0, 7)


def test_taps_hear_the_end_when_frames_come_without_end() -> None:
    ours, theirs = socket.socketpair()
    notes_fd = os.memfd_create("notes")
    taps = packet_taps.Taps(EndlessTap(), theirs, notes_fd)  # type: ignore[arg-type]
    running = threading.Thread(target=taps.run, daemon=True)
    with ours, theirs:
        running.start()
        time.sleep(0.2)
        ours.sendall(packet_taps.FINISH)
        ours.settimeout(60.0)
        written, missed = packet_taps.TALLY.unpack(ours.recv(packet_taps.TALLY.size))
        running.join(60.0)
    sightings = packet_taps.read_sightings(os.pread(notes_fd, os.fstat(notes_fd).st_size, 0))
    os.close(notes_fd)
    assert not running.is_alive()
    assert (len(sightings), missed) == (written, 7)
    assert written > packet_taps._FRAMES_A_TURN


@pytest.mark.parametrize("fails", ["socketpair", "memfd_create", "Popen"])
def test_a_recorder_that_cannot_start_leaves_no_descriptor(fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with Lab() as lab:
        joined(lab)
        wire = lab._wire
        assert isinstance(wire, KernelWire)
        owner = {"socketpair": kernel_recorder.socket, "memfd_create": kernel_recorder.os}.get(
            fails, kernel_recorder.subprocess
        )
        before = sorted(os.listdir("/proc/self/fd"))
        with monkeypatch.context() as patch:
            patch.setattr(owner, fails, refuse)
            with pytest.raises(KernelError, match="start the packet taps") as caught:
                KernelRecorder.start(wire.namespace)
        assert "ulimit -n" in caught.value.hint
        assert sorted(os.listdir("/proc/self/fd")) == before
