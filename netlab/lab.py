"""Lab: owner of hosts, links and processes; what it opened it closes, in reverse.

Roof: composes ``namespaces`` and ``traces``.

::

    with Lab("demo", seed=7) as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        link = lab.add_link(edge, agent, parse_preset("wifi-degraded"))
        ping = edge.start(["ping", "-c", "5", agent.address])
        ping.wait(30)
        print(ping.last_lines())

Everything hangs on file descriptors of this process and on one PID namespace, so that even kill -9 leaves
nothing: no namespace, interface, qdisc or process.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import Self

from netlab.closers import Closers
from netlab.errors import LabError, SpecError
from netlab.lab_builder import LabBuilder
from netlab.lab_impairment import Impairment, plan_directions
from netlab.lab_name import take_lab_name
from netlab.lab_play import LabPlay
from netlab.lab_programs import LabPrograms
from netlab.lab_recording import LabRecording
from netlab.lab_spec import MAX_HOSTS, LabSpec, check_link, check_name, check_peer, check_seed, read_lab_spec
from netlab.namespaces.host import Attachment, Host
from netlab.namespaces.kernel_wire import KernelWiring
from netlab.namespaces.link import Link
from netlab.namespaces.link_plan import plan_link
from netlab.namespaces.node import Node
from netlab.namespaces.pid_space import PidSpace
from netlab.namespaces.player import Player
from netlab.namespaces.process import HostProcess
from netlab.namespaces.wire import Wire, Wiring

__all__ = ["Lab"]

StrPath = str | os.PathLike[str]


class Lab:
    """Hosts, links and processes that live and end together.

    Args:
        name: What messages call it; one lab of a name at a time in a network namespace (a container has its
            own). The spec's unless given, else a fresh one.
        seed: Seed of every link: the same seed gives the same losses. The spec's unless given, else 0.
        run_folder: Where the output of its processes goes; unless given, the last 64 KiB of each are kept.
        spec: Hosts, links and commands that are made when the lab is opened.
        spec_path: The file the spec came from: its relative paths are relative to that file's folder.
        wiring: What carries its packets; this kernel's netem unless given.

    Raises:
        SpecError: The name, the seed or the spec is not one a lab can have; nothing has been made then.
    """

    def __init__(
        self,
        name: str = "",
        *,
        seed: int | None = None,
        run_folder: StrPath | None = None,
        spec: LabSpec | None = None,
        spec_path: StrPath = "",
        wiring: Wiring | None = None,
    ) -> None:
        self.id = secrets.token_hex(3)
        self.name = name or (spec.name if spec else "") or f"lab-{self.id}"
        self.seed = seed if seed is not None else spec.seed if spec else 0
        self.wiring: Wiring = wiring or KernelWiring()
        self.hosts: dict[str, Host] = {}
        self.links: dict[str, Link] = {}
        self._play = LabPlay(f"lab {self.name}")
        self._run_folder = Path(run_folder) if run_folder is not None else None
        self._wire: Wire | None = None
        self._closers = Closers(f"lab {self.name}")
        self._programs = LabPrograms(f"lab {self.name}", self._closers)
        self._open = False
        check_name(self.name, key="name")
        check_seed(self.seed)
        self._builder = LabBuilder(spec, os.fspath(spec_path)) if spec is not None else None

    @classmethod
    def from_toml(
        cls,
        path: StrPath,
        *,
        name: str = "",
        seed: int | None = None,
        run_folder: StrPath | None = None,
        wiring: Wiring | None = None,
    ) -> Self:
        """Read a lab from a TOML file (docs/labs.md); open it with ``with``.

        Name and seed, where given, beat the file's.

        Raises:
            SpecError: The file or one of its profiles is malformed.
        """
        spec = read_lab_spec(Path(path))
        return cls(name, seed=seed, spec=spec, spec_path=path, run_folder=run_folder, wiring=wiring)

    def open(self) -> Self:
        """Open the lab: take its name; make what its spec names.

        Raises:
            SpecError: A lab of this name is open in this network namespace.
            PrivilegeError: The caller may not make namespaces.
            KernelError: The kernel refuses.
        """
        if self._open:
            raise LabError(f"lab {self.name} is open already")
        self._open = True
        try:
            name_holder = take_lab_name(self.name)
            self._closers.push("give back the lab's name", name_holder.close)
            if self._run_folder is not None:
                self._run_folder.mkdir(parents=True, exist_ok=True)
            if self._builder is not None:
                self._builder.build(self.add_host, self.add_link)
        except BaseException as error:
            self._open = False
            self._closers.close_after(error)
            raise
        return self

    @property
    def player(self) -> Player | None:
        """The newest Player, whether it still plays or not; None before the first ``play``."""
        return self._play.player

    @property
    def seeded(self) -> bool:
        """Whether seeds decide what every link does: not so on kernels whose netem has none (before 6.6)."""
        return all(link.seeded for link in self.links.values())

    @property
    def warnings(self) -> list[str]:
        """What a person must know of this lab before trusting what it shows."""
        impaired = any(link.forward or link.back for link in self.links.values())
        return self.wiring.warnings() if impaired else []

    def add_host(self, name: str) -> Host:
        """Add a host.

        Raises:
            SpecError: The name is taken or not one a host can have, or there are too many.
            PrivilegeError: The caller may not make namespaces.
        """
        self._require_open()
        check_name(name, key=f"hosts.{name}")
        if name in self.hosts:
            raise SpecError(f"{name!r} is a host of this lab already", "", f"hosts.{name}", "choose another name")
        if len(self.hosts) >= MAX_HOSTS:
            raise SpecError(f"a lab has at most {MAX_HOSTS} hosts", key=f"hosts.{name}")
        node = Node.open(name)
        self._closers.push(f"close host {name}", node.close)
        host = self.hosts[name] = Host(node, self.name, self._run_folder, self._pid_space)
        return host

    def add_link(
        self,
        first: Host | str,
        second: Host | str,
        impairment: Impairment = None,
        *,
        name: str = "",
        mtu: int = 1500,
    ) -> Link:
        """Join two hosts; when it returns, packets go through, impaired as asked.

        Args:
            first: Sends *forward*.
            second: Sends *back*.
            impairment: A pair; a profile, schedule or state for both directions; or what ``parse_preset``
                understands. A schedule is in its first step until ``play``. None for a clean link.
            name: What messages and seeds call it; ``first-second`` unless given.
            mtu: In bytes.

        Raises:
            SpecError: Unknown host, a host linked to itself, name taken, bad MTU, too many links.
            ProfileError: The impairment is none.
            FeatureMissing: This kernel lacks something that is needed; netem for an impaired link.
            KernelError: The kernel refuses or shows another state.
        """
        self._require_open()
        ends = (self._host(first), self._host(second))
        name = name or f"{ends[0].name}-{ends[1].name}"
        check_link(name, (ends[0].name, ends[1].name), mtu, self.links)
        for host, peer in (ends, ends[::-1]):
            check_peer(host.name, peer.name, [one.peer for one in host.attachments])
        forward, back = plan_directions(impairment, name)
        plan = plan_link(len(self.links), self.id, len(ends[0].attachments), len(ends[1].attachments))
        link = Link.open(
            name,
            plan,
            self._the_wire(),
            (ends[0].node, ends[1].node),
            run_seed=self.seed,
            mtu=mtu,
            impairment=(forward.first, back.first),
        )
        self.links[name] = link
        sides = ((ends[0], plan.first, ends[1], plan.second), (ends[1], plan.second, ends[0], plan.first))
        for host, end, peer, far_end in sides:
            host.attachments.append(Attachment(name, end.interface, end.address, peer.name, far_end.address))
        for one in (forward, back):
            if one.track is not None:
                self._play.add(link, one.direction, one.track)
        return link

    def play(self) -> Player | None:
        """Begin to play the schedules of all links, from now on; None where no link has one.

        Raises:
            LabError: They are being played already.
            KernelError: What was played before did not take hold.
        """
        self._require_open()
        if self._play.player is None:
            self._closers.push("play the schedules", self._play.stop)
        return self._play.start()

    def stop_playing(self) -> None:
        """Stop the Player and read back what it did last; the links stay as they are and are ours to change.

        Nothing where nothing is played; ``play`` begins again from the first steps.

        Raises:
            KernelError: A step of a schedule was refused or did not take hold.
        """
        self._play.stop()

    def restart_links(self) -> None:
        """Put every direction that no schedule plays in its state afresh, all at once, each with its next seed.

        From then on packet i of a direction meets draw i, whatever has passed before.

        Raises:
            KernelError: One is refused, or another state shows afterwards.
        """
        self._require_open()
        played = self._play.links()
        changes = [
            change for link in self.links.values() if link not in played for change in link.plan_restart()
        ]
        if not changes:
            return
        for change, refusal in zip(changes, self._the_wire().change_together(changes), strict=True):
            if refusal is not None:
                raise refusal
            change.impairer.verify()

    def record(self) -> LabRecording:
        """Record what happens to every packet from now on; the lab closes it, if nobody does before.

        Raises:
            KernelError: The kernel has no packet sockets, or the caller may not have one.
        """
        self._require_open()
        recording = LabRecording(self._the_wire().record(), self.links, self.wiring.name)
        self._closers.push("end the packet recorder", recording.close)
        return recording

    def start_commands(self) -> list[HostProcess]:
        """Start the command of each host that has one in the spec.

        Raises:
            KernelError: One cannot be started.
        """
        return self._builder.start_commands(self.hosts) if self._builder else []

    def check(self) -> None:
        """Do nothing as long as all is well.

        Raises:
            LabError: A process has failed: its exit code and last lines.
            KernelError: A step of a schedule was refused or did not take hold.
        """
        for host in self.hosts.values():
            for process in host.processes:
                process.check()
        if self.player is not None:
            self.player.check()
        if self._wire is not None:
            self._wire.check()

    def close(self) -> None:
        """Close everything in reverse; a failure on the way stops nothing.

        Raises:
            NetlabError: What failed; several failures are an ExceptionGroup.
        """
        self._open = False
        self._closers.close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._open = False
            self._closers.close_after(error)

    def _require_open(self) -> None:
        if not self._open:
            raise LabError(f"lab {self.name} is not open", hint="use it within `with Lab(...) as lab:`")

    def _host(self, host: Host | str) -> Host:
        if not isinstance(host, Host | str):
            raise SpecError(f"{host!r:.80} is no host", key="link.ends", hint="give a host or its name")
        name = host if isinstance(host, str) else host.name
        known = self.hosts.get(name)
        if known is None or not (isinstance(host, str) or host is known):
            raise SpecError(
                f"{name!r} is no host of lab {self.name}",
                key="link.ends",
                hint=f"its hosts: {', '.join(self.hosts) or 'none yet'}",
            )
        return known

    def _the_wire(self) -> Wire:
        if self._wire is None:
            self._wire = self.wiring.make(f"the wire of lab {self.name}")
            self._closers.push("close the wire", self._wire.close)
        return self._wire

    def _pid_space(self) -> PidSpace:
        self._require_open()
        return self._programs.pid_space()
