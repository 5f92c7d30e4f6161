"""NetemDuet: the same packets and changes through a real netem and through LinkModel, fate by fate.

::

    send, change --> NetemRig  --> arrivals --.
           |                                  +--> Comparison
           `-------> LinkModel --> fates   ---'

The model's clock is the one read just before each packet was sent. So a packet that arrives before the model's
moment is early, which nothing may be, and what it is late by is the timer's lateness and a few clock reads.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from netlab.bench.netem_rig import FRAME_BYTES, Arrival, NetemRig, Sending
from netlab.namespaces.kernel_objects import ROOT
from netlab.traces.model.fate import Copy, Fate
from netlab.traces.model.link_model import LinkModel
from netlab.traces.model.qdisc_change import QdiscChange
from netlab.traces.qdisc_state import QdiscState

__all__ = ["Comparison", "NetemDuet"]

_PATIENCE_S = 3.0
_SURPLUS_S = 0.05
"""For copies that the model does not deliver."""


class Comparison(NamedTuple):
    """How far the two went together.

    Attributes:
        packets: Packets compared.
        copies: Copies that the model delivers.
        differing: In words, each packet whose copies, corruption or marks were not the model's.
        late_ns: Of each copy of the others, arrival minus the model's moment.
        misplaced: Packets that arrived before one that must have left earlier.
    """

    packets: int
    copies: int
    differing: list[str]
    late_ns: list[int]
    misplaced: list[int]


class NetemDuet:
    """One netem, from its beginning on, and the model of it.

    Args:
        rig: Gets a fresh netem.
        state: The first state of both.
    """

    def __init__(self, rig: NetemRig, state: QdiscState) -> None:
        rig.begin(state)
        self._rig = rig
        self._model = LinkModel(state)
        self._sendings: list[Sending] = []
        self._fates: list[Fate] = []
        self._arrivals: list[Arrival] = []
        self._ordered = True

    @property
    def fates(self) -> list[Fate]:
        """What the model says of each packet."""
        return self._fates

    @property
    def arrivals(self) -> list[Arrival]:
        """What has come, in order."""
        return self._arrivals

    @property
    def model_state(self) -> QdiscState:
        """What the model says a dump would show."""
        return self._model.state

    def send(
        self, count: int, *, period_s: float = 0.0, length_bytes: int = FRAME_BYTES, ect: bool = False
    ) -> None:
        """Send the next ``count`` packets, with a pause after each."""
        first = len(self._sendings)
        sendings = self._rig.send(
            range(first, first + count), period_s=period_s, length_bytes=length_bytes, ect=ect
        )
        self._sendings += sendings
        self._ordered &= self._model.state.rate_bytes_per_s > 0
        self._fates += [self._model.enqueue(one.before_ns, length_bytes, ect=ect) for one in sendings]

    def receive(self, patience_s: float = _PATIENCE_S) -> None:
        """Take what arrives until all that the model delivers has come: what is sent next finds the link empty.

        Args:
            patience_s: Longer than any packet stays in the link, however busy the machine.
        """
        awaited = sum(len(fate.copies) for fate in self._fates) - len(self._arrivals)
        self._arrivals += self._rig.receive(patience_s, max(awaited, 0))
        self._arrivals += self._rig.receive(_SURPLUS_S)

    def apply(self, state: QdiscState, *, fast: bool = False) -> None:
        """Put both in a state, as a link would be."""
        (self._rig.qdisc.apply_fast if fast else self._rig.qdisc.apply)(state)
        sent = self._rig.qdisc.asked
        assert sent is not None  # it has just been sent
        self._model.apply(sent)

    def change(self, change: QdiscChange, options: bytes) -> None:
        """Give both one message that leaves things unsaid.

        Args:
            change: As the model takes it.
            options: The same as the kernel takes it; the qdisc's own memory of what was sent is passed by.
        """
        qdisc = self._rig.qdisc
        self._rig.route.qdisc_change(qdisc.ifindex, qdisc.handle, ROOT, "netem", options)
        self._model.change(change)

    def finish(self, patience_s: float = _PATIENCE_S, *, skip: int = 0) -> Comparison:
        """Take what still arrives and compare.

        Args:
            patience_s: As for ``receive``.
            skip: How many packets at the beginning are not compared (a correlation begins anywhere).
        """
        self.receive(patience_s)
        of_number: dict[int, list[Arrival]] = defaultdict(list)
        for arrival in self._arrivals:
            of_number[arrival.number].append(arrival)
        differing, late_ns = [], []
        for number, fate in enumerate(self._fates[skip:], skip):
            arrivals = of_number[number]
            if _looks(fate.copies) != _looks(arrivals):
                differing.append(f"packet {number}: model {_looks(fate.copies)}, kernel {_looks(arrivals)}")
                continue
            moments_ns = sorted(copy.leave_ns for copy in fate.copies)
            late_ns += [arrival.at_ns - leave for arrival, leave in zip(arrivals, moments_ns, strict=True)]
        copies = sum(len(fate.copies) for fate in self._fates[skip:])
        return Comparison(len(self._fates) - skip, copies, differing, late_ns, self._misplaced())

    def _misplaced(self) -> list[int]:
        """Return who came after one that must have left later, whenever netem read the clock for each.

        One that goes to the head of the queue may pass those that are due but not gone, since timers are late.
        """
        # Where the rate comes and goes, one that was late to be queued makes others wait.
        slack_ns = 0 if self._ordered else max((one.after_ns - one.before_ns for one in self._sendings), default=0)
        latest_ns, misplaced = 0, []
        for arrival in self._arrivals:
            copies = self._fates[arrival.number].copies
            if not copies or any(copy.head for copy in copies):
                continue
            moments_ns = [copy.leave_ns for copy in copies]
            if max(moments_ns) + slack_ns < latest_ns:
                misplaced.append(arrival.number)
            latest_ns = max(latest_ns, min(moments_ns))
        return misplaced


def _looks(copies: tuple[Copy, ...] | list[Arrival]) -> list[tuple[bool, bool]]:
    """Return what can be seen of copies, whichever comes first: corrupted, marked."""
    return sorted((copy.corrupted, copy.marked) for copy in copies)
