"""Output of ping as traces: gaps are losses, copies are counted, rows are in the order of sending."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.errors import TraceError
from netlab.traces.importers import ping_log
from netlab.traces.importers.catalogue import import_trace
from netlab.traces.importers.importer import ImportOptions
from netlab.traces.importers.ping_answers import regular_answers
from netlab.traces.importers.ping_log import EVENT
from netlab.traces.trace import UNKNOWN, ClockVerdict, Trace, TracedPath

SAMPLES = Path(__file__).parents[1] / "samples"
LINUX = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n"
OTHERS = "PING 192.0.2.1 (192.0.2.1): 56 data bytes\n"
NAN = math.nan


def reply(number: int, time: str = "10.0", after: str = "") -> str:
    return f"64 bytes from 192.0.2.1: icmp_seq={number} ttl=64 time={time} ms{after}\n"


def summary(sent: int, received: int, rest: str = "") -> str:
    counts = f"{sent} packets transmitted, {received} received, x% packet loss{rest}"
    return f"\n--- 192.0.2.1 ping statistics ---\n{counts}\n"


def read(tmp_path, text: str, **options) -> Trace:
    path = tmp_path / "ping.txt"
    path.write_bytes(text.encode())
    (trace,) = import_trace(path, "ping", ImportOptions(**options))
    return trace


def milliseconds(trace: Trace) -> list[float | None]:
    return [None if math.isnan(value) else round(1e3 * value, 6) for value in trace.delay_s.tolist()]


def test_iputils():
    (trace,) = import_trace(SAMPLES / "ping-iputils.txt")
    assert milliseconds(trace) == [9.12, 46.9, None, 311.0, 104.0, None, None, 8.71, None, None]
    # Answers usually take 47 ms, packets leave every 201 ms, and there is a summary: nothing was on its way.
    assert trace.lost.tolist() == [0, 0, 1, 0, 0, 1, 1, 0, 1, 1]
    assert trace.copies.tolist() == [1, 1, 0, 2, 1, 0, 0, 1, 0, 0]
    assert (trace.path, trace.clocks) == (TracedPath.ROUND_TRIP, ClockVerdict.ONE_CLOCK)
    # "time 1809ms" for ten packets, the last of which was not answered.
    assert trace.t_s.tolist() == pytest.approx([0.201 * number for number in range(10)])
    assert trace.source == "ping-iputils.txt, ping, to three digits (1 ms from 100 ms on)"
    assert trace.delay_s[0] == 0.00912  # bit for bit


def test_iputils_with_stamps():
    (trace,) = import_trace(SAMPLES / "ping-iputils-stamped.txt")
    assert milliseconds(trace) == [20.0, 35.0, None, 25.0, 30.0, None]
    assert trace.lost.tolist() == [0, 0, 1, 0, 0, 1]
    # Sent when the answer was printed less its round trip; the third between its neighbours, the last after them.
    assert trace.t_s.tolist() == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], abs=1e-6)


def test_busybox_counts_from_zero():
    (trace,) = import_trace(SAMPLES / "ping-busybox.txt")
    assert milliseconds(trace) == [12.345, 0.871, None, 104.002, None]
    assert trace.copies.tolist() == [1, 2, 0, 1, 0]
    assert trace.t_s.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert trace.source == "ping-busybox.txt, ping"


def test_macos_an_answer_after_its_timeout_is_an_answer():
    (trace,) = import_trace(SAMPLES / "ping-macos.txt")
    assert milliseconds(trace) == [12.345, None, 20.125, 1010.5, 11.25, None, None]
    assert trace.lost.tolist() == [0, 1, 0, 0, 0, 1, 1]


def test_ipv6_in_both_wordings(tmp_path):
    linux = "PING ::1(::1) 56 data bytes\n64 bytes from ::1: icmp_seq=2 ttl=64 time=0.045 ms\n"
    assert milliseconds(read(tmp_path, linux)) == [None, 0.045]
    macos = "PING6(56=40+8+8 bytes) ::1 --> ::1\n16 bytes from ::1, icmp_seq=1 hlim=64 time=0.085 ms\n"
    assert milliseconds(read(tmp_path, macos)) == [None, 0.085]


def test_losses_at_the_beginning_are_known_by_the_first_line(tmp_path):
    assert milliseconds(read(tmp_path, LINUX + reply(3))) == [None, None, 10.0]
    assert milliseconds(read(tmp_path, OTHERS + reply(3))) == [None, None, None, 10.0]


def test_a_log_that_begins_later_claims_nothing_of_what_came_before(tmp_path):
    trace = read(tmp_path, reply(500) + reply(502) + summary(504, 499, ", time 503000ms"))
    assert milliseconds(trace) == [10.0, None, 10.0, None, None]


def test_interrupted_output_ends_where_it_ends(tmp_path):
    # 12 may have been 123: half a line says nothing.
    trace = read(tmp_path, LINUX + reply(1) + reply(2) + "64 bytes from 192.0.2.1: icmp_seq=3 ttl=64 time=12")
    assert milliseconds(trace) == [10.0, 10.0]


def test_no_answer_yet_at_the_end_is_a_loss(tmp_path):
    assert read(tmp_path, LINUX + reply(1) + "no answer yet for icmp_seq=2\n").lost.tolist() == [0, 1]


def test_no_answer_yet_and_then_an_answer_is_an_answer(tmp_path):
    text = LINUX + reply(1) + "no answer yet for icmp_seq=2\n" + reply(3) + reply(2, "1500")
    assert milliseconds(read(tmp_path, text)) == [10.0, 1500.0, 10.0]


def test_what_could_not_be_sent_at_the_end_is_lost(tmp_path):
    text = LINUX + reply(1) + "ping: sendmsg: Network is unreachable\n" * 2
    assert read(tmp_path, text).lost.tolist() == [0, 1, 1]


def test_nothing_answered_at_all(tmp_path):
    trace = read(tmp_path, LINUX + summary(4, 0, ", time 3000ms"))
    assert trace.lost.tolist() == [1, 1, 1, 1] and trace.t_s.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert read(tmp_path, LINUX + "ping: sendmsg: Network is unreachable\n" * 3).lost.tolist() == [1, 1, 1]


def test_what_was_on_its_way_when_ping_was_broken_off_is_not_known(tmp_path):
    # Every 0.2 s, answered after 0.3 s: at the end the last two are on their way, and one in the middle is lost.
    answers = "".join(reply(number, "300") for number in range(1, 9) if number != 4)
    trace = read(tmp_path, LINUX + answers + summary(10, 7, ", time 1800ms"))
    assert trace.lost.tolist() == [0, 0, 0, 1, 0, 0, 0, 0, UNKNOWN, UNKNOWN]
    assert trace.copies.tolist() == [1, 1, 1, 0, 1, 1, 1, 1, UNKNOWN, UNKNOWN]
    assert trace.loss_ratio == pytest.approx(1 / 8)


def test_ping_that_counts_waits_so_that_what_it_did_not_answer_is_lost(tmp_path):
    asked = LINUX + "no answer yet for icmp_seq=1\nno answer yet for icmp_seq=2\n"
    assert read(tmp_path, asked + summary(3, 0, ", time 410ms")).lost.tolist() == [1, 1, 1]
    assert read(tmp_path, LINUX + reply(1) + reply(2) + summary(3, 2, ", time 400ms")).lost.tolist() == [0, 0, 1]


@pytest.mark.parametrize("end", ["^C" + summary(3, 2, ", time 400ms"), ""])
def test_of_the_last_packet_of_ping_that_was_surely_broken_off_nothing_is_known(tmp_path, end):
    text = LINUX + reply(1) + reply(2) + "no answer yet for icmp_seq=3\n" * (not end) + end
    # Without a summary it is the "no answer yet" that says it was awaited for the whole interval.
    assert read(tmp_path, text).lost.tolist() == [0, 0, UNKNOWN if end else 1]


def test_each_of_several_pings_has_its_own_end(tmp_path):
    one = LINUX + reply(1, "300") + "^C" + summary(3, 1, ", time 2000ms")
    assert read(tmp_path, one + one).lost.tolist() == [0, 1, UNKNOWN] * 2


def test_the_counter_of_16_bits_begins_anew(tmp_path):
    numbers = [65533, 65534, 1, 65535, 0, 3]  # one late, and the second lost
    trace = read(tmp_path, "".join(reply(number, f"{place + 1}.0") for place, number in enumerate(numbers)))
    assert milliseconds(trace) == [1.0, 2.0, 4.0, 5.0, 3.0, None, 6.0]


def test_the_counter_begins_anew_more_than_once(tmp_path):
    numbers = [place & 0xFFFF for place in range(1, 200_000) if place % 7]
    trace = read(tmp_path, LINUX + "".join(map(reply, numbers)))
    assert trace.n == 199_999 and trace.loss_ratio == pytest.approx(1 / 7, abs=1e-4)
    assert np.flatnonzero(trace.lost).tolist() == list(range(6, 199_999, 7))


def test_stamps_of_answers_out_of_order_are_put_in_the_order_of_sending(tmp_path):
    text = "".join(
        f"[{stamp}] {reply(number, time)}"
        for stamp, number, time in (("100.010000", 1, "10.0"), ("100.430000", 3, "30.0"), ("100.450000", 2, "250"))
    )
    trace = read(tmp_path, LINUX + text)
    assert milliseconds(trace) == [10.0, 250.0, 30.0]
    assert trace.t_s.tolist() == pytest.approx([0.0, 0.2, 0.4], abs=1e-6)


def test_stamps_that_go_back_are_refused_unless_the_interval_is_said(tmp_path):
    text = LINUX + f"[1000.000000] {reply(1)}[900.000000] {reply(2)}"
    with pytest.raises(TraceError, match=r"the stamps go back by 100\.0 s") as caught:
        read(tmp_path, text)
    assert "--interval" in caught.value.hint
    assert read(tmp_path, text, interval_s=0.5).t_s.tolist() == [0.0, 0.5]


def test_the_interval_is_what_one_says_or_a_second(tmp_path):
    assert read(tmp_path, LINUX + reply(1) + reply(2)).t_s.tolist() == [0.0, 1.0]
    assert read(tmp_path, LINUX + reply(1) + reply(2), interval_s=0.2).t_s.tolist() == [0.0, 0.2]


def test_the_interval_is_in_the_summary(tmp_path):
    # As ping has it: from the first sending to the last, the wait for the last answer (10 ms) not in it.
    trace = read(tmp_path, LINUX + "".join(map(reply, range(1, 12))) + summary(11, 11, ", time 2000ms"))
    assert trace.interval_s == pytest.approx(0.2)


def test_a_flood_of_less_than_a_millisecond_is_not_spread_over_seconds(tmp_path):
    answers = "".join(reply(number, "0.003") for number in range(1, 51))
    assert read(tmp_path, LINUX + answers + summary(50, 50, ", time 0ms")).duration_s < 0.001
    answers = "".join(reply(number, "2.0") for number in range(1, 4))
    assert read(tmp_path, LINUX + answers + summary(3, 3, ", time 1ms")).t_s.tolist() == [0.0, 0.0005, 0.001]


@pytest.mark.parametrize("before", ["\ufeff", " ", "\t", "\ufeff  "])
def test_losses_at_the_beginning_are_known_whatever_stands_before_the_first_line(tmp_path, before):
    trace = read(tmp_path, before + LINUX + reply(3) + reply(4))
    assert trace.lost.tolist() == [1, 1, 0, 0]


def test_a_later_ping_may_stand_behind_a_blank_too(tmp_path):
    assert read(tmp_path, (" " + LINUX + reply(2)) * 2).lost.tolist() == [1, 0] * 2


def test_a_log_with_every_answer_of_its_summary_has_its_beginning(tmp_path):
    text = reply(3) + reply(5) + summary(5, 2, ", time 800ms")
    trace = read(tmp_path, text)
    assert trace.lost.tolist() == [1, 1, 0, 1, 0] and trace.interval_s == pytest.approx(0.2)
    # One answer fewer: its beginning may be cut off.
    assert read(tmp_path, text.replace("2 received", "3 received")).lost.tolist()[:3] == [0, 1, 0]


@pytest.mark.parametrize(
    ("old", "new"),
    [(" ttl", " ident=15039 ttl"), (" ms\n", " ms\a\n"), (" ms\n", " ms\t(same route)\n")],
    ids=["ping -v", "ping -a", "ping -R"],
)
def test_options_of_iputils_that_change_its_lines(tmp_path, old, new):
    text = LINUX + (reply(1) + reply(2)).replace(old, new)
    assert milliseconds(read(tmp_path, text)) == [10.0, 10.0]


def test_many_empty_lines_behind_a_ping_are_passed_over(tmp_path, monkeypatch):
    tried = []

    class Counted:
        def __init__(self, pattern):
            self.pattern = pattern

        def match(self, *args):
            return self.pattern.match(*args)

        def findall(self, block):
            tried.append(len(block))
            return self.pattern.findall(block)

    monkeypatch.setattr(ping_log, "EVENT", Counted(EVENT))
    assert read(tmp_path, LINUX + reply(1) + "\n" * 2_000_000).n == 1
    assert sum(tried) <= 256 << 10  # the first block alone has a number


def test_several_pings_in_one_file_follow_each_other(tmp_path):
    one = LINUX + reply(1) + reply(3) + summary(4, 2, ", time 3000ms")
    trace = read(tmp_path, one + "\n" + one)
    assert milliseconds(trace) == [10.0, None, 10.0, None] * 2
    assert trace.t_s.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


def test_between_several_stamped_pings_there_is_the_time_that_was(tmp_path):
    one = LINUX + f"[100.010000] {reply(1)}[100.210000] {reply(2)}"
    other = LINUX + f"[160.010000] {reply(1)}[160.210000] {reply(2)}"
    assert read(tmp_path, one + other).t_s.tolist() == pytest.approx([0.0, 0.2, 60.0, 60.2], abs=1e-6)


def test_pings_of_two_hosts_are_not_one_path(tmp_path):
    other = LINUX.replace("192.0.2.1", "198.51.100.9") + reply(1)
    with pytest.raises(TraceError, match=r"192\.0\.2\.1 and 198\.51\.100\.9") as caught:
        read(tmp_path, LINUX + reply(1) + other)
    assert caught.value.line == 3


def test_another_ping_without_its_first_line_is_not_taken_for_copies(tmp_path):
    with pytest.raises(TraceError, match=r"icmp_seq 1 is answered again, without \(DUP!\)"):
        read(tmp_path, LINUX + reply(1) + reply(2) + reply(1) + reply(2))


def test_a_quiet_log_is_not_taken_for_one_of_losses(tmp_path):
    with pytest.raises(TraceError, match="the summary says 3 received, 0 are in the log") as caught:
        read(tmp_path, LINUX + summary(4, 3, ", time 3000ms"))
    assert "without -q" in caught.value.hint
    with pytest.raises(TraceError, match="the summary says 3 received, 0 are in the log"):
        read(tmp_path, summary(4, 3, ", time 3000ms"))


def test_an_answer_without_a_time_has_arrived(tmp_path):
    # ping -s 8: there is no room for a stamp in the packet.
    trace = read(tmp_path, LINUX + "16 bytes from 192.0.2.1: icmp_seq=1 ttl=64\n" + reply(2))
    assert milliseconds(trace) == [None, 10.0] and trace.lost.tolist() == [0, 0]


def test_below_the_clock_is_its_middle(tmp_path):
    text = LINUX + reply(1).replace("time=10.0", "time<1")
    assert milliseconds(read(tmp_path, text)) == [0.5]


def test_lines_of_windows_ends_are_read(tmp_path):
    assert milliseconds(read(tmp_path, (LINUX + reply(1) + reply(2)).replace("\n", "\r\n"))) == [10.0, 10.0]


@pytest.mark.parametrize(
    "time", ["-3.0", "nan", "NaN", "inf", "1e3", "", "12,3", "1.2.3", "99999999999", "\u0663"]
)
def test_a_time_that_is_none_is_refused_with_its_line(tmp_path, time):
    with pytest.raises(TraceError, match="is no line of ping's") as caught:
        read(tmp_path, LINUX + reply(1) + reply(2, time) + reply(3))
    assert caught.value.line == 3 and caught.value.hint


def test_a_round_trip_of_days_is_refused(tmp_path):
    with pytest.raises(TraceError, match="a round trip of 1e\\+08 ms"):
        read(tmp_path, LINUX + reply(1, "100000000"))


def test_the_line_to_blame_is_found_behind_others_and_another_ping(tmp_path):
    text = (
        LINUX + reply(1) + summary(1, 1) + LINUX + reply(1) * 1 + "64 bytes from x: icmp_seq=2 ttl=64 time=? ms\n"
    )
    with pytest.raises(TraceError) as caught:
        read(tmp_path, text)
    assert caught.value.line == text[: text.index("?")].count("\n") + 1


@pytest.mark.parametrize("text", [LINUX + reply(1) + reply(999_999_999), LINUX + summary(999_999_999, 0)])
def test_a_few_bytes_do_not_ask_for_billions_of_rows(tmp_path, text):
    with pytest.raises(TraceError, match="speaks of 999999999 packets"):
        read(tmp_path, text)


def test_a_log_of_very_many_pings_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(ping_log, "MAX_RUNS", 10)
    with pytest.raises(TraceError, match="begins more than 10 pings"):
        read(tmp_path, (LINUX + reply(1)) * 12)
    assert read(tmp_path, (LINUX + reply(1)) * 9).n == 9


def test_a_summary_on_the_first_line_is_one(tmp_path):
    assert read(tmp_path, "2 packets transmitted, 0 received, 100% packet loss, time 1000ms\n").n == 2


@pytest.mark.parametrize(
    "text", ["", "hello\n", LINUX, "\0" * 1000, "Reply from 192.0.2.1: bytes=32 time=1ms TTL=64\n"]
)
def test_what_holds_no_answer_is_refused(tmp_path, text):
    with pytest.raises(TraceError, match="holds no answer and no summary") as caught:
        read(tmp_path, text)
    assert caught.value.hint


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_answers_cut_out_all_at_once_are_those_of_the_pattern(data):
    """The fast way through a block says what the pattern says of it, or nothing."""
    stamped = data.draw(st.booleans())
    lines = []
    for place in range(data.draw(st.integers(1, 8))):
        stamp = f"[17000000{place:02d}.{data.draw(st.integers(0, 999999)):06d}] " if stamped else ""
        time = data.draw(st.sampled_from(["46.9", "104", "0.871", "9.12"]))
        ttl = data.draw(st.sampled_from([57, 57, 57, 64]))
        dup = data.draw(st.sampled_from(["", "", " (DUP!)"]))
        lines.append(f"{stamp}64 bytes from 192.0.2.1: icmp_seq={place + 1} ttl={ttl} time={time} ms{dup}\n")
    block = bytearray("".join(lines).encode())
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(0, len(block) - 1))
        block[place : place + 1] = data.draw(
            st.sampled_from([b"", b".", b",", b"-", b"e", b"\n", b"7", b" ", b"\n."])
        )
    text = bytes(block) if block.endswith(b"\n") else bytes(block) + b"\n"
    fast = regular_answers(text, EVENT.match(text))
    events = EVENT.findall(text)
    if fast is None:
        return
    assert len(events) == text.count(b"\n")
    for column, texts in zip(fast, zip(*events, strict=True), strict=True):
        expected = [float(word) if word else NAN for word in texts]
        assert np.array_equal(column, expected, equal_nan=True)


def test_answers_that_are_alike_are_cut_out_all_at_once():
    text = "".join(reply(number, "9.1", " (DUP!)" * (number % 3 == 0)) for number in range(1, 50)).encode()
    text = text.replace(b"seq=7 ttl=64", b"seq=7 ttl=57")
    assert regular_answers(text, EVENT.match(text)) is not None
    assert regular_answers(text + b"no answer yet for icmp_seq=50\n", EVENT.match(text)) is None


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_whatever_order_and_copies_answers_have_each_packet_is_a_row(tmp_path_factory, data):
    n = data.draw(st.integers(1, 40))
    copies = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    answers = data.draw(st.permutations([number for number, times in enumerate(copies) for _ in range(times)]))
    seen: dict[int, float] = {}
    lines = []
    for place, number in enumerate(answers):
        lines.append(reply(number + 1, f"{place + 1}.0", " (DUP!)" if number in seen else ""))
        seen.setdefault(number, place + 1.0)
    stopped = data.draw(st.sampled_from(["", "^C"]))
    text = LINUX + "".join(lines) + stopped + summary(n, len(seen), f", time {n}00ms")
    trace = read(tmp_path_factory.mktemp("ping"), text)
    unknown = trace.lost == UNKNOWN
    assert np.where(unknown, 0, trace.copies).tolist() == copies
    assert trace.lost[~unknown].tolist() == [int(times == 0) for times in np.array(copies)[~unknown]]
    # By hand: within the longest round trip of whatever came last, a packet sent or an answer.
    longest_s, end_s = max(seen.values(), default=1000.0) / 1e3, trace.t_s[-1]
    end_s = max([end_s, *(trace.t_s[number] + rtt_ms / 1e3 for number, rtt_ms in seen.items())])
    usual_ms = 1e3 * float(np.median(np.diff(trace.t_s))) if n > 1 else 1000.0
    if not stopped and np.median(list(seen.values()) or [0.0]) <= usual_ms:
        end_s = math.inf  # it waited
    late = [times == 0 and bool(at > end_s - longest_s) for times, at in zip(copies, trace.t_s, strict=True)]
    assert unknown.tolist() == late
    assert milliseconds(trace) == [seen.get(number) for number in range(n)]
