"""Prober and reflector over real sockets of 127.0.0.1."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from netlab.errors import AuthError, ConnectionLost, KernelError, RemoteProtocolError, SpecError
from netlab.messages import Goodbye
from netlab.probe.departure import Departure
from netlab.probe.probe_plan import ProbePlan
from netlab.probe.probe_summary import ProbeSummary
from netlab.probe.prober import Measured, Prober, probe_path
from netlab.probe.prober_link import ProberLink
from netlab.probe.reflection import Answer, Reflection
from netlab.probe.reflector import Reflector
from netlab.probe.stamped_socket import Datagram, StampedSocket
from netlab.traces.trace import ClockVerdict
from netlab.traces.trace_file import read_trace
from netlab.wire.address import Address
from netlab.wire.key import Key
from netlab.wire.listener import Listener
from netlab.wire.session import Opened

KEY = Key(bytes(range(32)))
LOCALHOST = Address("127.0.0.1", 0)
PLAN = ProbePlan(rate_hz=500.0, count=200, wait_s=0.5)
PATIENCE_S = 30.0


@contextlib.contextmanager
def reflector_of(key: Key | None = KEY) -> Iterator[Reflector]:
    with Reflector(LOCALHOST, key) as reflector:
        thread = threading.Thread(target=reflector.run)
        thread.start()
        try:
            yield reflector
        finally:
            reflector.stop("the end of a test")
            thread.join(PATIENCE_S)


@pytest.fixture
def reflector() -> Iterator[Reflector]:
    with reflector_of() as running:
        yield running


def test_both_directions_and_the_round_trip_are_measured(reflector: Reflector) -> None:
    measured = probe_path(PLAN, reflector.address, KEY, one_clock=True)
    result, summary = measured
    assert result.has_log
    assert result.clocks.verdict is ClockVerdict.ONE_CLOCK
    assert result.back is not None
    assert result.round_trip is not None
    for trace in result.traces:
        assert trace.n == PLAN.count
        assert trace.loss_ratio == 0.0
        assert (trace.copies == 1).all()
        # Loopback takes microseconds; another process may have both processors for a while.
        assert 0.0 < float(np.median(trace.delay_s)) < 0.05
    parts_s = result.forward.delay_s + result.back.delay_s
    assert np.abs(result.round_trip.delay_s - parts_s).max() < 1e-6
    assert summary.rate_hz == pytest.approx(PLAN.rate_hz, rel=0.5)
    assert summary.notes == []
    counters = reflector.counters
    assert (counters.sessions, counters.probes, counters.replies, counters.rejected) == (1, 200, 200, {})


def test_one_way_gets_its_times_from_the_log(reflector: Reflector) -> None:
    plan = msgspec.structs.replace(PLAN, one_way=True)
    result = probe_path(plan, reflector.address, KEY, one_clock=True).result
    assert result.back is None
    assert result.forward.loss_ratio == 0.0
    assert result.forward.has_delays
    assert reflector.counters.replies == 0


def test_two_clocks_that_are_one_are_found_in_step_or_corrected_by_next_to_nothing(reflector: Reflector) -> None:
    """In one of five tries: the shortest delay of a loopback is some microseconds, and a tenth of it decides."""
    for _ in range(5):
        result = probe_path(PLAN, reflector.address, KEY).result
        clocks = result.clocks
        assert clocks.offset_s is not None
        assert abs(clocks.offset_s) < 0.005
        if clocks.verdict is not ClockVerdict.VARIATION_ONLY:
            break
    assert clocks.verdict in (ClockVerdict.IN_STEP, ClockVerdict.CORRECTED)
    assert result.back is not None
    assert result.round_trip is not None
    for trace in (result.forward, result.back):
        assert trace.clocks is clocks.verdict
        assert clocks.words in trace.source
        assert trace.n == PLAN.count
        assert 0.0 <= float(np.median(trace.delay_s)) < 0.05
    # Whatever is taken off one way is put onto the other.
    parts_s = result.forward.delay_s + result.back.delay_s
    assert np.abs(result.round_trip.delay_s - parts_s).max() < 1e-6 + abs(clocks.drift)


def test_both_ways_begin_at_one_moment(reflector: Reflector) -> None:
    result = probe_path(PLAN, reflector.address, KEY, one_clock=True).result
    assert result.back is not None
    turnaround_s = result.back.t_s - result.forward.t_s - result.forward.delay_s
    assert turnaround_s.min() > 0.0
    assert float(np.median(turnaround_s)) < 0.05


def test_a_datagram_leaves_in_one_packet_or_not_at_all() -> None:
    with (
        StampedSocket.listening(LOCALHOST, LOCALHOST.resolve(socket.SOCK_DGRAM)) as receiver,
        StampedSocket.connected(receiver.address, receiver.address.resolve(socket.SOCK_DGRAM)[0]) as sender,
    ):
        most_bytes = sender.most_bytes
        assert 1472 <= most_bytes < 65_536
        assert sender.depart(bytes(min(most_bytes, 60_000))) is Departure.LEFT
        too_large = bytes(most_bytes + 1) if most_bytes < 65_507 else bytes(65_508)
        assert sender.depart(too_large) is Departure.TOO_LARGE
        assert sender.send(too_large) is False


def test_probes_too_large_for_the_network_are_refused_before_any_is_sent(
    reflector: Reflector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StampedSocket, "most_bytes", property(lambda sock: 1452))
    plan = msgspec.structs.replace(PLAN, size_bytes=1472)
    with pytest.raises(SpecError, match="at most 1452") as caught:
        probe_path(plan, reflector.address, KEY)
    assert "1452 over IPv6" in caught.value.hint
    assert reflector.counters.sessions == 0


def test_over_ipv6_too() -> None:
    try:
        reflector = Reflector(Address("::1", 0), KEY)
    except KernelError:
        pytest.skip("this host has no IPv6")
    with reflector:
        thread = threading.Thread(target=reflector.run)
        thread.start()
        try:
            result = probe_path(PLAN, reflector.address, KEY, one_clock=True).result
        finally:
            reflector.stop("the end of a test")
            thread.join(PATIENCE_S)
    assert [trace.loss_ratio for trace in result.traces] == [0.0, 0.0, 0.0]


def test_a_socket_with_a_descriptor_above_1023_can_wait() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1200:
        pytest.skip(f"this process may have {hard} files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with StampedSocket.listening(LOCALHOST, LOCALHOST.resolve(socket.SOCK_DGRAM)) as high:
            assert high.fileno() > 1023
            assert not high.wait(0.001)
            with StampedSocket.connected(high.address, high.address.resolve(socket.SOCK_DGRAM)[0]) as sender:
                assert sender.send(b"here")
            assert high.wait(PATIENCE_S)
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_wait_is_no_shorter_than_asked_and_ends_within_its_millisecond_or_so() -> None:
    with StampedSocket.listening(LOCALHOST, LOCALHOST.resolve(socket.SOCK_DGRAM)) as sock:
        for asked_s in (0.0, 0.0003, 0.0025, 0.02):
            waited_s: list[float] = []
            # The best of 20, or of more on a machine so busy that it makes all of them late.
            while len(waited_s) < 20 or (min(waited_s) >= asked_s + 0.001 and len(waited_s) < 300):
                began_s = time.monotonic()
                assert not sock.wait(asked_s)
                waited_s.append(time.monotonic() - began_s)
            assert asked_s <= min(waited_s) < asked_s + 0.001


def test_what_the_kernel_does_not_stamp_is_said_to_be_so() -> None:
    with (
        StampedSocket.listening(LOCALHOST, LOCALHOST.resolve(socket.SOCK_DGRAM)) as receiver,
        StampedSocket.connected(receiver.address, receiver.address.resolve(socket.SOCK_DGRAM)[0]) as sender,
    ):
        receiver._socket.setsockopt(socket.SOL_SOCKET, 35, 0)
        sender.send(b"a")
        assert receiver.wait(PATIENCE_S)
        datagram = receiver.take()
        assert datagram is not None
        assert not datagram.is_stamped
        assert abs(datagram.stamp_ns - receiver.now_ns()) < 5 * 10**9


def test_without_a_key_on_loopback() -> None:
    with reflector_of(None) as running:
        assert probe_path(PLAN, running.address).result.forward.loss_ratio == 0.0


def test_no_key_off_loopback_is_refused_with_the_way_out() -> None:
    for attempt in (
        lambda: Reflector(Address("0.0.0.0", 0)),
        lambda: probe_path(PLAN, Address("192.0.2.1", 7448)),
    ):
        with pytest.raises(AuthError, match="without a key") as caught:
            attempt()
        assert "netlab key new" in caught.value.hint


def test_a_wrong_key_gets_no_answer_and_leaves_nothing_behind(reflector: Reflector) -> None:
    with pytest.raises(ConnectionLost, match="nobody answers") as caught:
        probe_path(PLAN, reflector.address, Key(bytes(32)), timeout_s=1.5)
    assert "same key file" in caught.value.hint
    assert reflector.counters.sessions == 0
    assert reflector.counters.rejected.keys() == {"auth"}


def test_nobody_there_is_said_with_the_way_out() -> None:
    with StampedSocket.listening(LOCALHOST, LOCALHOST.resolve(socket.SOCK_DGRAM)) as taken:
        address = taken.address
    with pytest.raises(ConnectionLost, match="closed") as caught:
        probe_path(PLAN, address, KEY, timeout_s=0.3)
    assert "netlab probe serve" in caught.value.hint


def test_silence_is_said() -> None:
    with (
        StampedSocket.listening(LOCALHOST, LOCALHOST.resolve(socket.SOCK_DGRAM)) as silent,
        pytest.raises(ConnectionLost, match="nobody answers"),
    ):
        probe_path(PLAN, silent.address, KEY, timeout_s=0.3)


def test_an_agent_is_no_reflector() -> None:
    with Listener(LOCALHOST, KEY) as listener:
        done = threading.Event()

        def refuse() -> None:
            while not done.is_set():
                for event in listener.poll(0.05):
                    if isinstance(event, Opened):
                        event.session.send(Goodbye(reason=f"no task {event.hello.task.name}", refused=True))

        thread = threading.Thread(target=refuse)
        thread.start()
        try:
            with pytest.raises(RemoteProtocolError, match="no task netlab-probe"):
                probe_path(PLAN, listener.address, KEY, timeout_s=5.0)
        finally:
            done.set()
            thread.join(PATIENCE_S)


def test_how_late_a_datagram_is_taken_is_in_no_delay(
    reflector: Reflector, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = StampedSocket.take

    def late(self: StampedSocket) -> Datagram | None:
        time.sleep(0.03)
        return take(self)

    monkeypatch.setattr(StampedSocket, "take", late)
    plan = ProbePlan(rate_hz=10.0, count=11, wait_s=0.5)
    result = probe_path(plan, reflector.address, KEY, one_clock=True).result
    assert [trace.n for trace in result.traces] == [plan.count] * 3
    for trace in result.traces:
        assert 0.0 < float(np.median(trace.delay_s)) < 0.01


def test_a_port_that_is_taken_is_said(reflector: Reflector) -> None:
    with pytest.raises(KernelError, match="listen on"):
        Reflector(reflector.address, KEY)
    with pytest.raises(KernelError, match="from port"):
        probe_path(PLAN, reflector.address, KEY, local_port=reflector.address.port)


def test_a_name_with_two_addresses_is_tried_through(reflector: Reflector, monkeypatch: pytest.MonkeyPatch) -> None:
    port = reflector.address.port
    rows = [
        (socket.AF_INET, socket.SOCK_DGRAM, 0, "", ("127.0.0.9", port)),
        (socket.AF_INET, socket.SOCK_DGRAM, 0, "", ("127.0.0.1", port)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *names, **options: rows)
    assert probe_path(PLAN, Address("desktop.local", port), KEY).result.forward.loss_ratio == 0.0


def interfered(monkeypatch: pytest.MonkeyPatch, change: Callable[[Answer | None], Answer | None]) -> None:
    """Have every answer of a reflector go through ``change`` before it is sent."""
    take = Reflection.take

    def changed(self: Reflection, *arguments: object, **options: object) -> Answer | None:
        return change(take(self, *arguments, **options))  # type: ignore[arg-type]

    monkeypatch.setattr(Reflection, "take", changed)


def measure_with_deadline(reflector: Reflector, monkeypatch: pytest.MonkeyPatch) -> Measured:
    monkeypatch.setattr("netlab.probe.prober.LOG_PATIENCE_S", 0.5)
    return probe_path(PLAN, reflector.address, KEY, one_clock=True)


def test_a_reflector_that_vanishes_leaves_what_its_replies_have_told(
    reflector: Reflector, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = 0

    def vanish_after_100(answer: Answer | None) -> Answer | None:
        nonlocal answered
        answered += answer is not None
        return answer if answered <= 102 else None  # two of the handshake

    interfered(monkeypatch, vanish_after_100)
    result, summary = measure_with_deadline(reflector, monkeypatch)
    assert not result.has_log
    assert any("log" in note for note in summary.notes)
    assert (result.forward.lost[:100] == 0).all()
    assert (result.forward.lost[100:] == -1).all()
    assert result.round_trip is not None
    assert int(result.round_trip.lost.sum()) == 100


def test_a_reflector_that_sends_noise_is_not_believed(
    reflector: Reflector, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 0

    def spoil(answer: Answer | None) -> Answer | None:
        nonlocal n
        n += answer is not None
        if answer is None or n <= 2 or n % 2:
            return answer
        return Answer(answer.address, lambda stamp_ns: answer.build(stamp_ns)[:-1] + b"?", answer.note_sent)

    interfered(monkeypatch, spoil)
    result, _ = measure_with_deadline(reflector, monkeypatch)
    assert result.back is not None
    # Every second reply has a broken seal, but for one in 256 that ends in "?" anyway.
    assert 85 <= int(result.back.lost.sum()) <= 100
    assert result.forward.loss_ratio == 0.0


def test_a_stamp_is_the_kernels_and_not_the_time_of_reading() -> None:
    with (
        StampedSocket.listening(LOCALHOST, LOCALHOST.resolve(socket.SOCK_DGRAM)) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        time.sleep(0.3)  # the kernel begins to stamp soon after it was asked to
        before_ns = receiver.now_ns()
        sender.sendto(b"now", tuple(receiver.address))
        after_ns = receiver.now_ns()
        time.sleep(0.1)
        datagram = receiver.take()
        assert datagram is not None
        assert datagram.is_stamped
        assert before_ns <= datagram.stamp_ns < after_ns + 50_000_000
        assert receiver.take() is None


def test_a_flow_that_is_stopped_ends_soon_with_what_there_is(reflector: Reflector) -> None:
    plan = ProbePlan(rate_hz=100.0, count=100_000, wait_s=30.0)
    with ProberLink.open(reflector.address, KEY, plan) as link:
        prober = Prober(plan, link, lambda sent, replies: sent == 20 and prober.stop("SIGINT"))  # type: ignore[func-returns-value]
        began_s = time.monotonic()
        prober.run()
        assert time.monotonic() - began_s < 20.0
    assert prober.record.n_sent == 20
    assert prober.record.log is not None


def netlab(*words: object) -> list[str]:
    return [sys.executable, "-P", "-m", "netlab", *(str(word) for word in words)]


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    ready = tmp_path / "ready"
    command = netlab("probe", "serve", "--bind", "127.0.0.1:0", "--ready-file", ready, "--json")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline_s = time.monotonic() + PATIENCE_S
            while not ready.exists():
                assert process.poll() is None
                assert time.monotonic() < deadline_s
                time.sleep(0.02)
            yield process, ready.read_text().strip()
        finally:
            process.kill()


def test_the_commands_measure_and_write(serving: tuple[subprocess.Popen[str], str], tmp_path: Path) -> None:
    process, address = serving
    prefix, document = tmp_path / "path", tmp_path / "summary.json"
    command = netlab(
        "probe", "run", address, "--rate", 200, "--count", 100, "--wait", "1s", "--one-clock",
        "-o", prefix, "--json-file", document, "--json",
    )  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    summary = msgspec.json.decode(done.stdout, type=ProbeSummary)
    assert msgspec.json.decode(document.read_bytes(), type=ProbeSummary) == summary
    assert [path.path for path in summary.paths] == ["round-trip", "forward", "back"]
    for suffix, name in ((".csv", "round-trip"), (".forward.csv", "forward"), (".back.csv", "back")):
        trace = read_trace(f"{prefix}{suffix}")
        assert (trace.path.value, trace.n, trace.loss_ratio) == (name, 100, 0.0)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert msgspec.json.decode(output)["probes"] == 100


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_complete_files(tmp_path: Path, number: signal.Signals) -> None:
    prefix = tmp_path / "cut"
    with (
        reflector_of(None) as reflector,
        subprocess.Popen(
            netlab("probe", "run", reflector.address, "--rate", 100, "--for", "10min", "-o", prefix),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        try:
            deadline_s = time.monotonic() + PATIENCE_S
            while reflector.counters.probes < 20:
                assert time.monotonic() < deadline_s
                time.sleep(0.02)
            os.kill(process.pid, number)
            output, errors = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    assert f"ended early by {number.name}" in errors
    forward, back, round_trip = (read_trace(f"{prefix}{end}") for end in (".forward.csv", ".back.csv", ".csv"))
    assert forward.n == back.n == round_trip.n > 0
    assert f"{forward.n} probes of 200 bytes" in output
