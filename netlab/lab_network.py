"""LabNetwork: the hosts, links and media of a lab: what there is before anything runs in it.

::

    add_host --> Host          add_medium --> Medium
    add_link(s) --LabLinks--> Link ... through the wire, which is made when it is first needed

Roof: composes ``namespaces`` and ``traces``. Must not know specs or how a lab is opened; ``Lab`` is one that
can be, and runs programs.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Sequence
from pathlib import Path

from netlab.closers import Closers
from netlab.errors import LabError, SpecError
from netlab.lab_cpus import LabCpus, check_virtual_cpus
from netlab.lab_descriptors import LabDescriptors
from netlab.lab_impairment import Impairment
from netlab.lab_links import LabLinks, LabReading, LinkOrder
from netlab.lab_play import LabPlay
from netlab.lab_programs import LabPrograms
from netlab.lab_rules import MAX_HOSTS, check_name, check_seed
from netlab.machine import ENGINE_VARIABLE
from netlab.namespaces.held_state import unproven
from netlab.namespaces.host import Host
from netlab.namespaces.kernel_wire import KernelWiring
from netlab.namespaces.link import Link
from netlab.namespaces.medium import DEFAULT_QUEUE_PACKETS, Medium
from netlab.namespaces.node import Node
from netlab.namespaces.pid_space import PidSpace
from netlab.namespaces.wire import Wire, Wiring

__all__ = ["LabNetwork"]


class LabNetwork:
    """Hosts, links and media.

    Args:
        name: What messages call the lab; a fresh name where it is empty.
        seed: Seed of every link.
        run_folder: Where the output of its processes goes; None for nowhere.
        wiring: What carries its packets; this kernel's netem unless given.

    Attributes:
        id: Six characters that the lab's interfaces bear.
        hosts: Its hosts by name.

    Raises:
        SpecError: The name or the seed is not one a lab can have.
    """

    def __init__(self, name: str, seed: int, run_folder: Path | None, wiring: Wiring | None) -> None:
        self.id = secrets.token_hex(3)
        self.name = name or f"lab-{self.id}"
        self.seed = seed
        self.wiring: Wiring = wiring or KernelWiring()
        self.hosts: dict[str, Host] = {}
        check_name(self.name, key="name")
        check_seed(self.seed)
        label = f"lab {self.name}"
        self._play = LabPlay(label)
        self._links = LabLinks(self.id, label, seed, self.hosts, self._the_wire, self._play)
        self._run_folder = run_folder
        self._wire: Wire | None = None
        self._closers = Closers(label)
        self._programs = LabPrograms(label, self._closers)
        self._cpus = LabCpus(self._closers)
        self._descriptors = LabDescriptors(label)
        self._open = False

    @property
    def links(self) -> dict[str, Link]:
        """Its links by name, in the order of their addresses."""
        return self._links.links

    @property
    def media(self) -> dict[str, Medium]:
        """What links share, by name."""
        return self._links.media

    @property
    def seeded(self) -> bool:
        """Whether seeds decide what every link does: not so on kernels whose netem has none (before 6.6)."""
        return all(link.seeded for link in self.links.values())

    @property
    def warnings(self) -> list[str]:
        """What a person must know of this lab before trusting what it shows."""
        impaired = self.media or any(link.forward or link.back for link in self.links.values())
        return self.wiring.warnings() if impaired else []

    def add_host(self, name: str, *, virtual_cpus: int = 1) -> Host:
        """Add a host.

        Args:
            name: What messages and programs call it.
            virtual_cpus: How many computations of its programs go on at a time in virtual time (``charge``).

        Raises:
            SpecError: The name is taken or not one a host can have, or there are too many.
            PrivilegeError: The caller may not make namespaces.
        """
        self._require_open()
        check_name(name, key=f"hosts.{name}")
        if name in self.hosts:
            raise SpecError(f"{name!r} is a host of this lab already", "", f"hosts.{name}", "choose another name")
        if len(self.hosts) >= MAX_HOSTS:
            hint = "split it into two labs: run one after the other"
            raise SpecError(f"a lab has at most {MAX_HOSTS} hosts", key=f"hosts.{name}", hint=hint)
        self._descriptors.take_host()
        check_virtual_cpus(virtual_cpus, f"hosts.{name}.virtual_cpus")
        node = Node.open(name)
        self._closers.push(f"close host {name}", node.close)
        variables = functools.partial(self._variables, name, virtual_cpus)
        host = self.hosts[name] = Host(node, self.name, self._run_folder, self._pid_space, variables)
        return host

    def add_link(
        self,
        first: Host | str,
        second: Host | str,
        impairment: Impairment = None,
        *,
        name: str = "",
        mtu: int = 1500,
        medium: Medium | str = "",
    ) -> Link:
        """Join two hosts; when it returns, packets go through, impaired as asked.

        Args:
            first: Sends *forward*.
            second: Sends *back*.
            impairment: A pair; a profile, schedule or state for both directions; or what ``parse_preset``
                understands. A schedule is in its first step until ``play``. None for a clean link.
            name: What messages and seeds call it; ``first-second`` unless given.
            mtu: In bytes.
            medium: The medium whose rate and queue it shares, or its name; none for a link by itself.

        Raises:
            SpecError: Unknown host or medium, a host linked to itself, name taken, bad MTU, too many links.
            ProfileError: The impairment is none.
            FeatureMissing: This kernel lacks something that is needed; netem for an impaired link.
            KernelError: The kernel refuses or shows another state.
        """
        return self.add_links([LinkOrder(first, second, impairment, name, mtu, medium)])[0]

    def add_links(self, orders: Sequence[LinkOrder]) -> list[Link]:
        """Make many links at once, much faster than one by one; all of them, or none where one cannot be had.

        Raises:
            NetlabError: As ``add_link``.
        """
        self._require_open()
        return self._links.add(orders)

    def add_medium(self, name: str, *, rate_bps: float, queue_packets: int = DEFAULT_QUEUE_PACKETS) -> Medium:
        """Make a rate and a queue for links to share, both directions of all of them together.

        Args:
            name: What links call it.
            rate_bps: Bits a second.
            queue_packets: Packets that may wait.

        Raises:
            SpecError: The name is taken or none, or there are too many media.
            ProfileError: The rate or the queue is none.
            FeatureMissing: This kernel, or what carries the lab's packets, has no shared media.
        """
        self._require_open()
        return self._links.add_medium(name, rate_bps, queue_packets)

    def read(self) -> LabReading:
        """Return what shows of every link and medium now.

        Raises:
            KernelError: A qdisc has been deleted by someone else.
        """
        return self._links.read()

    def restart_links(self, change: int | None = None) -> None:
        """Put every direction that no schedule plays in its state afresh, all at once, each with its next seed.

        From then on packet i of a direction meets draw i, whatever has passed before.

        Args:
            change: Number of the change that this is for every link, schedules' next first step included; seeds
                follow from it. The next one of each where None.

        Raises:
            LabError: A schedule is being played, or a link has had more changes already.
            KernelError: One is refused, or another state shows afterwards.
        """
        self._require_open()
        if change is not None:
            for link in self.links.values():
                link.number_changes_from(change)
        played = self._play.links()
        changes = [one for link in self.links.values() if link not in played for one in link.plan_restart()]
        if not changes:
            return
        for made, refusal in zip(changes, self._the_wire().change_together(changes), strict=True):
            if refusal is not None:
                raise refusal
            if not made.impairer.verify():
                raise unproven("restart links")

    def _variables(self, host: str, virtual_cpus: int) -> dict[str, str]:
        """Return what programs of a host learn of the lab beside its addresses."""
        return {ENGINE_VARIABLE: self.wiring.name, **self._cpus.variables(host, virtual_cpus)}

    def _require_open(self) -> None:
        if not self._open:
            raise LabError(f"lab {self.name} is not open", hint="use it within `with Lab(...) as lab:`")

    def _the_wire(self) -> Wire:
        if self._wire is None:
            self._wire = self.wiring.make(f"lab {self.name}")
            self._closers.push("close the wire", self._wire.close)
        return self._wire

    def _pid_space(self) -> PidSpace:
        self._require_open()
        return self._programs.pid_space()
