"""The listener, on what stands for the kernel's socket: what is set before packets come, how it waits for them."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from netlab.errors import FeatureMissing, KernelError
from netlab.traces.capture.packet_listener import PacketListener

SO_ERROR, SO_ATTACH_FILTER, PACKET_STATISTICS, IGNORE_OUTGOING = 4, 26, 6, 23
ALL_PROTOCOLS, ETHERNET_KIND = 3, 1


class Kernel:
    """Stands for scapy's socket and the kernel's in it: always full of packets.

    Args:
        descriptor: Of the socket.
    """

    def __init__(self, descriptor: int) -> None:
        self.ins = self
        self.told: list[object] = []
        self.problem = 0
        self.waits = 0
        self.closed = False
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def getsockname(self) -> tuple[object, ...]:
        return "eth0", 0, 0, ETHERNET_KIND, b""

    def setsockopt(self, _: int, option: int, __: object) -> None:
        self.told.append(option)

    def getsockopt(self, _: int, option: int, size: int = 0) -> Any:
        if option == SO_ERROR:
            return self.problem
        assert (option, size) == (PACKET_STATISTICS, 8)
        return struct.pack("=II", 7, 3)

    def setblocking(self, blocks: bool) -> None:
        assert not blocks

    def bind(self, address: tuple[str, int]) -> None:
        self.told.append(address)

    def recv_raw(self, size: int) -> tuple[object, bytes, float]:
        self.told.append("recv")
        if self.waits:
            self.waits -= 1
            raise BlockingIOError
        return None, bytes(60), 1_700_000_000.25

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    """A socket beyond the descriptors that select() knows, of which something can be read."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    reading, writing = os.pipe()
    os.write(writing, b"!")
    descriptor = fcntl.fcntl(reading, fcntl.F_DUPFD_CLOEXEC, 1500)
    found = Kernel(descriptor)
    monkeypatch.setattr("netlab.traces.capture.packet_listener.listening_socket", lambda _: found)
    yield found
    for one in (reading, writing, descriptor):
        os.close(one)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_filter_is_there_before_the_first_packet_and_none_is_thrown_away(kernel: Kernel) -> None:
    PacketListener("eth0", lambda kind: bytes(8))
    assert kernel.told.index(SO_ATTACH_FILTER) < kernel.told.index(("eth0", ALL_PROTOCOLS))
    assert "recv" not in kernel.told


def test_loopback_packets_are_asked_for_once(kernel: Kernel) -> None:
    PacketListener("lo")
    assert kernel.told.index(IGNORE_OUTGOING) < kernel.told.index(("lo", ALL_PROTOCOLS))


def test_packets_are_waited_for_at_any_descriptor(kernel: Kernel) -> None:
    assert kernel.fileno() > 1024
    with PacketListener("eth0") as listener:
        packet = listener.recv(0.0)
        kernel.waits = 1
        waited = listener.recv(10.0)
        assert packet == waited
        assert packet is not None
        assert packet.data == bytes(60)
        assert packet.time_ns == pytest.approx(1_700_000_000_250_000_000, abs=250)  # scapy's times are floats
        kernel.waits = 1
        assert listener.recv(0.0) is None
        assert listener.missed() == 3
    assert kernel.closed


def test_an_interface_that_is_down_is_said_to_be(kernel: Kernel) -> None:
    kernel.problem = errno.ENETDOWN
    with pytest.raises(KernelError, match="cannot listen on eth0: Network is down") as caught:
        PacketListener("eth0")
    assert caught.value.hint == "set it up first: ip link set INTERFACE up"
    assert kernel.closed


def test_too_many_files_open_for_scapy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise ValueError("filedescriptor out of range in select()")

    monkeypatch.setattr("scapy.arch.linux.L2ListenSocket", refuse)
    with pytest.raises(FeatureMissing, match="more than 1,024 files open"):
        PacketListener("eth0")
