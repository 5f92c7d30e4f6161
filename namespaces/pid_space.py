"""PidSpace: netlab's half of a lab's PID namespace: its keeper is started, asked and listened to here.

::

    PidSpace.open --thread: unshare(NEWPID), start--> keeper (pid 1)      the thread stays until the end:
      start(program, host) ----------- frame -------> fork, exec          the keeper's parent-death signal
      thread <-- pid, status, output ---------------- reports             hangs on the thread that made it

It must not know what a lab is. Closing it ends every process in it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import signal
import socket
import subprocess
import threading
import time
from types import TracebackType
from typing import Any, Self

from netlab.errors import KernelError, LabError, NetlabError
from netlab.namespaces.keeper_frame import FrameError, receive_frame, send_frame
from netlab.namespaces.keeper_life import start_keeper, wait_for_end
from netlab.namespaces.namespace import Namespace
from netlab.namespaces.netlink_ack import refusal
from netlab.namespaces.process import HostProcess
from netlab.namespaces.process_output import KeptTail, ProcessOutput, last_lines
from netlab.namespaces.program import Program, start_request
from netlab.namespaces.ward import Ward

__all__ = ["PidSpace"]

_READY_TIMEOUT_S = 30.0


class PidSpace:
    """A PID namespace with a keeper in it.

    Attributes:
        label: What messages call it.
        own_proc: Whether /proc inside shows its processes alone; not so where the kernel refuses that mount.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.own_proc = False
        self._link, self._far_link = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._link.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._keeper_words = KeptTail()
        self._selector = selectors.DefaultSelector()
        self._lock = threading.Lock()
        self._last_number = 0
        self._wards: dict[int, Ward] = {}
        self._closing = False
        self._ready = threading.Event()
        self._problem: NetlabError | None = None
        self._surprise: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="netlab-keeper", daemon=True)

    @classmethod
    def open(cls, label: str) -> Self:
        """Make a PID namespace and start its keeper.

        Raises:
            PrivilegeError: The caller may not make PID namespaces.
            LabError: The keeper does not come up.
            BaseException: Whatever else keeps its thread from starting it.
        """
        space = cls(label)
        try:
            space._thread.start()
            if not space._ready.wait(_READY_TIMEOUT_S):
                raise LabError(f"the keeper of {label} is not up after {_READY_TIMEOUT_S:g} s")
            problem, space._surprise = space._surprise or space._problem, None
            if problem is not None:
                raise problem
        except BaseException:
            space.close()
            raise
        return space

    def start(
        self, program: Program, host: Namespace, output: ProcessOutput, stdin_fd: int | None = None
    ) -> HostProcess:
        """Start a program in a host and return once it runs.

        Args:
            program: What to run.
            host: The network namespace it lives in.
            output: Where it prints; ours to close from now on.
            stdin_fd: What it reads; None for nothing.

        Raises:
            SpecError: An argument or variable cannot be encoded.
            KernelError: It cannot be started: no such program, not executable.
            LabError: The keeper is dead.
        """
        with self._lock:
            self._last_number += 1
            number = self._last_number
        ward = Ward(HostProcess(f"{host.label}: {program.argv[0]}", program.argv, output, number, self))
        try:
            self._ask_for(number, ward, program, host.fd, stdin_fd)
        except BaseException as error:
            asked_for = self._wards.pop(number, None) is not None
            if asked_for and not isinstance(error, Exception):
                # An interrupt: it may have been sent, and then the output is not ours to close.
                self.send_signal(number, signal.SIGKILL, group=True)
            else:
                output.close()
            raise
        # From here on the keeper's thread alone closes the output: two closers would close a stranger's.
        try:
            ward.settled.wait()
        except BaseException:
            self.send_signal(number, signal.SIGKILL, group=True)
            raise
        if ward.problem is not None:
            raise ward.problem
        return ward.process

    def _ask_for(self, number: int, ward: Ward, program: Program, host_fd: int, stdin_fd: int | None) -> None:
        request = start_request(number, program)  # may refuse: before anybody counts on the process
        output = ward.process.output
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a device
            stdin = nothing.fileno() if stdin_fd is None else stdin_fd
            self._wards[number] = ward
            self._send(request, [host_fd, stdin, output.stdout_fd, output.stderr_fd])

    def send_signal(self, number: int, signal_number: int, group: bool) -> None:
        """Signal a process; the keeper, its parent, makes sure that it is still that one."""
        with contextlib.suppress(LabError):  # dead already, and everything in it
            self._send({"do": "signal", "id": number, "signal": int(signal_number), "group": group})

    def end_processes(self, grace_s: float) -> None:
        """End all processes together, so that the patience with the slowest is the patience with all.

        Raises:
            LabError: Not even SIGKILL ended one of them, or the keeper had died.
        """
        processes = [ward.process for ward in list(self._wards.values())]
        for process in reversed(processes):
            process.terminate()
        deadline_s = time.monotonic() + grace_s
        for process in reversed(processes):
            process.close(max(0.0, deadline_s - time.monotonic()))

    def close(self) -> None:
        """End the keeper and with it every process of the namespace, then wait until the kernel is done.

        Raises:
            LabError: The keeper had died, or the kernel cannot end one of the processes.
        """
        self._closing = True
        with contextlib.suppress(OSError):
            self._link.shutdown(socket.SHUT_WR)
        if self._thread.ident is not None:
            self._thread.join()
        self._link.close()
        self._far_link.close()
        self._keeper_words.close()
        self._selector.close()
        if self._surprise is not None:
            raise self._surprise
        if isinstance(self._problem, LabError):
            raise self._problem

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
        try:
            with self._lock:
                send_frame(self._link, message, descriptors or ())
        except FrameError as error:
            raise LabError(f"arguments and environment of a process are too long: {error}") from error
        except OSError as error:
            raise self._problem or LabError(
                f"cannot reach the keeper of {self.label}: {error.strerror}"
            ) from error

    # What follows runs in the keeper's thread alone.

    def _run(self) -> None:
        try:
            keeper = start_keeper(self.label, self._far_link, self._keeper_words)
            try:
                self._converse()
            except (OSError, FrameError, LookupError, TypeError, ValueError, LabError) as error:
                self._problem = self._problem or LabError(f"the keeper of {self.label} speaks nonsense: {error}")
            finally:
                self._link.close()
                self._see_off(keeper)
        except BaseException as error:  # re-raised by ``open`` or ``close``: a thread's are nobody's
            self._surprise = error
        finally:
            self._ready.set()

    def _converse(self) -> None:
        """Take in reports and output until the keeper's end of file."""
        self._selector.register(self._link, selectors.EVENT_READ, None)
        self._watch(self._keeper_words)
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    try:
                        frame = receive_frame(self._link)
                    except ConnectionResetError:  # it died with a request of ours unread
                        return
                    if frame is None:
                        return
                    self._take(frame[0], frame[2])
                elif not key.data.pump():
                    self._selector.unregister(key.fd)
                    key.data.close()

    def _take(self, report: dict[str, Any], pid: int | None) -> None:
        if "ready" in report:
            if report["ready"]:
                self.own_proc = report["proc"]
                self._send({"do": "go"})
            else:
                self._problem = refusal(f"set up the keeper of {self.label}", report["errno"])
            self._ready.set()
            return
        ward = self._wards.get(report["id"])
        if ward is None:
            return
        process = ward.process
        if "failed" in report:
            host = process.label.partition(":")[0]
            attempt = f"start {process.argv[0]!r} in host {host}{report['stage']}"
            missing = report["failed"] in (errno.ENOENT, errno.ENOTDIR)
            hint = "check the spelling, and the folder and PATH it starts with" if missing else ""
            del self._wards[report["id"]]
            process.output.close()
            ward.settle(KernelError(attempt, report["failed"], hint=hint))
        elif "started" in report:
            process.note_started(pid or 0)
            process.output.started()
            self._watch(process.output)
            ward.settle()
        else:
            del self._wards[report["id"]]
            if process.output.pump_fd is not None:
                process.output.pump()  # what it printed last is in the pipe by now
            process.note_ended(report["status"])

    def _watch(self, output: ProcessOutput) -> None:
        if output.pump_fd is not None:
            self._selector.register(output.pump_fd, selectors.EVENT_READ, output)

    def _see_off(self, keeper: subprocess.Popen[bytes]) -> None:
        """Wait for the keeper's end, which is that of every process in the namespace; tell who waits."""
        code = wait_for_end(keeper)
        if code is None:
            self._problem = LabError(f"a process of {self.label} does not end even by SIGKILL")
        elif not self._closing:
            self._keeper_words.pump()
            words = last_lines(self._keeper_words.tail(), 10)
            self._problem = self._problem or LabError(f"the keeper of {self.label} died", code, words)
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                self._selector.unregister(key.fd)
                key.data.pump()
                key.data.close()
        for ward in list(self._wards.values()):
            ward.process.output.close()
            if isinstance(self._problem, LabError):
                ward.process.note_lost(self._problem)
            else:
                ward.process.note_ended(-signal.SIGKILL)
            ward.settle(self._problem or LabError(f"the keeper of {self.label} is closed"))
