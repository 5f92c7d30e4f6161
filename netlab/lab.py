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
from pathlib import Path
from types import TracebackType
from typing import Self

from netlab.errors import LabError
from netlab.lab_builder import LabBuilder
from netlab.lab_name import take_lab_name
from netlab.lab_network import LabNetwork
from netlab.lab_recording import LabRecording
from netlab.lab_spec import LabSpec, read_lab_spec
from netlab.namespaces.player import Player
from netlab.namespaces.process import HostProcess
from netlab.namespaces.wire import Wiring

__all__ = ["Lab"]

StrPath = str | os.PathLike[str]


class Lab(LabNetwork):
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
        super().__init__(
            name or (spec.name if spec else ""),
            seed if seed is not None else spec.seed if spec else 0,
            Path(run_folder) if run_folder is not None else None,
            wiring,
        )
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
                self._descriptors.make_room(self._builder.hosts)
                self._builder.build(self.add_host, self.add_medium, self.add_links)
        except BaseException as error:
            self._open = False
            self._closers.close_after(error)
            raise
        return self

    @property
    def player(self) -> Player | None:
        """The newest Player, whether it still plays or not; None before the first ``play``."""
        return self._play.player

    def play(self) -> Player | None:
        """Begin to play the schedules of all links, from now on; None where no link has one.

        Returns:
            The Player, whose thread begins within moments: as soon as its ``start_s`` is not None, that is when
            play began, on the monotonic clock. A step that the schedule has at t is due at ``start_s + t``.

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
            LabError: What carries the packets has died.
            KernelError: A step of a schedule was refused or did not take hold.
        """
        for host in self.hosts.values():
            for process in host.processes:
                process.check()
        self.check_links()

    def check_links(self) -> None:
        """Do nothing as long as packets can pass as they should, whatever the lab's processes do.

        Raises:
            LabError: What carries the packets has died.
            KernelError: A step of a schedule was refused or did not take hold.
        """
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
