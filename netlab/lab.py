"""Lab: owner of hosts, links and processes; what it opened it closes, in reverse.

Roof: composes ``namespaces`` and ``traces``.

::

    with Lab("demo", seed=7) as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        link = lab.add_link(edge, agent, parse_preset("wifi-degraded"))
        server = agent.start(["python3", "-m", "http.server"])
        client = edge.start(["curl", f"http://{agent.address}:8000/"])
        client.wait(10)

Everything hangs on file descriptors of this process and on one PID namespace, so that even kill -9 leaves
nothing: no namespace, interface, qdisc or process.
"""

from __future__ import annotations

import functools
import os
import secrets
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from netlab.closers import Closers
from netlab.errors import LabError, SpecError
from netlab.lab_exec import run_exec
from netlab.lab_impairment import Impairment, plan_directions, read_profiles
from netlab.lab_name import take_lab_name
from netlab.lab_spec import MAX_HOSTS, MAX_MTU_BYTES, MIN_MTU_BYTES, LabSpec, check_name, read_lab_spec
from netlab.namespaces.features import KernelFeatures, probe_features
from netlab.namespaces.host import Attachment, Host
from netlab.namespaces.link import Direction, Link, Wire
from netlab.namespaces.link_plan import plan_link
from netlab.namespaces.node import Node
from netlab.namespaces.pid_space import PidSpace
from netlab.namespaces.player import Played, Player
from netlab.namespaces.process import HostProcess
from netlab.namespaces.timeline import Track

__all__ = ["Impairment", "Lab", "kernel_features", "run_exec"]

GRACE_S = 2.0
"""How long processes may take to end when asked to."""


@functools.cache
def kernel_features() -> KernelFeatures:
    """Return what this kernel can do; probed once, when the first impaired link needs it.

    Raises:
        PrivilegeError: The caller may not make namespaces.
    """
    return probe_features()


class Lab:
    """Hosts, links and processes that live and end together.

    Args:
        name: What messages call it; one lab of a name at a time on a machine. A fresh one unless given.
        seed: Seed of every link: the same seed gives the same losses.
        run_folder: Where the output of its processes goes; unless given, the last 64 KiB of each are kept.
        spec: Hosts, links and commands that are made when the lab is opened.
        spec_folder: What relative paths of the spec are relative to.

    Raises:
        SpecError: The name or the spec is not one a lab can have; nothing has been made then.
    """

    def __init__(
        self,
        name: str = "",
        *,
        seed: int = 0,
        run_folder: str | os.PathLike[str] | None = None,
        spec: LabSpec | None = None,
        spec_folder: str | os.PathLike[str] = "",
    ) -> None:
        self.id = secrets.token_hex(3)
        self.name = name or (spec.name if spec else "") or f"lab-{self.id}"
        self.seed = spec.seed if spec else seed
        self.hosts: dict[str, Host] = {}
        self.links: dict[str, Link] = {}
        self.player: Player | None = None
        self._run_folder = Path(run_folder) if run_folder is not None else None
        self._spec = spec
        self._spec_folder = Path(spec_folder)
        self._impairments: dict[str, Impairment] = {}
        self._scheduled: list[tuple[Link, Direction, Track]] = []
        self._wire: Wire | None = None
        self._pids: PidSpace | None = None
        self._pids_lock = threading.Lock()
        self._closers = Closers(f"lab {self.name}")
        self._open = False
        check_name(self.name, key="name")
        if spec is not None:
            spec.check()
            self._impairments = read_profiles(spec, self._spec_folder)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str], *, run_folder: str | os.PathLike[str] | None = None) -> Self:
        """Read a lab from a TOML file (docs/labs.md); open it with ``with``.

        Raises:
            SpecError: The file or one of its profiles is malformed.
        """
        spec = read_lab_spec(Path(path))
        return cls(spec=spec, spec_folder=Path(path).parent, run_folder=run_folder)

    def open(self) -> Self:
        """Open the lab: take its name; make what its spec names.

        Raises:
            SpecError: A lab of this name is open on this machine.
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
            if self._spec is not None:
                self._build(self._spec)
        except BaseException as error:
            self._open = False
            self._closers.close_after(error)
            raise
        return self

    def add_host(self, name: str) -> Host:
        """Add a host.

        Raises:
            SpecError: The name is taken or not one a host can have, or there are too many.
            PrivilegeError: The caller may not make namespaces.
        """
        self._require_open()
        check_name(name, key=f"hosts.{name}")
        if name in self.hosts:
            raise SpecError(
                f"{name!r} is a host of this lab already", key=f"hosts.{name}", hint="choose another name"
            )
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
        self._check_link(name, ends, mtu)
        forward, back = plan_directions(impairment, self.seed, name)
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
        self._scheduled += [(link, one.direction, one.track) for one in (forward, back) if one.track is not None]
        return link

    def play(self) -> Player | None:
        """Begin to play the schedules of all links, from now on; None where no link has one.

        Raises:
            LabError: They are being played already.
        """
        self._require_open()
        if self.player is not None:
            raise LabError(f"the schedules of lab {self.name} are being played already")
        if not self._scheduled:
            return None
        played = []
        for link, direction, track in self._scheduled:
            qdisc = link.qdisc(direction)
            assert qdisc is not None  # made with the track's first state
            played.append(Played(track, qdisc))
            link.played = True
        self.player = Player(played)
        self._closers.push("play the schedules", self.player.stop)
        self.player.start()
        return self.player

    def start_commands(self) -> list[HostProcess]:
        """Start the command of each host that has one in the spec.

        Raises:
            KernelError: One cannot be started.
        """
        started = []
        for name, host in (self._spec.hosts if self._spec else {}).items():
            if host.command:
                folder = self._spec_folder
                started.append(
                    self.hosts[name].start(
                        host.command,
                        env=host.env,
                        cwd=folder / host.cwd if host.cwd else None,
                        stdout=folder / host.output if host.output else None,
                    )
                )
        return started

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

    def _build(self, spec: LabSpec) -> None:
        for name in spec.hosts:
            self.add_host(name)
        for link in spec.link:
            self.add_link(*link.ends, self._impairments.get(link.full_name), name=link.full_name, mtu=link.mtu)

    def _require_open(self) -> None:
        if not self._open:
            raise LabError(f"lab {self.name} is not open", hint="use it within `with Lab(...) as lab:`")

    def _host(self, host: Host | str) -> Host:
        name = host if isinstance(host, str) else host.name
        known = self.hosts.get(name)
        if known is None or not (isinstance(host, str) or host is known):
            raise SpecError(
                f"{name!r} is no host of lab {self.name}",
                key="link.ends",
                hint=f"its hosts: {', '.join(self.hosts) or 'none yet'}",
            )
        return known

    def _check_link(self, name: str, ends: tuple[Host, Host], mtu: int) -> None:
        check_name(name, key="link.name")
        if ends[0] is ends[1]:
            raise SpecError(f"{ends[0].name!r} twice: a link joins two hosts", key="link.ends")
        if name in self.links:
            hint = "give it a name of its own"
            raise SpecError(f"{name!r} is a link of this lab already", key="link.name", hint=hint)
        if not MIN_MTU_BYTES <= mtu <= MAX_MTU_BYTES:
            raise SpecError(f"{mtu}: must be {MIN_MTU_BYTES} .. {MAX_MTU_BYTES}", key="link.mtu")

    def _the_wire(self) -> Wire:
        if self._wire is None:
            self._wire = Wire.make(f"the wire of lab {self.name}", kernel_features)
            self._closers.push("close the wire", self._wire.close)
        return self._wire

    def _pid_space(self) -> PidSpace:
        self._require_open()
        with self._pids_lock:  # hosts may be asked for programs from several threads
            if self._pids is None:
                self._pids = PidSpace.open(f"lab {self.name}")
                self._closers.push("end the lab's keeper", self._pids.close)
                self._closers.push("end the lab's processes", functools.partial(self._pids.end_processes, GRACE_S))
            return self._pids
