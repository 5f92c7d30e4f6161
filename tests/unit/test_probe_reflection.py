"""Reflection: it answers those who have the key, to the address they have proven, no more than they sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_messages import make_hello

from netlab.errors import RemoteProtocolError
from netlab.messages import PROTOCOL_VERSION, Goodbye, Hello, Welcome
from netlab.probe import probe_frame as frames
from netlab.probe.departure import Departure
from netlab.probe.greeting import build_hello
from netlab.probe.probe_frame import LEAST_BYTES, LogPage, Probe, ProbeReply
from netlab.probe.probe_plan import MAX_WAIT_S, ProbePlan
from netlab.probe.reflection import Answer, Bounds, Reflection
from netlab.wire import key_agreement
from netlab.wire.codec import decode
from netlab.wire.copy_opener import MAX_COPIES, CopyOpener
from netlab.wire.handshake import Initiator
from netlab.wire.key import Key
from netlab.wire.seal import Sealer
from netlab.wire.statistics import Statistics

KEY = Key(bytes(range(32)))
HOME, ELSEWHERE = ("192.0.2.1", 40000), ("192.0.2.66", 40000)
STAMP_NS = 1_700_000_000_000_000_000


class Prober:
    """The other end of a session, in memory."""

    def __init__(self, reflection: Reflection, hello: Hello | None = None, now_s: float = 0.0) -> None:
        self.reflection = reflection
        self.now_s = now_s
        initiator = Initiator(KEY, hello or build_hello(ProbePlan(rate_hz=100.0), 1))
        challenge = self.bytes_of(initiator.request)
        assert initiator.receive(challenge)
        self.proof = initiator.request
        agreement = initiator.agreement
        assert agreement is not None
        self.opener = CopyOpener(agreement.receiving, agreement.session, Statistics())
        self.sealer = Sealer(agreement.sending, agreement.session)
        self.greeting = decode(self.opener.open(self.bytes_of(self.proof)).message)

    def give(self, packet: bytes, address: tuple[str, int] = HOME) -> Answer | None:
        answer = self.reflection.take(packet, address, STAMP_NS, self.now_s)
        if answer is not None:
            assert len(answer.build(STAMP_NS)) <= len(packet)
        return answer

    def bytes_of(self, packet: bytes) -> bytes:
        answer = self.reflection.take(packet, HOME, STAMP_NS, self.now_s)
        assert answer is not None
        assert answer.address == HOME
        built = answer.build(STAMP_NS + 7)
        answer.note_sent(STAMP_NS + 7)
        assert len(built) <= len(packet)
        return built

    def page(self) -> LogPage:
        answer = self.bytes_of(self.sealer.seal(frames.build_log_ask(0)))
        page = frames.read_log_page(self.opener.open(answer).message)
        assert page is not None
        return page

    def probe(self, number: int, size_bytes: int = 200, *, echo: bool = True) -> bytes:
        return self.sealer.seal(frames.build_probe(Probe(echo, number), size_bytes))


@pytest.fixture
def reflection() -> Reflection:
    return Reflection(KEY, 0.0)


@pytest.mark.parametrize("size_bytes", [LEAST_BYTES, 200, 1472])
def test_a_probe_is_answered_with_one_of_its_size(reflection: Reflection, size_bytes: int) -> None:
    prober = Prober(reflection)
    assert isinstance(prober.greeting, Welcome)
    answer = prober.bytes_of(prober.probe(3, size_bytes))
    assert len(answer) == size_bytes
    reply = frames.read_reply(prober.opener.open(answer).message)
    assert reply is not None
    assert reply == ProbeReply(number=3, receive_ns=STAMP_NS, reply_ns=STAMP_NS + 7, seen=0, reply_number=0)


def test_a_reply_tells_which_of_the_64_before_had_arrived(reflection: Reflection) -> None:
    prober = Prober(reflection)
    seen = {}
    for number in (0, 1, 3, 2, 4, 70, 5, 71, 300):
        reply = frames.read_reply(prober.opener.open(prober.bytes_of(prober.probe(number))).message)
        assert reply is not None
        seen[number] = {number - 1 - bit for bit in range(64) if reply.seen >> bit & 1}
    assert seen == {
        0: set(), 1: {0}, 3: {0, 1}, 2: {0, 1}, 4: {0, 1, 2, 3}, 70: set(), 5: seen[5], 71: {70}, 300: set(),
    }  # fmt: skip
    assert seen[5] <= {0, 1, 2, 3, 4}


def test_copies_are_answered_and_counted_up_to_a_bound(reflection: Reflection) -> None:
    prober = Prober(reflection)
    probe = prober.probe(0)
    numbers = []
    for _ in range(MAX_COPIES):
        reply = frames.read_reply(prober.opener.open(prober.bytes_of(probe)).message)
        assert reply is not None
        numbers.append(reply.reply_number)
    assert numbers == list(range(MAX_COPIES))
    for _ in range(100):
        assert prober.give(probe) is None
    assert reflection.counters.rejected == {"replay": 100}
    assert reflection.counters.copies == MAX_COPIES - 1


def test_a_flow_one_way_gets_no_replies_and_is_in_the_log(reflection: Reflection) -> None:
    prober = Prober(reflection)
    for number in (0, 2, 1, 2):
        assert prober.give(prober.probe(number, echo=False)) is None
    page = frames.read_log_page(
        prober.opener.open(prober.bytes_of(prober.sealer.seal(frames.build_log_ask(0)))).message
    )
    assert page is not None
    assert page.rows["number"].tolist() == [0, 2, 1, 2]
    assert page.rows["receive_ns"].tolist() == [STAMP_NS] * 4
    assert set(page.rows["turnaround_ns"].tolist()) == {frames.UNANSWERED_NS}


def test_what_comes_after_the_log_was_asked_for_is_late(reflection: Reflection) -> None:
    prober = Prober(reflection)
    prober.bytes_of(prober.probe(0))
    prober.bytes_of(prober.sealer.seal(frames.build_log_ask(0)))
    assert prober.give(prober.probe(1)) is None
    page = frames.read_log_page(
        prober.opener.open(prober.bytes_of(prober.sealer.seal(frames.build_log_ask(0)))).message
    )
    assert page is not None
    assert (page.n_rows, page.late) == (1, 1)
    assert page.rows["turnaround_ns"].tolist() == [7]


def test_a_stranger_gets_nothing_not_even_a_refusal(reflection: Reflection) -> None:
    initiator = Initiator(Key(bytes(32)), build_hello(ProbePlan(), 1))
    assert reflection.take(initiator.request, ELSEWHERE, STAMP_NS, 0.0) is None
    other_version = key_agreement.build_ask(bytes(32), bytes(32), PROTOCOL_VERSION + 1)
    assert reflection.take(other_version, ELSEWHERE, STAMP_NS, 0.0) is None
    assert reflection.counters.rejected == {"auth": 1, "version": 1}
    assert reflection.n_sessions == 0


@given(st.binary(max_size=2000), st.integers(0, 6))
def test_no_bytes_of_a_stranger_get_an_answer_or_make_it_raise(data: bytes, first: int) -> None:
    reflection = Reflection(KEY, 0.0)
    for packet in (data, bytes((first,)) + data):
        assert reflection.take(packet, ELSEWHERE, STAMP_NS, 0.0) is None
    assert reflection.n_sessions == 0


def test_a_frame_of_no_session_and_a_forged_one_get_nothing(reflection: Reflection) -> None:
    prober = Prober(reflection)
    assert prober.give(Sealer(bytes(32), 999).seal(bytes(167))) is None
    forged = bytearray(prober.probe(0))
    forged[-1] ^= 1
    assert prober.give(bytes(forged)) is None
    assert reflection.counters.rejected == {"unknown": 1, "auth": 1}
    assert reflection.counters.probes == 0


def test_a_frame_shown_from_elsewhere_is_answered_nowhere_and_uses_up_no_copy(reflection: Reflection) -> None:
    prober = Prober(reflection)
    probe = prober.probe(0)
    for _ in range(2 * MAX_COPIES):
        assert prober.give(probe, ELSEWHERE) is None
    assert reflection.counters.elsewhere == 2 * MAX_COPIES
    assert prober.give(probe) is not None
    assert (reflection.counters.copies, reflection.counters.rejected) == (0, {})


def test_what_is_no_probe_is_acted_on_once(reflection: Reflection) -> None:
    prober = Prober(reflection)
    prober.bytes_of(prober.probe(0))
    ask = prober.sealer.seal(frames.build_log_ask(0))
    assert prober.give(ask) is not None
    for _ in range(19):
        assert prober.give(ask) is None
    assert (reflection.counters.pages, reflection.counters.repeated) == (1, MAX_COPIES - 1)
    assert prober.page().n_rows == 1, "asked again in a frame of its own"


def test_a_reply_that_was_not_sent_is_counted_and_in_the_log(reflection: Reflection) -> None:
    prober = Prober(reflection)
    for number, departure in enumerate((Departure.LEFT, Departure.NO_ROOM, Departure.NO_WAY)):
        answer = prober.give(prober.probe(number))
        assert answer is not None
        answer.note_sent(STAMP_NS + 7)
        if departure is not Departure.LEFT:
            reflection.note_unsent(answer, departure)
    assert prober.page().rows["turnaround_ns"].tolist() == [7, frames.UNSENT_NS, 7]
    assert reflection.counters.unsent == 2


def test_a_turnaround_that_cannot_be_told_is_said_to_be_none(reflection: Reflection) -> None:
    prober = Prober(reflection)
    times_ns = (0, 7, frames.TOO_LONG_NS - 1, frames.TOO_LONG_NS, 2**33, -1)
    for number, turnaround_ns in enumerate(times_ns):
        answer = prober.give(prober.probe(number))
        assert answer is not None
        answer.note_sent(STAMP_NS + turnaround_ns)
    told = prober.page().rows["turnaround_ns"].tolist()
    assert told == [0, 7, frames.TOO_LONG_NS - 1, *[frames.TOO_LONG_NS] * 3]


def test_a_clock_that_is_set_is_told_to_the_sessions_that_it_was_set_under(reflection: Reflection) -> None:
    reflection.note_clock(1)
    before = Prober(reflection)
    assert not before.page().clock_set
    reflection.note_clock(2)
    assert before.page().clock_set
    assert not Prober(reflection).page().clock_set
    assert reflection.counters.clock_steps == 2


def test_stamps_that_are_not_the_kernels_are_told(reflection: Reflection) -> None:
    prober, other = Prober(reflection), Prober(reflection)
    reflection.take(prober.probe(0), HOME, STAMP_NS, 0.0, is_stamped=False)
    assert prober.page().unstamped
    assert not other.page().unstamped
    assert reflection.counters.unstamped == 1


def test_a_silent_session_makes_room_where_all_are_taken_and_no_sooner_than_its_rate_allows() -> None:
    reflection = Reflection(KEY, 0.0, Bounds(sessions=2))
    slow = Prober(reflection, build_hello(ProbePlan(rate_hz=0.1), 1))  # 20 of its probes are 200 s
    fast = Prober(reflection)
    fast.now_s = MAX_WAIT_S
    assert fast.give(fast.probe(0)) is not None, "the longest wait before a log is asked for"
    assert isinstance(Prober(reflection, now_s=MAX_WAIT_S + 74.0).greeting, Goodbye)
    assert isinstance(Prober(reflection, now_s=MAX_WAIT_S + 76.0).greeting, Welcome)
    assert reflection.counters.displaced == 1
    assert fast.give(fast.probe(1)) is None
    slow.now_s = 199.0
    assert slow.give(slow.probe(0)) is not None


def test_a_recorded_handshake_opens_nothing_and_answers_the_same(reflection: Reflection) -> None:
    prober = Prober(reflection)
    first, second = prober.bytes_of(prober.proof), prober.bytes_of(prober.proof)
    assert first == second
    assert reflection.n_sessions == 1
    reflection.take(prober.sealer.seal(frames.build_farewell()), HOME, STAMP_NS, 0.0)
    assert reflection.n_sessions == 0
    prober.bytes_of(prober.proof)
    assert reflection.n_sessions == 0


def test_a_farewell_said_thrice_is_no_stranger(reflection: Reflection) -> None:
    prober = Prober(reflection)
    farewell = prober.sealer.seal(frames.build_farewell())
    for _ in range(3):
        assert prober.give(farewell) is None
    assert reflection.counters.rejected == {}


@pytest.mark.parametrize("size_bytes", [1473, 60_001])
def test_what_is_too_large_is_dropped(reflection: Reflection, size_bytes: int) -> None:
    prober = Prober(reflection)
    assert prober.give(prober.probe(0, size_bytes)) is None
    assert reflection.counters.rejected == {"oversize": 1}


def test_an_ask_for_the_log_smaller_than_a_page_gets_nothing(reflection: Reflection) -> None:
    prober = Prober(reflection)
    assert prober.give(prober.sealer.seal(frames.build_log_ask(0)[:100])) is None
    assert reflection.counters.rejected == {"malformed": 1}


def test_a_flood_is_logged_and_answered_at_twice_the_rate_that_was_announced() -> None:
    reflection = Reflection(KEY, 0.0, Bounds(rate_slack=2.0, burst=50))
    prober = Prober(reflection)
    n = 10_000
    answered = 0
    for number in range(n):  # 10,000 a second where 100 were announced
        prober.now_s = number / 10_000
        answered += prober.give(prober.probe(number)) is not None
    assert answered <= 50 + 2 * 100 * 1.0 + 1
    assert answered >= 50 + 2 * 100 * 1.0 - 2
    counters = reflection.counters
    assert (counters.probes, counters.replies, counters.held_back) == (n, answered, n - answered)


def test_a_pause_saves_up_no_more_than_the_burst() -> None:
    reflection = Reflection(KEY, 0.0, Bounds(burst=50))
    prober = Prober(reflection)
    prober.now_s = 200.0
    assert sum(prober.give(prober.probe(number)) is not None for number in range(500)) == 50


def test_a_log_without_room_is_said_to_have_been_full() -> None:
    reflection = Reflection(KEY, 0.0, Bounds(rows=3))
    prober = Prober(reflection)
    for number in range(5):
        prober.bytes_of(prober.probe(number))
    page = frames.read_log_page(
        prober.opener.open(prober.bytes_of(prober.sealer.seal(frames.build_log_ask(0)))).message
    )
    assert page is not None
    assert page.overflowed
    assert page.rows["number"].tolist() == [0, 1, 2]


def test_sessions_are_bounded_and_the_idle_are_forgotten() -> None:
    reflection = Reflection(KEY, 0.0, Bounds(sessions=2, idle_s=10.0))
    first, _ = Prober(reflection), Prober(reflection)
    third = Prober(reflection)
    assert isinstance(third.greeting, Goodbye)
    assert third.greeting.refused
    assert "2 probers" in third.greeting.reason
    assert reflection.n_sessions == 2
    first.now_s = 9.0
    assert first.give(first.probe(0)) is not None
    assert isinstance(Prober(reflection, now_s=11.0).greeting, Welcome)  # the second was idle
    reflection.forget_idle(30.0)
    assert reflection.n_sessions == 0


def test_an_environment_is_told_that_this_is_no_agent(reflection: Reflection) -> None:
    greeting = Prober(reflection, make_hello()).greeting
    assert isinstance(greeting, Goodbye)
    assert greeting.refused
    assert "netlab agent serve" in greeting.reason
    assert reflection.n_sessions == 0


@pytest.mark.parametrize("nonsense", [b"", b"\x01", bytes(60), b"\x07" + bytes(100), b"\x04" + bytes(100)])
def test_nonsense_of_one_who_has_the_key_is_counted(reflection: Reflection, nonsense: bytes) -> None:
    prober = Prober(reflection)
    assert prober.give(prober.sealer.seal(nonsense)) is None
    assert reflection.counters.rejected == {"malformed": 1}


@given(st.lists(st.tuples(st.integers(0, 6), st.binary(max_size=1400)), max_size=20))
def test_nothing_that_one_with_the_key_says_makes_it_raise_or_answer_more(
    messages: list[tuple[int, bytes]],
) -> None:
    prober = Prober(Reflection(KEY, 0.0))
    for first, rest in messages:
        prober.give(prober.sealer.seal(bytes((first,)) + rest))


def test_a_hello_outside_the_bounds_is_refused(reflection: Reflection) -> None:
    import msgspec

    good = build_hello(ProbePlan(), 1)
    fast = msgspec.structs.replace(good, task=msgspec.structs.replace(good.task, rate_hz=50_000.0))
    space = msgspec.structs.replace(good.task.observation, shape=(9000,))
    large = msgspec.structs.replace(good, task=msgspec.structs.replace(good.task, observation=space))
    for hello in (fast, large):
        greeting = Prober(reflection, hello).greeting
        assert isinstance(greeting, Goodbye)
        assert greeting.refused


def test_the_prober_refuses_what_is_no_frame_of_its_session(reflection: Reflection) -> None:
    prober, other = Prober(reflection), Prober(reflection)
    with pytest.raises(RemoteProtocolError):
        prober.opener.open(other.bytes_of(other.probe(0)))
