"""Host: a network namespace of a lab in which programs run.

Owns where its programs print and which variables tell them of the lab. Must not know what a link does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from netlab.errors import LabError, SpecError
from netlab.namespaces.link_plan import peer_variable
from netlab.namespaces.node import Node
from netlab.namespaces.pid_space import PidSpace
from netlab.namespaces.process import HostProcess
from netlab.namespaces.process_output import FileOutput, Inherited, KeptTail, ProcessOutput
from netlab.namespaces.program import Program
from netlab.namespaces.program_check import check_arguments, check_streams, check_variables
from netlab.working_folder import absolute_path, working_folder

__all__ = ["Attachment", "Host"]

T = TypeVar("T")


class Attachment(NamedTuple):
    """A link as one of its hosts sees it.

    Attributes:
        link: The link's name.
        interface: Our interface on it.
        address: Our address on it.
        peer: Name of the host at the far end.
        peer_address: Its address on this link.
    """

    link: str
    interface: str
    address: str
    peer: str
    peer_address: str


class Host:
    """A host of a lab.

    Attributes:
        name: Its name.
        node: Its namespace and socket.
        attachments: Its links, in the order of their interfaces eth0, eth1 ...
        peers: Names of its neighbours, by the variables that programs know them by.
        processes: What has been started in it.
    """

    def __init__(
        self,
        node: Node,
        lab_name: str,
        run_folder: Path | None,
        pids: Callable[[], PidSpace],
        cpu_variables: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self.name = node.name
        self.node = node
        self.attachments: list[Attachment] = []
        self.peers: dict[str, str] = {}
        self._peer_addresses: dict[str, str] = {}  # of several links to one peer the first counts
        self.processes: list[HostProcess] = []
        self._lab_name = lab_name
        self._cpu_variables = cpu_variables
        self._run_folder = run_folder
        self._pids = pids

    @property
    def address(self) -> str:
        """Its address on its first link.

        Raises:
            LabError: It has no link yet.
        """
        if not self.attachments:
            raise LabError(f"host {self.name} has no address", hint="add a link to it first")
        return self.attachments[0].address

    def address_of(self, peer: str) -> str:
        """Return the address at which this host reaches another over the first link to it.

        Raises:
            LabError: There is no link between the two.
        """
        address = self._peer_addresses.get(peer)
        if address is None:
            hint = "a host reaches its direct neighbours alone"
            raise LabError(f"host {self.name} has no link to {peer}", hint=hint)
        return address

    def attach(self, attachment: Attachment) -> None:
        """Take note of a link that has been made."""
        self.attachments.append(attachment)
        self.peers[peer_variable(attachment.peer)] = attachment.peer
        self._peer_addresses.setdefault(attachment.peer, attachment.peer_address)

    def environment(self) -> dict[str, str]:
        """Return the variables by which its programs learn where they are (docs/labs.md)."""
        variables = {"NETLAB_LAB": self._lab_name, "NETLAB_HOST": self.name, **self._cpu_variables()}
        if self.attachments:
            variables["NETLAB_ADDRESS"] = self.attachments[0].address
            variables["NETLAB_PEER"] = self.attachments[0].peer_address
        for variable, peer in self.peers.items():
            variables[variable] = self._peer_addresses[peer]
        return variables

    def call(self, function: Callable[[], T]) -> T:
        """Run a function inside the host's namespace, in a thread of its own; its sockets stay there.

        Raises:
            BaseException: Whatever the function raises.
        """
        return self.node.namespace.call(function)

    def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stdin: int | None = None,
        stdout: str | os.PathLike[str] | Literal["inherit"] | None = None,
        own_session: bool = True,
        ignored_signals: frozenset[int] = frozenset(),
    ) -> HostProcess:
        """Start a program in this host; return once it runs.

        Args:
            argv: The program and its arguments; no shell.
            env: Variables on top of netlab's own environment and those of ``environment()``.
            cwd: Folder it starts in; netlab's own unless given.
            stdin: A descriptor it reads; nothing unless given.
            stdout: File for its stdout and stderr, or ``inherit``; unless given, a file in the lab's run
                folder, or, where there is none, its last 64 KiB are kept.
            own_session: Give it a session of its own; False keeps it in netlab's, with the terminal.
            ignored_signals: Signals it starts with ignored.

        Raises:
            SpecError: No program is named, or an argument, a variable or an option is none a program can have.
            KernelError: It cannot be started: no such program, not executable.
            LabError: Its output file cannot be written.
        """
        where = f"for a program in host {self.name}"
        if not isinstance(argv, str) and isinstance(argv, Sequence) and not (argv and argv[0]):
            raise SpecError(f"no program to start in host {self.name}", hint="name a program and its arguments")
        check_arguments(argv, where)
        check_variables(env, where)
        check_streams(cwd, stdin, stdout, where)
        program = Program(
            argv=tuple(argv),
            env={**os.environ, **self.environment(), **(env or {})},
            cwd=absolute_path(cwd) if cwd is not None else working_folder(),
            own_session=own_session,
            ignored_signals=ignored_signals,
        )
        self._pids()  # may refuse: before a file is opened
        process = self.run(program, self._open_output(stdout), stdin)
        self.processes.append(process)
        return process

    def run(self, program: Program, output: ProcessOutput, stdin: int | None = None) -> HostProcess:
        """Start a program exactly as it is described; it is the caller's, not one of ``processes``.

        Args:
            program: What to run, its whole environment included.
            output: Where it prints; ours to close from now on.
            stdin: A descriptor it reads; nothing unless given.

        Raises:
            SpecError: An argument or variable cannot be encoded.
            KernelError: It cannot be started: no such program, not executable.
            LabError: The lab is closed, or its keeper is dead.
        """
        try:
            pids = self._pids()
        except BaseException:
            output.close()
            raise
        return pids.start(program, self.node.namespace, output, stdin)

    def _open_output(self, stdout: str | os.PathLike[str] | None) -> ProcessOutput:
        if stdout == "inherit":
            return Inherited()
        if stdout is not None:
            return FileOutput(Path(stdout))
        if self._run_folder is not None:
            return FileOutput(self._run_folder / f"{self.name}-{len(self.processes) + 1}.log")
        return KeptTail()
