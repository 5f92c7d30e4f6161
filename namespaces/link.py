"""Link: two hosts joined through the wire namespace, where netem sits.

::

    host A                     wire namespace                      host B
    eth0 ====veth==== in -> redirect -> [netem forward] out ====veth==== eth0
    eth0 ====veth==== out [netem back] <- redirect <- in    ====veth==== eth0

A packet that arrives at one end of the wire leaves at the other as it came, MAC addresses and TTL included:
neither host can tell. netem is never on a sender's own egress, where it would distort TCP. Neighbours are
static, IPv6 and segmentation offloads are off: nothing but the hosts' own packets spends a link's seed, and
each draw decides over one packet.

Must not know labs, processes or time.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import NamedTuple

from netlab.errors import KernelError, LabError, ProfileError
from netlab.namespaces.features import KernelFeatures, require_netem
from netlab.namespaces.kernel_objects import ROOT
from netlab.namespaces.link_plan import PREFIX_LENGTH, EndPlan, LinkPlan
from netlab.namespaces.namespace import Namespace
from netlab.namespaces.netem_qdisc import NetemQdisc
from netlab.namespaces.node import Node
from netlab.namespaces.offload import switch_offloads_off
from netlab.namespaces.rtnetlink import RouteSocket
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import DIRECTIONS, Direction, link_seed

__all__ = ["Link", "LinkReading", "Wire"]

_PASSING_HANDLE = 0x7FF00000


class LinkReading(NamedTuple):
    """What the kernel shows of a link now; None for a direction without netem."""

    forward: QdiscState | None
    back: QdiscState | None


class Wire(Node):
    """The namespace in the middle of a lab: both inner ends of every link.

    Attributes:
        qdiscs: A second socket: changes of qdiscs never wait in a batch of the other one.
        features: Tells, once it is needed, what this kernel's netem can do.
    """

    def __init__(
        self,
        name: str,
        namespace: Namespace,
        routes: RouteSocket,
        qdiscs: RouteSocket,
        features: Callable[[], KernelFeatures],
    ) -> None:
        super().__init__(name, namespace, routes)
        self.qdiscs = qdiscs
        self.features = features

    @classmethod
    def make(cls, name: str, features: Callable[[], KernelFeatures]) -> Wire:
        """Make the wire of a lab.

        Raises:
            PrivilegeError: The caller may not make namespaces.
            KernelError: The kernel refuses.
        """

        def open_sockets() -> tuple[RouteSocket, RouteSocket]:
            return RouteSocket.open(), RouteSocket.open()

        namespace, (routes, qdiscs) = Namespace.create_with(name, open_sockets)
        return cls(name, namespace, routes, qdiscs, features)

    def close(self) -> None:
        """Close it; every link of the lab goes with it."""
        self.qdiscs.close()
        super().close()


class Link:
    """A link between two hosts, each direction with an impairment of its own or none.

    Attributes:
        name: What messages and seeds call it.
        plan: Its names, numbers and addresses.
        wire: The namespace in its middle.
        forward: netem from the first host to the second; None as long as none was asked for.
        back: netem from the second host to the first.
    """

    def __init__(self, name: str, plan: LinkPlan, wire: Wire, run_seed: int) -> None:
        self.name = name
        self.plan = plan
        self.forward: NetemQdisc | None = None
        self.back: NetemQdisc | None = None
        self.wire = wire
        self._run_seed = run_seed
        # Changes so far, which number the seeds; and where that stood when play began.
        self._changes = dict.fromkeys(DIRECTIONS, 0)
        self._play_from = dict.fromkeys(DIRECTIONS, 0)
        self._is_playing: Callable[[], bool] = _never

    @classmethod
    def open(
        cls,
        name: str,
        plan: LinkPlan,
        wire: Wire,
        ends: tuple[Node, Node],
        *,
        run_seed: int,
        mtu: int = 1500,
        impairment: tuple[LinkProfile | QdiscState | None, LinkProfile | QdiscState | None] = (None, None),
    ) -> Link:
        """Join two hosts; when it returns, the first packet goes through, impaired as asked.

        When it fails, nothing of the link is left: it can be tried again.

        Raises:
            FeatureMissing: This kernel lacks veth, the redirection or netem.
            KernelError: The kernel refuses, or netem shows another state than asked for.
        """
        link = cls(name, plan, wire, run_seed)
        if any(asked is not None for asked in impairment):
            require_netem(wire.features())  # before anything is made
        try:
            link._make_veths(ends, mtu)
            for direction, asked in zip(DIRECTIONS, impairment, strict=True):
                if asked is not None:
                    link.apply(asked, direction)
            link._join()
            link._give_addresses(ends)
        except BaseException as error:
            link._take_away(error)
            raise
        return link

    def apply(
        self, impairment: LinkProfile | ProfilePair | QdiscState, direction: Direction | None = None
    ) -> None:
        """Change what the link does and prove it; packets in flight stay in flight.

        Args:
            impairment: A pair for both directions, or a profile or state for the direction named (both,
                unless one is named). Profiles get a fresh seed each time; a state is applied as it is.
            direction: ``forward`` or ``back``.

        Raises:
            LabError: A schedule is being played on this link.
            KernelError: The kernel refuses, or shows another state than asked for.
        """
        if self._is_playing():
            hint = "Lab.stop_playing() before changing it by hand"
            raise LabError(f"link {self.name} is being played", hint=hint)
        if direction is not None and direction not in DIRECTIONS:
            raise ProfileError(f"direction = {direction!r}: must be forward or back")
        for one in DIRECTIONS if direction is None else (direction,):
            asked = getattr(impairment, one) if isinstance(impairment, ProfilePair) else impairment
            if isinstance(asked, LinkProfile):
                asked = asked.to_qdisc_state(self._next_seed(one))
            if not isinstance(asked, QdiscState):
                raise ProfileError(f"{type(asked).__name__} is no state of a link: give profiles, or play it")
            self._put(one, asked)

    def read(self) -> LinkReading:
        """Return what the kernel shows now.

        Raises:
            KernelError: A qdisc has been deleted by someone else.
        """
        return LinkReading(*(qdisc.read() if qdisc else None for qdisc in (self.forward, self.back)))

    def qdisc(self, direction: Direction) -> NetemQdisc | None:
        """Return the netem of one direction; None where there is none."""
        return self.forward if direction == "forward" else self.back

    @property
    def seeded(self) -> bool:
        """Tell whether seeds decide what it does: each netem on it has one, and this kernel's netem heeds it."""
        states = [qdisc.asked for qdisc in (self.forward, self.back) if qdisc is not None]
        if not states:
            return True
        return self.wire.features().seed and all(state is not None and state.seed is not None for state in states)

    def begin_play(self, is_playing: Callable[[], bool]) -> None:
        """Leave the link to a Player; nobody else changes it as long as ``is_playing`` tells so."""
        self._is_playing = is_playing
        self._play_from = dict(self._changes)

    def end_play(self) -> None:
        """Take the link back from its Player, which has been stopped."""
        self._is_playing = _never

    def played_seed(self, direction: Direction, step: int) -> int:
        """Return the seed of a step that is played, counted from 0 over all passes of a loop.

        Seeds are numbered by the changes of the link, whoever makes them: none comes twice, not that of the
        state before play, nor those of an earlier play or of a change by hand after it.
        """
        number = self._play_from[direction] + step
        self._changes[direction] = max(self._changes[direction], number + 1)
        return link_seed(self._run_seed, self.name, direction, number)

    def _next_seed(self, direction: Direction) -> int:
        number = self._changes[direction]
        self._changes[direction] += 1
        return link_seed(self._run_seed, self.name, direction, number)

    def _put(self, direction: Direction, state: QdiscState) -> None:
        qdisc = self.qdisc(direction)
        if qdisc is not None:
            qdisc.apply(state)
            return
        require_netem(self.wire.features())
        # Forward leaves the wire towards the second host, so it sits on the end that faces it.
        end = self.plan.second if direction == "forward" else self.plan.first
        qdisc = NetemQdisc(self.wire.qdiscs, end.wire_index, features=self.wire.features())
        qdisc.add(state)
        setattr(self, direction, qdisc)

    def _make_veths(self, ends: tuple[Node, Node], mtu: int) -> None:
        routes = self.wire.routes
        sides = list(zip((self.plan.first, self.plan.second), ends, strict=True))
        with routes.batch():
            for end, host in sides:
                routes.add_veth(
                    end.wire_interface, end.interface, peer_netns_fd=host.namespace.fd,
                    index=end.wire_index, peer_index=end.index, mac=end.wire_mac, peer_mac=end.mac,
                    mtu=mtu, gso_max_segs=1,
                )  # fmt: skip
        for end, host in sides:
            switch_offloads_off(host.routes, end.interface)
            switch_offloads_off(routes, end.wire_interface)
            host.routes.set_up(end.index)

    def _take_away(self, first: BaseException) -> None:
        """Delete what there is of a link that could not be made; its qdiscs and addresses go with it."""
        for end in (self.plan.first, self.plan.second):
            try:
                self.wire.routes.delete_link(end.wire_index)
            except KernelError as error:
                if error.errno != errno.ENODEV:
                    first.add_note(f"and then, taking link {self.name} away: {error}")

    def _join(self) -> None:
        routes = self.wire.routes
        first, second = self.plan.first.wire_index, self.plan.second.wire_index
        with routes.batch():
            routes.redirect(first, second)
            routes.redirect(second, first)
            # Last: netem is there and the way is open before any packet can come.
            routes.set_up(first)
            routes.set_up(second)

    def _give_addresses(self, ends: tuple[Node, Node]) -> None:
        first, second = self.plan.first, self.plan.second
        for end, other, host in ((first, second, ends[0]), (second, first, ends[1])):
            with host.routes.batch():
                _let_pass(host.routes, end)
                host.routes.add_address(end.index, end.address, PREFIX_LENGTH)
                host.routes.add_neighbour(end.index, other.address, other.mac)


def _never() -> bool:
    """Tell that nobody plays."""
    return False


def _let_pass(routes: RouteSocket, end: EndPlan) -> None:
    """Make the kernel take an interface into use now.

    A veth that came up before its peer drops what it is given until the kernel's link watch, some time
    later, notices the carrier. Putting a qdisc on it does the same at once; taking it off leaves no trace.
    """
    routes.qdisc_add(end.index, _PASSING_HANDLE, ROOT, "noqueue", None)
    routes.qdisc_delete(end.index, _PASSING_HANDLE, ROOT)
