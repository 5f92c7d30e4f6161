"""The writer of captures: what it writes is read back, and a full disk keeps the packets that are whole."""

from __future__ import annotations

import errno
import io
import os

import pytest
from capture_files import BEGAN_NS, SECOND, echo, ethernet, pcap

from netlab.errors import KernelError
from netlab.traces.capture.captured_packet import CapturedPacket
from netlab.traces.capture.link_type import LinkType
from netlab.traces.capture.packet_file import PacketFile
from netlab.traces.capture.packet_writer import PacketWriter

PACKETS = [
    CapturedPacket(BEGAN_NS + n * SECOND + n, LinkType.ETHERNET, data, len(data) + 5)
    for n, data in enumerate(ethernet(echo("192.0.2.1", "192.0.2.2", n, request=True)) for n in range(5))
]
FILE_BYTES = 24
PACKET_BYTES = 16 + len(PACKETS[0].data)


class Disk(io.BytesIO):
    """A file with so much room, which is written in part where it ends, as the kernel does it."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def write(self, data: object) -> int:
        room = self._room - self.tell()
        if room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(bytes(data)[:room])  # type: ignore[call-overload,no-any-return]


def read(content: bytes) -> tuple[list[CapturedPacket], str]:
    file = PacketFile(io.BytesIO(content), "some.pcap", 1 << 20)
    return list(file), file.damage


def write(file: io.BytesIO, *, flush_each: bool) -> None:
    writer = PacketWriter(file, LinkType.ETHERNET, 96)
    for packet in PACKETS:
        writer.write(packet)
        if flush_each:
            writer.flush()
    writer.flush()


@pytest.mark.parametrize("flush_each", [False, True])
def test_what_is_written_is_read_back(flush_each: bool) -> None:
    out = io.BytesIO()
    write(out, flush_each=flush_each)
    assert out.getvalue()[:4] == pcap([])[:4]
    assert read(out.getvalue()) == (PACKETS, "")


@pytest.mark.parametrize("flush_each", [False, True])
def test_a_full_disk_keeps_what_is_whole(flush_each: bool) -> None:
    for room in range(FILE_BYTES + PACKET_BYTES, FILE_BYTES + 5 * PACKET_BYTES):
        disk = Disk(room)
        n = (room - FILE_BYTES) // PACKET_BYTES
        with pytest.raises(KernelError, match="cannot write more packets: No space left on device") as caught:
            write(disk, flush_each=flush_each)
        assert f"the {n} packets that it took are kept" in caught.value.hint
        assert read(disk.getvalue()) == (PACKETS[:n], ""), room


@pytest.mark.parametrize("room", [0, FILE_BYTES - 1, FILE_BYTES, FILE_BYTES + PACKET_BYTES - 1])
def test_a_disk_without_room_for_one_packet_is_an_error_of_the_system(room: int) -> None:
    with pytest.raises(OSError, match="No space left on device"):
        write(Disk(room), flush_each=True)


def test_once_full_nothing_is_written_again() -> None:
    disk = Disk(FILE_BYTES + PACKET_BYTES + 10)
    writer = PacketWriter(disk, LinkType.ETHERNET, 96)
    writer.write(PACKETS[0])
    writer.write(PACKETS[1])
    with pytest.raises(KernelError):
        writer.flush()
    writer.flush()
    assert read(disk.getvalue()) == (PACKETS[:1], "")
