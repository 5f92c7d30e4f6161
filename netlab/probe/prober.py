"""Prober: sends the probes of a plan on absolute deadlines and takes what comes back, in one loop.

::

    due? --> stamp, seal, send        else: wait until then, or something arrives --> open, record
    after the last: wait_s for what is on its way, then page by page the reflector's log

``probe_path`` is the whole of it: from an address to traces.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from netlab.probe import probe_frame as frames
from netlab.probe.departure import Departure
from netlab.probe.probe_frame import FrameKind, Probe
from netlab.probe.probe_notes import course_notes
from netlab.probe.probe_plan import ProbePlan
from netlab.probe.probe_record import ProbeRecord
from netlab.probe.probe_result import ProbeResult, find_result
from netlab.probe.probe_summary import ProbeSummary, summarise
from netlab.probe.prober_link import ProberLink, Taken, size_error
from netlab.stop_signals import stop_on_signals
from netlab.wire.address import Address
from netlab.wire.key import Key

__all__ = ["Measured", "Prober", "probe_path"]

START_PAUSE_S = 0.05
"""The kernel begins to stamp arrivals a moment after it is asked to."""
TAKEN_AT_ONCE = 64
"""Datagrams between two looks at what is due."""
PAGES_AT_ONCE = 16
FIRST_ROUND_S = 0.2
LONGEST_ROUND_S = 3.0
LOG_PATIENCE_S = 15.0
"""How long the log may not come forward: a path may be down for seconds."""
STOPPED_PATIENCE_S = 2.0
FAREWELLS = 3
_NANOSECONDS = 1_000_000_000


class Measured(NamedTuple):
    """What ``probe_path`` returns.

    Attributes:
        result: The traces.
        summary: The same in a few numbers.
    """

    result: ProbeResult
    summary: ProbeSummary


class Prober:
    """Runs one plan over a link.

    Args:
        plan: What to send.
        link: Its session; not closed here.
        progress: Told how many probes were sent and how many replies have come, often.

    Attributes:
        record: What was sent and learnt.
    """

    def __init__(
        self, plan: ProbePlan, link: ProberLink, progress: Callable[[int, int], None] = lambda sent, replies: None
    ) -> None:
        self.record = ProbeRecord(plan.count)
        self._plan = plan
        self._link = link
        self._progress = progress
        self._is_waiting = True
        self._stops = 0

    def stop(self, name: str) -> None:
        """End the flow early; said twice, end all. Safe in a signal handler."""
        self.record.stopped_by = name
        self._stops += 1

    def run(self) -> None:
        """Run the plan to its end; what was learnt is in ``record``.

        Raises:
            SpecError: Not even the first probe fits the network in one packet.
        """
        self._pause(START_PAUSE_S, until_stopped=True)
        self._flow()
        self._pause(min(self._plan.wait_s, STOPPED_PATIENCE_S) if self._stops else self._plan.wait_s)
        self._is_waiting = False
        if self.record.n_sent:
            self._fetch_log()
        farewell = self._link.seal(frames.build_farewell())
        for _ in range(FAREWELLS):  # nobody answers it
            self._link.socket.send(farewell)
        self.record.clock_steps = self._link.socket.clock_steps
        self.record.port_refusals = self._link.socket.port_refusals

    def _flow(self) -> None:
        """Send every probe when it is due; one that is late is sent at once, and its stamp tells."""
        begin_ns = time.monotonic_ns()
        for offset_ns in self._plan.offsets_ns().tolist():
            due_ns = begin_ns + offset_ns
            while (left_ns := due_ns - time.monotonic_ns()) > 0:
                if self._stops:
                    return
                if self._link.socket.wait(left_ns / _NANOSECONDS):
                    self._take()
            if self._stops or not self._send_probe():
                return
            self._progress(self.record.n_sent, self.record.n_replies)

    def _send_probe(self) -> bool:
        """Send the next probe; whether there is sense in a further one."""
        record, link, size_bytes = self.record, self._link, self._plan.size_bytes
        frame = link.seal(frames.build_probe(Probe(not self._plan.one_way, record.n_sent), size_bytes))
        stamp_ns = link.socket.now_ns()  # as late as can be: delays are measured from it
        departure = link.socket.depart(frame)
        if departure is Departure.TOO_LARGE:
            return self._end_too_large()
        record.note_sent(stamp_ns)
        record.note_departure(departure)
        # Where the prober is behind it never waits: what has come must not pile up.
        if record.n_sent % TAKEN_AT_ONCE == 0:
            self._take()
        return True

    def _end_too_large(self) -> bool:
        """End the flow: the network has said that it would have to part the probes."""
        most_bytes = self._link.socket.most_bytes
        if not self.record.n_sent:
            raise size_error(self._plan.size_bytes, most_bytes)
        self.record.too_large_bytes = most_bytes
        return False

    def _pause(self, duration_s: float, *, until_stopped: bool = False) -> None:
        """Take what comes for so long; said twice to stop, no longer."""
        deadline_s = time.monotonic() + duration_s
        while (left_s := deadline_s - time.monotonic()) > 0.0 and self._stops < (1 if until_stopped else 2):
            if self._link.socket.wait(left_s):
                self._take()

    def _take(self) -> int:
        """Take what has arrived, up to a bound; return how many pages of the log were among it."""
        pages = 0
        for _ in range(TAKEN_AT_ONCE):
            taken = self._link.take()
            if taken is None:
                break
            pages += self._take_message(taken)
        return pages

    def _take_message(self, taken: Taken) -> bool:
        record = self.record
        kind = frames.kind_of(taken.message)
        if kind == FrameKind.REPLY and (reply := frames.read_reply(taken.message)) is not None:
            if self._is_waiting:
                record.note_reply(reply, taken.stamp_ns, is_stamped=taken.is_stamped)
            else:
                record.late_replies += 1
            return False
        if kind == FrameKind.LOG_PAGE and (page := frames.read_log_page(taken.message)) is not None:
            return record.note_page(page)
        if kind < FrameKind.FIRST_OF_MESSAGE:  # a Welcome may come twice
            record.implausible += 1
        return False

    def _fetch_log(self) -> None:
        """Ask for the log's pages, some at a time, until all are here or none comes any more."""
        round_s, heard_s = FIRST_ROUND_S, time.monotonic()
        while (missing := self.record.missing_pages(PAGES_AT_ONCE)) and self._stops < 2:
            patience_s = STOPPED_PATIENCE_S if self._stops else LOG_PATIENCE_S
            if time.monotonic() - heard_s > patience_s:
                return
            for page in missing:
                self._link.send(frames.build_log_ask(page))
            left, deadline_s = len(missing), time.monotonic() + round_s
            while left > 0 and (left_s := deadline_s - time.monotonic()) > 0.0 and self._stops < 2:
                if self._link.socket.wait(left_s) and (new := self._take()):
                    left -= new
                    heard_s = time.monotonic()
            if left == len(missing):
                round_s = min(2.0 * round_s, LONGEST_ROUND_S)


def probe_path(
    plan: ProbePlan,
    peer: Address,
    key: Key | None = None,
    *,
    one_clock: bool = False,
    local_port: int = 0,
    timeout_s: float = 10.0,
    progress: Callable[[int, int], None] = lambda sent, replies: None,
) -> Measured:
    """Measure the path to a reflector; a signal to stop ends the flow early, and what there is is returned.

    Args:
        plan: What to send.
        peer: Where ``netlab probe serve`` listens.
        key: The shared key; None only on loopback.
        one_clock: Whether one clock stamps both ends: one kernel's two hosts.
        local_port: Port to send from; 0 for any.
        timeout_s: How long to wait for the reflector at first.
        progress: Told how many probes were sent and how many replies have come, often.

    Raises:
        AuthError: No key off loopback, or the reflector refuses ours.
        ConnectionLost: Nobody answers.
        RemoteProtocolError: The peer is no reflector, of another version, or refuses this prober.
        KernelError: There is no way to the address, or the local port is taken.
        SpecError: The probes do not fit the network to the address.
    """
    stops: list[str] = []
    with (
        stop_on_signals(stops.append),
        ProberLink.open(
            peer, key, plan, local_port=local_port, timeout_s=timeout_s, stopped=lambda: bool(stops)
        ) as link,
    ):
        prober = Prober(plan, link, progress)
        with stop_on_signals(prober.stop):
            prober.run()
    record = prober.record
    result = find_result(record, one_way=plan.one_way, one_clock=one_clock, source=f"netlab probe {peer}, {plan}")
    return Measured(result, summarise(result, plan, str(peer), course_notes(record)))
