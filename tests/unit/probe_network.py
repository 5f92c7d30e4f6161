"""A network between a ProbeRecord and a ReflectedSession, whose fates a test decides."""

from __future__ import annotations

import heapq
import itertools
from typing import NamedTuple

from netlab.probe.departure import Departure
from netlab.probe.greeting import build_hello
from netlab.probe.probe_frame import Probe, ProbeReply, read_log_page, read_reply
from netlab.probe.probe_plan import ProbePlan
from netlab.probe.probe_record import ProbeRecord
from netlab.probe.reflected_session import ReflectedSession
from netlab.wire.copy_opener import CopyOpener
from netlab.wire.handshake import Accepted
from netlab.wire.key_agreement import Agreement
from netlab.wire.statistics import Statistics

SESSION, THERE, BACK = 77, bytes(range(32)), bytes(range(32, 64))
TURNAROUND_NS = 20_000
EPOCH_NS = 1_700_000_000_000_000_000


class Fate(NamedTuple):
    """What becomes of one probe: a delay a copy that arrives, and for each of them one a copy of its reply."""

    there_ns: tuple[int, ...]
    back_ns: tuple[tuple[int, ...], ...]


def new_session(plan: ProbePlan, max_rows: int = 1 << 20) -> ReflectedSession:
    accepted = Accepted(Agreement(SESSION, BACK, THERE, bytes(32)), build_hello(plan, 1))
    return ReflectedSession(
        accepted, ("192.0.2.1", 9), Statistics(), 0.0, max_rows=max_rows, reply_rate_hz=1e6, burst=10**6
    )


class ProbeNetwork:
    """Runs a plan over fates; ``record`` holds what the prober knows then.

    Args:
        plan: What is sent.
        fates: One a probe.
        ahead_ns: What the reflector's clock is ahead, at a time.
        gain: What it gains, seconds a second.
        max_rows: Rows of the reflector's log.
        held_back: Probes that the reflector does not answer, for their rate.
        no_room: Probes that do not leave the prober's host, whose buffers are full.
        no_room_back: Probes whose replies do not leave the reflector's host.
        turnaround_ns: How long the reflector has a probe, by number, if not ``TURNAROUND_NS``.
    """

    def __init__(
        self,
        plan: ProbePlan,
        fates: list[Fate],
        *,
        ahead_ns: int = 0,
        gain: float = 0.0,
        max_rows: int = 1 << 20,
        held_back: frozenset[int] = frozenset(),
        no_room: frozenset[int] = frozenset(),
        no_room_back: frozenset[int] = frozenset(),
        turnaround_ns: dict[int, int] | None = None,
    ) -> None:
        self.plan = plan
        self.record = ProbeRecord(plan.count)
        self.session = new_session(plan, max_rows)
        self.replies_sent: list[tuple[int, int, tuple[int, ...]]] = []  # number, true time, delays of its copies
        self._opener = CopyOpener(BACK, SESSION, Statistics())
        self._ahead_ns, self._gain = ahead_ns, gain
        self._held_back, self._no_room, self._no_room_back = held_back, no_room, no_room_back
        self._turnaround_ns = turnaround_ns or {}
        self._run(fates)

    def clock_ns(self, true_ns: int) -> int:
        """Return what the reflector's clock shows."""
        return true_ns + self._ahead_ns + round((true_ns - EPOCH_NS) * self._gain)

    def _run(self, fates: list[Fate]) -> None:
        order = itertools.count()
        events: list[tuple[int, int, object]] = []
        for number, (offset_ns, fate) in enumerate(zip(self.plan.offsets_ns().tolist(), fates, strict=True)):
            sent_ns = EPOCH_NS + offset_ns
            heapq.heappush(events, (sent_ns, next(order), sent_ns))
            for copy, delay_ns in enumerate(sorted(fate.there_ns)):
                probe = Probe(not self.plan.one_way, number)
                backs = fate.back_ns[copy] if copy < len(fate.back_ns) else ()
                heapq.heappush(events, (sent_ns + delay_ns, next(order), (probe, backs)))
        while events:
            now_ns, _, event = heapq.heappop(events)
            if isinstance(event, int):
                number = self.record.n_sent
                self.record.note_sent(event)
                self.record.note_departure(Departure.NO_ROOM if number in self._no_room else Departure.LEFT)
            elif isinstance(event, ProbeReply):
                assert self.record.note_reply(event, now_ns)
            else:
                probe, backs = event
                self._reflect(probe, backs, now_ns, events, order)

    def _reflect(
        self,
        probe: Probe,
        backs: tuple[int, ...],
        now_ns: int,
        events: list[tuple[int, int, object]],
        order: itertools.count[int],
    ) -> None:
        row = self.session.note(probe.number, self.clock_ns(now_ns))
        if not probe.echo or probe.number in self._held_back:
            return
        left_ns = now_ns + self._turnaround_ns.get(probe.number, TURNAROUND_NS)
        frame = self.session.reply(probe, self.clock_ns(now_ns), self.plan.size_bytes)(self.clock_ns(left_ns))
        self.session.note_reply(row, self.clock_ns(left_ns))
        if probe.number in self._no_room_back:
            self.session.note_unsent(row, Departure.NO_ROOM)
            backs = ()
        assert len(frame) == self.plan.size_bytes
        reply = read_reply(self._opener.open(frame).message)
        assert reply is not None
        self.replies_sent.append((probe.number, left_ns, backs))
        for delay_ns in backs:
            heapq.heappush(events, (left_ns + delay_ns, next(order), reply))

    def fetch_log(self, clock_steps: int = 0) -> None:
        """Hand the reflector's log to the prober; its clock has been set so often."""
        while missing := self.record.missing_pages(4):
            for number in missing:
                page = read_log_page(self._opener.open(self.session.log_page(number, clock_steps)).message)
                assert page is not None
                assert self.record.note_page(page)
