"""``netlab capture`` without a kernel's sockets: its words, its refusals, the file it leaves."""

from __future__ import annotations

import errno
import json
import math
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from capture_files import BEGAN_NS, ETHERNET, SECOND, echo, ethernet, tcp
from click.testing import CliRunner
from scapy.error import Scapy_Exception

from netlab.cli.main import main
from netlab.errors import KernelError
from netlab.install_hint import install_hint
from netlab.traces.capture.captured_packet import MAX_PACKETS, CapturedPacket
from netlab.traces.capture.link_type import LinkType
from netlab.traces.capture.packet_file import PacketFile
from netlab.traces.capture.packet_recording import Recorded, RecordingBounds
from netlab.traces.importers.catalogue import import_trace
from netlab.traces.trace_source import MAX_FILE_BYTES

SECRET = b"what was said"
SEGMENT = ethernet(tcp(("192.0.2.1", 1), ("192.0.2.2", 2), seq=1, stamps=(5, 6)) + SECRET)
PACKETS = [
    ethernet(echo("192.0.2.1", "192.0.2.2", 1, request=True)),
    ethernet(echo("192.0.2.2", "192.0.2.1", 1, request=False)),
    SEGMENT,
]


class Heard:
    """Stands for the listener: gives some packets, then ends as told."""

    link_type = LinkType.ETHERNET
    missed_at_end = 0
    then: BaseException | None = None
    opened: tuple[object, ...] = ()

    def __init__(self, interface: str, program_of: object = None, expression: str = "") -> None:
        program = program_of(self.link_type) if callable(program_of) else b""
        type(self).opened = (interface, len(program) > 0, expression)
        self._left: Iterator[bytes] = iter(PACKETS)
        self._n = 0

    def __enter__(self) -> Heard:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def recv(self, timeout_s: float) -> CapturedPacket | None:
        data = next(self._left, None)
        if data is None:
            if self.then is not None:
                raise self.then
            return None
        self._n += 1
        return CapturedPacket(BEGAN_NS + self._n * SECOND // 100, ETHERNET, data, len(data))

    def missed(self) -> int:
        return self.missed_at_end if self._n == len(PACKETS) else 0


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> type[Heard]:
    kind = type("HeardHere", (Heard,), {})
    monkeypatch.setattr("netlab.traces.capture.packet_listener.PacketListener", kind)
    monkeypatch.setattr("socket.if_nameindex", lambda: [(1, "lo"), (2, "wlan0")])
    return kind


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["capture", *(str(word) for word in words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def test_headers_alone_are_kept(heard: type[Heard], tmp_path: Path) -> None:
    path = tmp_path / "some.pcap"
    code, out, err = run("wlan0", "--count", 3, "-o", path)
    assert (code, out) == (0, f"netlab trace import {path}\n")
    assert err.splitlines()[0] == "netlab: listening on wlan0"
    assert "3 packets in" in err
    with path.open("rb") as file:
        packets = list(PacketFile(file, "some.pcap", MAX_FILE_BYTES))
    assert [len(packet.data) for packet in packets] == [14 + 20 + 8, 14 + 20 + 8, 14 + 20 + 32]
    assert [packet.wire_bytes for packet in packets] == [len(data) for data in PACKETS]
    assert SECRET not in path.read_bytes()
    (trace,) = import_trace(path)
    assert trace.delay_s[0] == pytest.approx(0.01)
    assert os.listdir(tmp_path) == ["some.pcap"]


def test_snap_keeps_so_much_of_each(heard: type[Heard], tmp_path: Path) -> None:
    path = tmp_path / "some.pcap"
    assert run("wlan0", "--count", 3, "--snap", "75B", "-o", path)[0] == 0
    with path.open("rb") as file:
        assert [len(packet.data) for packet in PacketFile(file, "some.pcap", MAX_FILE_BYTES)] == [75, 75, 75]


def test_count_stops_before_the_next(heard: type[Heard], tmp_path: Path) -> None:
    code, out, _ = run("wlan0", "--count", 2, "--json", "-o", tmp_path / "two.pcap")
    summary = json.loads(out)
    assert code == 0
    assert (summary["packets"], summary["missed"], summary["ended_by"]) == (2, 0, "bound")
    assert (summary["interface"], summary["file"]) == ("wlan0", str(tmp_path / "two.pcap"))


def test_time_stops_it_and_it_says_what_was_missed(heard: type[Heard], tmp_path: Path) -> None:
    heard.missed_at_end = 5
    code, _, err = run("wlan0", "--for", "200ms", "-o", tmp_path / "timed.pcap")
    assert code == 0
    assert "more packets came too fast to be written" in err


@pytest.mark.parametrize(
    ("words", "opened"),
    [
        ([], ("wlan0", True, "")),
        (["--filter", "icmp"], ("wlan0", True, "")),
        (["--filter", "all"], ("wlan0", False, "")),
        (["--filter", "tcp port 22"], ("wlan0", False, "tcp port 22")),
    ],
)
def test_filters(heard: type[Heard], tmp_path: Path, words: list[str], opened: tuple[object, ...]) -> None:
    assert run("wlan0", "--count", 1, *words, "-o", tmp_path / "some.pcap")[0] == 0
    assert heard.opened == opened


def test_an_interface_that_goes_away_leaves_what_there_is(heard: type[Heard], tmp_path: Path) -> None:
    heard.then = KernelError("go on listening", errno.ENETDOWN)
    code, out, err = run("wlan0", "-o", tmp_path / "cut.pcap")
    assert (code, out) == (1, "")
    assert "cannot go on listening: Network is down" in err
    with (tmp_path / "cut.pcap").open("rb") as file:
        assert len(list(PacketFile(file, "cut.pcap", MAX_FILE_BYTES))) == 3


def test_a_fault_leaves_nothing_and_what_was_there(heard: type[Heard], tmp_path: Path) -> None:
    path = tmp_path / "old.pcap"
    path.write_bytes(b"old")
    heard.then = OSError(errno.ENOSPC, "No space left on device")
    code, _, err = run("wlan0", "-o", path)
    assert code == 1
    assert "No space left on device" in err
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["old.pcap"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["wlan1", "-o", "x.pcap"], "there is no interface 'wlan1' here\nhint: did you mean 'wlan0'?"),
        (["eth7", "-o", "x.pcap"], "there is no interface 'eth7' here\nhint: there are lo, wlan0"),
        (["wlan0", "-o", "nosuch/x.pcap"], "--output: cannot write nosuch/x.pcap"),
        (["wlan0", "--for", "0s", "-o", "x.pcap"], "--for: 0 s: must be above 0"),
        (["wlan0", "--snap", "8B", "-o", "x.pcap"], "--snap: 8 bytes: must be 16 .. 262144"),
        (
            ["wlan0", "--filter", "wifi", "-o", "x.pcap"],
            "wlan0 is not in monitor mode\nhint: as root: ip link set wlan0",
        ),
        (["wlan0", "--count", "0", "-o", "x.pcap"], "0 is not in the range x>=1"),
        (["wlan0"], "Missing option '-o'"),
    ],
)
def test_refusals(
    heard: type[Heard], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert os.listdir(tmp_path) == []


@pytest.fixture
def lo_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.if_nameindex", lambda: [(1, "lo")])


def test_without_rights_it_says_how_to_get_them(
    lo_alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr("scapy.arch.linux.L2ListenSocket", refuse)
    code, _, err = run("lo", "-o", tmp_path / "x.pcap")
    assert code == 1
    assert "cannot listen on lo: Operation not permitted\nhint: run it by sudo, or in a host of a lab" in err
    assert os.listdir(tmp_path) == []


def test_without_scapy_it_says_what_to_install(
    lo_alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scapy.arch.linux", None)
    code, _, err = run("lo", "-o", tmp_path / "x.pcap")
    assert code == 1
    assert f"scapy is not installed\nhint: {install_hint('capture')}" in err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ImportError("libpcap is not available. Cannot compile filter !"), 1, "libpcap is not installed"),
        (Scapy_Exception("libpcap is not available. Cannot compile filter !"), 1, "libpcap is not installed"),
        (Scapy_Exception("syntax error"), 2, "--filter: 'tcp prot 1': syntax error"),
    ],
    ids=["ImportError", "libpcap", "syntax"],
)
def test_a_filter_that_cannot_be(
    lo_alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, message: str
) -> None:
    class Opened:
        """Stands for scapy's socket."""

        def __init__(self, **_: object) -> None:
            self.ins = self

        def getsockname(self) -> tuple[object, ...]:
            return "lo", 0, 0, 772, b""

        def close(self) -> None:
            pass

    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr("scapy.arch.linux.L2ListenSocket", Opened)
    monkeypatch.setattr("scapy.arch.linux.attach_filter", refuse)
    found, _, err = run("lo", "--filter", "tcp prot 1", "-o", tmp_path / "x.pcap")
    assert found == code
    assert message in err
    assert "hint: " in err
    assert os.listdir(tmp_path) == []


def test_a_full_disk_keeps_the_packets_that_are_whole(heard: type[Heard], tmp_path: Path) -> None:
    """The kernel's own answer to a file that may not grow, which is a full disk's but for its number."""
    path = tmp_path / "full.pcap"
    path.write_bytes(b"old")
    room = 24 + 2 * (16 + 42) + 30  # for two packets and a part of the third
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        code, out, err = run("wlan0", "--count", 3, "-o", path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (code, out) == (1, "")
    assert "cannot write more packets: File too large" in err
    assert "the 2 packets that it took are kept" in err
    with path.open("rb") as file:
        packets = PacketFile(file, "full.pcap", MAX_FILE_BYTES)
        assert [packet.wire_bytes for packet in packets] == [len(data) for data in PACKETS[:2]]
        assert packets.damage == ""
    assert os.listdir(tmp_path) == ["full.pcap"]


def test_a_disk_without_room_for_a_packet_leaves_what_was_there(heard: type[Heard], tmp_path: Path) -> None:
    path = tmp_path / "full.pcap"
    path.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, hard))
    try:
        code, _, err = run("wlan0", "--count", 3, "-o", path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == 1
    assert "cannot write" in err
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["full.pcap"]


def test_it_is_bounded_unless_told(heard: type[Heard], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By as many packets as an import reads of one file."""
    asked: list[RecordingBounds] = []

    def record(*arguments: object, **_: object) -> Recorded:
        asked.extend(one for one in arguments if isinstance(one, RecordingBounds))
        return Recorded(0, 0, 0.0)

    monkeypatch.setattr("netlab.traces.capture.packet_recording.record_packets", record)
    assert "listening on wlan0; Ctrl-C ends it" in run("wlan0", "-o", tmp_path / "x.pcap")[2]
    assert asked == [RecordingBounds(None, MAX_PACKETS, math.inf)]
    helped = CliRunner().invoke(main, ["capture", "--help"]).stdout
    assert str(MAX_PACKETS) in helped
