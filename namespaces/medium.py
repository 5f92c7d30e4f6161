"""Medium: a rate and a queue that several links of a lab share, as robots share one access point.

::

    host A ---+                                 +--- [A's own netem] ---> host A
    host B ---+--> [rate, queue of the medium] -+--- [B's own netem] ---> host B
    hub    ---+                                 +--- [...]           ---> hub

Both directions of all its links pass through it, first in, first out: one sends at a time, as on the air. What
a link does by itself (delay, loss) comes after it. The seeds of the links are not touched.

Must not know labs or links, nor what carries the packets.
"""

from __future__ import annotations

from netlab.namespaces.impairer import Impairer
from netlab.namespaces.medium_plan import MediumPlan
from netlab.namespaces.wire import Wire
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import link_seed

__all__ = ["DEFAULT_QUEUE_PACKETS", "Medium"]

DEFAULT_QUEUE_PACKETS = 1000
"""The queue of an ordinary interface."""


class Medium:
    """A shared rate and queue.

    Attributes:
        plan: Its names and numbers.
        impairer: The queue: its state, counters and read-back.
        rate_bps: Bits a second that its links share, both directions together.
        queue_packets: Packets that may wait, the one on the air included.
    """

    def __init__(self, plan: MediumPlan, wire: Wire, run_seed: int, rate_bps: float, queue_packets: int) -> None:
        self.plan = plan
        # Nothing in it is drawn; the seed makes its state as complete as a link's. No link has such a name.
        self._seed = link_seed(run_seed, f"[media.{plan.name}]", "forward", 0)
        state = self._state(rate_bps, queue_packets)
        wire.require_impairments()
        self.impairer: Impairer = wire.add_medium(plan, state)
        self.rate_bps = rate_bps
        self.queue_packets = queue_packets

    @property
    def name(self) -> str:
        """What messages and links call it."""
        return self.plan.name

    def apply(self, *, rate_bps: float | None = None, queue_packets: int | None = None) -> None:
        """Change it in place and prove it; packets in it stay in it.

        Args:
            rate_bps: Its new rate; the one it has unless given.
            queue_packets: Its new queue; the one it has unless given.

        Raises:
            ProfileError: A value is none a medium can have.
            KernelError: It is refused, or another state shows afterwards.
        """
        self.impairer.apply(self.plan_state(rate_bps=rate_bps, queue_packets=queue_packets))
        self.rate_bps = self.rate_bps if rate_bps is None else rate_bps
        self.queue_packets = self.queue_packets if queue_packets is None else queue_packets

    def plan_state(self, *, rate_bps: float | None = None, queue_packets: int | None = None) -> QdiscState:
        """Return the state that ``apply`` would put its queue in.

        Raises:
            ProfileError: A value is none a medium can have.
        """
        return self._state(
            self.rate_bps if rate_bps is None else rate_bps,
            self.queue_packets if queue_packets is None else queue_packets,
        )

    def read(self) -> QdiscState:
        """Return what shows of its queue now.

        Raises:
            KernelError: It has been deleted by someone else.
        """
        return self.impairer.read()

    def _state(self, rate_bps: float, queue_packets: int) -> QdiscState:
        return LinkProfile(rate_bps=rate_bps, limit_packets=queue_packets).to_qdisc_state(self._seed)
