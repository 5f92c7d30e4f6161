"""Lanes and departures: order, counts, bounds; ports are lists here."""

from __future__ import annotations

import errno
import io
import time
from types import SimpleNamespace

import pytest

from netlab.errors import FeatureMissing, KernelError, PrivilegeError, SpecError
from netlab.namespaces.kernel_objects import LinkEntry
from netlab.namespaces.relay import departures as departures_module
from netlab.namespaces.relay import packet_file as packet_file_module
from netlab.namespaces.relay import raw_port as raw_port_module
from netlab.namespaces.relay import relayed_links as relayed_links_module
from netlab.namespaces.relay.departures import Departures
from netlab.namespaces.relay.lane import Lane
from netlab.namespaces.relay.medium_queue import MediumQueue
from netlab.namespaces.relay.packet_file import PacketFile
from netlab.namespaces.relay.relayed_links import RelayedLinks
from netlab.namespaces.relay.requests import LinkPlace, MediumPlace, NewLink
from netlab.namespaces.relay.shim_port import ShimPort, check_ports, default_route_interfaces, parse_port
from netlab.namespaces.relay.tap import require_tun
from netlab.traces.packets.packet_log import PacketLog
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import Direction

ALWAYS = 2**32 - 1
FRAME = bytes(60)


class ListPort:
    """Frames in a list."""

    def __init__(self, frames: list[bytes] | None = None) -> None:
        self.frames = frames or []
        self.written: list[bytes] = []
        self.refusal: OSError | None = None

    def fileno(self) -> int:
        return -1

    def read(self) -> bytes:
        if not self.frames:
            raise BlockingIOError
        return self.frames.pop(0)

    def write(self, frame: bytes) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.written.append(frame)

    def close(self) -> None:
        pass


class Clock:
    """The monotonic clock, moved by hand."""

    def __init__(self) -> None:
        self.now_ns = 10**9

    def monotonic_ns(self) -> int:
        return self.now_ns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic_ns", clock.monotonic_ns)
    return clock


def lane_of(
    frames: list[bytes], departures: Departures, medium: MediumQueue | None = None
) -> tuple[Lane, ListPort]:
    sink = ListPort()
    return Lane(ListPort(frames), sink, departures, 0, "forward", medium), sink


def test_frames_leave_by_time_and_then_by_arrival(clock: Clock) -> None:
    departures = Departures()
    lane, sink = lane_of([b"a" * 60, b"b" * 60], departures)
    lane.put(QdiscState(latency_ns=1000))
    lane.pump()
    lane.source.frames.append(b"c" * 60)  # type: ignore[attr-defined]
    lane.put(QdiscState(latency_ns=500))
    lane.pump()
    assert departures.next_ns() == clock.now_ns + 500
    departures.send_due()
    assert sink.written == []
    clock.now_ns += 1000
    departures.send_due()
    assert [frame[:1] for frame in sink.written] == [b"c", b"a", b"b"]
    assert departures.next_ns() == 0
    assert departures.held_bytes == 0
    assert lane.counts.late == 0


def test_lateness_is_counted(clock: Clock) -> None:
    departures = Departures()
    lane, _ = lane_of([FRAME] * 2, departures)
    lane.put(QdiscState(latency_ns=1000))
    lane.pump()
    clock.now_ns += 1000 + 3_000_000
    departures.send_due()
    counts = lane.counts
    assert (counts.late, counts.late_mean_s, counts.late_max_s) == (2, 0.003, 0.003)


def test_a_lane_without_a_model_lets_everything_pass_at_once(clock: Clock) -> None:
    lane, sink = lane_of([b"1", b"2"], Departures())
    lane.pump()
    assert sink.written == [b"1", b"2"]
    assert lane.state is None


def test_head_of_the_queue_leaves_at_once(clock: Clock) -> None:
    departures = Departures()
    lane, sink = lane_of([b"a" * 60, b"b" * 60], departures)
    lane.put(QdiscState(latency_ns=10**6, gap=2, reorder=ALWAYS))
    lane.pump()
    assert [frame[:1] for frame in sink.written] == [b"b"]
    assert lane.counts.held == 1


def test_what_the_receiver_does_not_take_is_counted(clock: Clock) -> None:
    lane, sink = lane_of([FRAME], Departures())
    sink.refusal = OSError(errno.EIO, "down")
    lane.pump()
    assert (lane.counts.refused, lane.counts.delivered) == (1, 0)


def test_memory_is_bounded_and_fates_stay_in_step(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(departures_module, "MAX_HELD_BYTES", 1000)
    departures = Departures()
    lane, _ = lane_of([FRAME] * 8, departures)
    lane.put(QdiscState(latency_ns=10**6))
    lane.pump()
    counts = lane.counts
    assert (counts.held, counts.no_room, counts.lost) == (4, 4, 0)


@pytest.mark.parametrize("has_medium", [False, True])
def test_what_there_was_no_room_for_is_in_the_log(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, has_medium: bool
) -> None:
    monkeypatch.setattr(departures_module, "MAX_HELD_BYTES", 1000)
    departures, file = Departures(), io.StringIO()
    medium = MediumQueue(departures) if has_medium else None
    lane, _ = lane_of([FRAME] * 8, departures, medium)
    lane.log = PacketFile(file)
    (lane if medium is None else medium).put(QdiscState(latency_ns=1000))
    lane.pump()
    clock.now_ns += 1000
    departures.send_due()
    assert sorted(fate for fate, _ in logged(file)) == ["delivered"] * 4 + ["lost"] * 4
    assert lane.counts.no_room == 4


@pytest.mark.parametrize("direction", ["forward", "back"])
def test_both_directions_of_a_link_pass_its_medium(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, direction: Direction
) -> None:
    monkeypatch.setitem(relayed_links_module._PORTS, "tap", lambda descriptor, frame_bytes: ListPort())
    departures = Departures()
    links = RelayedLinks(SimpleNamespace(departures=departures))  # type: ignore[arg-type]
    links.add_medium(0)
    links.place(MediumPlace(0)).put(QdiscState(rate_bytes_per_s=60_000_000, limit_packets=3))  # 1 us a frame
    links.add([NewLink(number=5, name="a-b", kinds=("tap", "tap"), frame_bytes=1514, medium=0)], [0, 0])
    lane = links.place(LinkPlace(5, direction))
    assert isinstance(lane, Lane)
    lane.source.frames += [FRAME] * 4  # type: ignore[attr-defined]
    lane.pump()
    counts = links.place(MediumPlace(0)).counts
    assert (counts.received, counts.held, counts.over_limit) == (4, 3, 1)
    clock.now_ns += 3000
    departures.send_due()
    assert (counts.delivered, lane.counts.delivered, lane.direction) == (3, 3, direction)


def test_forgotten_lanes_leave_others_their_frames(clock: Clock) -> None:
    departures = Departures()
    gone, gone_sink = lane_of([FRAME] * 3, departures)
    kept, kept_sink = lane_of([FRAME] * 3, departures)
    for lane in (gone, kept):
        lane.put(QdiscState(latency_ns=1000))
        lane.pump()
    departures.forget(gone.receivers)
    clock.now_ns += 1000
    departures.send_due()
    assert (len(gone_sink.written), len(kept_sink.written)) == (0, 3)
    assert departures.held_bytes == 0


def test_a_medium_is_shared_before_each_lanes_own_delay(clock: Clock) -> None:
    departures = Departures()
    medium = MediumQueue(departures)
    medium.put(QdiscState(rate_bytes_per_s=60_000_000, limit_packets=3))  # 1 us a frame
    first, first_sink = lane_of([b"a" * 60, b"b" * 60], departures, medium)
    second, second_sink = lane_of([b"c" * 60, b"d" * 60], departures, medium)
    first.put(QdiscState(latency_ns=5000))
    first.pump()
    second.pump()
    assert second.counts.over_limit == 1  # the fourth finds the shared queue full
    written = []
    for _ in range(10):
        clock.now_ns += 1000
        departures.send_due()
        written.append((len(first_sink.written), len(second_sink.written)))
    # c leaves the medium third, after 3 us; a and b wait 5 us more after 1 and 2.
    assert written == [(0, 0), (0, 0), (0, 1), (0, 1), (0, 1), (1, 1), (2, 1), (2, 1), (2, 1), (2, 1)]


def test_packet_file_is_a_packet_log(clock: Clock) -> None:
    departures, file = Departures(), io.StringIO()
    lane, _ = lane_of([FRAME] * 4, departures)
    log = lane.log = PacketFile(file)
    lane.put(QdiscState(latency_ns=1000, duplicate=ALWAYS, limit_packets=3))
    lane.pump()
    clock.now_ns += 1000
    departures.send_due()
    lane.source.frames.append(FRAME)  # type: ignore[attr-defined]
    lane.put(QdiscState(latency_ns=1000))
    lane.pump()
    for packet in departures.packets():
        log.note_pending(packet)
    records = PacketLog.decode(file.getvalue().encode()).records
    fates = [record.fate for record in records]
    assert fates.count("pending") == 1
    assert fates.count("delivered") == 2
    assert {record.link for record in records} == {"link-0"}
    assert all(record.delay_ns == 1000 for record in records if record.fate in ("delivered", "duplicate"))


def logged(file: io.StringIO) -> list[tuple[str, int | None]]:
    """Return the fate and delay of each record."""
    return [(one.fate, one.delay_ns) for one in PacketLog.decode(file.getvalue().encode()).records]


@pytest.mark.parametrize(
    ("taken", "fates"),
    [
        ((True, True), [("delivered", 1000), ("duplicate", 1000)]),
        ((True, False), [("delivered", 1000)]),
        ((False, True), [("delivered", 1000)]),  # the copy that arrived is the packet
        ((False, False), [("lost", None)]),
    ],
)
def test_a_packet_is_lost_only_if_no_copy_was_taken(
    clock: Clock, taken: tuple[bool, bool], fates: list[tuple[str, int | None]]
) -> None:
    departures, file = Departures(), io.StringIO()
    lane, sink = lane_of([FRAME], departures)
    lane.log = PacketFile(file)
    lane.put(QdiscState(latency_ns=1000, duplicate=ALWAYS))
    lane.pump()
    answers = iter(taken)

    def write(frame: bytes) -> None:
        if not next(answers):
            raise OSError(errno.EIO, "full")

    sink.write = write  # type: ignore[method-assign]
    clock.now_ns += 1000
    departures.send_due()
    assert logged(file) == fates
    assert (lane.counts.delivered, lane.counts.refused) == (sum(taken), 2 - sum(taken))


def test_a_packet_file_is_bounded_and_says_what_it_missed(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packet_file_module, "MAX_FILE_BYTES", 100)
    file = io.StringIO()
    lane, _ = lane_of([FRAME] * 8, Departures())
    log = lane.log = PacketFile(file)
    lane.pump()
    assert len(logged(file)) == 3  # lines of 33 bytes
    assert log.missed == 5


def test_a_medium_counts_what_passes_it_and_forgets_what_is_dropped(clock: Clock) -> None:
    departures = Departures()
    medium = MediumQueue(departures)
    lane, _ = lane_of([FRAME] * 5, departures, medium)
    lane.pump()
    assert (medium.counts.received, medium.counts.delivered) == (5, 5)  # in no state yet: all pass at once
    medium.put(QdiscState(rate_bytes_per_s=60_000_000, limit_packets=3))  # 1 us a frame
    other, _ = lane_of([FRAME] * 4, departures, medium)
    other.pump()
    assert (medium.counts.over_limit, medium.counts.held) == (1, 3)
    clock.now_ns += 1000
    departures.send_due()
    assert (medium.counts.delivered, medium.counts.held) == (6, 2)
    departures.forget(other.receivers)
    assert medium.counts.held == 0
    assert lane.counts.received == 5


def test_joining_a_busy_port_ends(clock: Clock) -> None:
    class BusyPort(ListPort):
        def read(self) -> bytes:
            self.reads = getattr(self, "reads", 0) + 1
            return FRAME

    source = BusyPort()
    lane = Lane(source, ListPort(), Departures(), 0, "forward")
    lane.discard()
    assert 4096 < source.reads <= 1 << 16  # all that a TAP holds, and an end


@pytest.mark.parametrize(
    ("number", "kind", "hint"),
    [
        (errno.ENODEV, KernelError, "`ip link`"),
        (errno.ENETDOWN, KernelError, "ip link set card0 up"),
        (errno.EPERM, PrivilegeError, "run as root"),
    ],
)
def test_sockets_that_cannot_be_had(
    monkeypatch: pytest.MonkeyPatch, number: int, kind: type[KernelError], hint: str
) -> None:
    monkeypatch.setattr(raw_port_module.socket, "if_nametoindex", lambda name: 1)
    monkeypatch.setattr(raw_port_module.socket, "socket", FakeSocket.raising(number))
    with pytest.raises(KernelError, match="cannot listen on card0") as caught:
        raw_port_module.open_raw("card0")
    assert type(caught.value) is kind
    assert hint in caught.value.hint


class FakeSocket:
    """A packet socket that cannot be bound."""

    number = 0

    @classmethod
    def raising(cls, number: int) -> type[FakeSocket]:
        return type("Raising", (cls,), {"number": number})

    def __init__(self, *_: object) -> None:
        self.is_closed = False

    def setsockopt(self, *_: object) -> None:
        pass

    def bind(self, address: object) -> None:
        raise OSError(self.number, "no")

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(
    ("number", "kind", "hint"),
    [
        (errno.ENOENT, FeatureMissing, "modprobe tun"),
        (errno.ENODEV, FeatureMissing, "--device /dev/net/tun"),
        (errno.EPERM, PrivilegeError, "--on guest"),
        (errno.EACCES, PrivilegeError, "run as root"),
    ],
)
def test_machines_without_tun(number: int, kind: type[KernelError], hint: str) -> None:
    def opener(path: str, flags: int) -> int:
        raise OSError(number, "no", path)

    with pytest.raises(kind, match="cannot open /dev/net/tun") as caught:
        require_tun(opener)
    assert hint in caught.value.hint


@pytest.mark.parametrize("text", ["", "tap:", "a/b", "a b", "x" * 16, "tap:..", "a:b", "tap:a\n"])
def test_ports_that_no_interface_can_be(text: str) -> None:
    with pytest.raises(SpecError, match="is no port: an interface has a name of 1 to 15 bytes"):
        parse_port(text)


def test_ports_as_named() -> None:
    assert parse_port("enp3s0") == ShimPort("enp3s0", False)
    assert parse_port("tap:robot0") == ShimPort("robot0", True)


def entry(name: str, up: bool = True) -> LinkEntry:
    return LinkEntry(ifindex=5, name=name, kind="", mac="", mtu=1500, up=up)


def test_unknown_interface_lists_what_there_is() -> None:
    interfaces = [entry("lo"), entry("enp3s0"), entry("wlan0")]
    with pytest.raises(KernelError, match="cannot use xyz") as caught:
        check_ports((ShimPort("xyz", False), ShimPort("wlan0", False)), interfaces, set(), force=False)
    assert caught.value.hint.startswith("there are: enp3s0, wlan0")


def test_default_routes_as_the_kernel_lists_them(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    (folder / "route").write_text(
        "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
        "enp3s0 00000000 0100A8C0 0003 0 0 100 00000000 0 0 0\n"
        "enp4s0 0000A8C0 00000000 0001 0 0 100 00FFFFFF 0 0 0\n"
    )
    zero = "0" * 32
    (folder / "ipv6_route").write_text(
        f"{zero} 00 {zero} 00 fe80{'0' * 27}1 00000400 00000001 00000000 00000003 wlan0\n"
        f"{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200 lo\n"
    )
    assert default_route_interfaces(folder) == {"enp3s0", "wlan0"}
    assert default_route_interfaces(folder / "nowhere") == set()
