"""Supervisor: the process between launcher and guest kernel that leaves nothing behind, whoever is killed.

::

    launcher --socket (the lifeline)--> supervisor --fork--> warden --fork, exec--> guest kernel --> its stubs
                                         |  job folder         |  own session (as root: pid 1 of its own
                                         |                     |  PID namespace), confined before the exec
                                         `- both read the lifeline: its end means that the launcher is gone

    killed          what follows
    launcher        the lifeline ends: warden and supervisor kill all below them and remove the folder
    supervisor      the launcher notices, shuts the lifeline and removes the folder; the warden as above
    warden          its PID namespace dies with it; else the supervisor, a subreaper, kills what was below it
    guest kernel    the warden reports the wait status and ends

Runs in an interpreter of its own (``entry.py supervise FD``), since the caller may have threads: a process
that unshares and forks must not. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import shutil
import signal
import socket
import struct
from collections.abc import Callable
from pathlib import Path

from netlab.errors import GuestError, NetlabError
from netlab.namespaces import syscalls
from netlab.namespaces.guest import confinement, kernel_calls
from netlab.namespaces.guest.descriptor_limit import allow_descriptors
from netlab.namespaces.guest.kernel_descriptors import number_descriptors, out_of_the_way
from netlab.namespaces.guest.kernel_plan import KernelPlan, encode_event
from netlab.namespaces.guest.spool import SPOOL_NAME, spool_input

__all__ = ["main"]

_WAIT_FOR_ALL = 0x40000000  # __WALL: stubs are cloned without SIGCHLD
_CLAIMS_A_CPU = 64
_KERNEL_NICENESS = -10
"""Added to the caller's. A guest has one CPU for its clock, its links and its programs: it goes before whatever
else that CPU has to do, or it is late by the neighbours' turns. For the kernel and its stubs alone."""
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE)


def main(link_fd: int) -> None:
    """Run one guest kernel as the launcher at the other end of a socket asks, then remove every trace of it."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    syscalls.set_subreaper()
    link = socket.socket(fileno=link_fd)
    plan = _receive_plan(link)
    if plan is None:
        return
    try:
        allow_descriptors()
        _make_job_folder(plan)
        if not spool_input(plan.stdin_fd, Path(plan.job_folder) / SPOOL_NAME, link.fileno()):
            return
        cpu, claim = claim_cpu(plan.cpus)
        with claim:
            if plan.confine:
                _confining(lambda: syscalls.unshare(syscalls.CLONE_NEWPID))
            warden = os.fork()
            if warden == 0:
                claim.close()
                _guard(lambda: _Warden(plan, link, cpu).run(), link)
            for fd in plan.descriptors:
                os.close(fd)
            warden_fd = os.pidfd_open(warden)
            _wait_for_any(link.fileno(), warden_fd)
    except (OSError, NetlabError) as error:
        _report_failure(link, error)
    finally:
        _end_descendants()
        shutil.rmtree(plan.job_folder, ignore_errors=True)
    _report(link, "done")


def claim_cpu(preferred: tuple[int, ...]) -> tuple[int, socket.socket]:
    """Return the first CPU with the fewest guests on it, and the claim to it.

    A claim is a name in the abstract socket space: nobody can forget to remove it. Guests of other network
    namespaces are not seen; for them the order of preference, by load, must do.

    Args:
        preferred: CPUs, best first.

    Raises:
        OSError: Sockets cannot be had.
    """
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    for number in range(_CLAIMS_A_CPU):
        for cpu in preferred:
            try:
                claim.bind(f"\0netlab-guest-cpu-{cpu}-{number}")
            except OSError:
                continue
            return cpu, claim
    return preferred[0], claim


class _Warden:
    """The parent of the guest kernel."""

    def __init__(self, plan: KernelPlan, link: socket.socket, cpu: int) -> None:
        self._plan = plan
        self._link = link
        self._cpu = cpu

    def run(self) -> None:
        """Start the kernel, wait for its end or the launcher's, end what is left. Returns only by an error."""
        os.setsid()
        if self._plan.hurries:
            _favour_own_session()
        syscalls.set_subreaper()
        nothing_fd = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        if self._plan.confine:
            _confining(lambda: confinement.confine(self._plan.writable, self._plan.memory_bytes))
        kernel = self._start(nothing_fd)
        kernel_fd = os.pidfd_open(kernel)
        if kernel_fd in _wait_for_any(self._link.fileno(), kernel_fd):
            _, status = os.waitpid(kernel, _WAIT_FOR_ALL)
            _report(self._link, "ended", status=os.waitstatus_to_exitcode(status))
        else:
            # The supervisor removes the folder too; this is for the case that it has been killed as well.
            shutil.rmtree(self._plan.job_folder, ignore_errors=True)
        _end_descendants()
        os._exit(0)

    def _start(self, nothing_fd: int) -> int:
        told, tell = os.pipe()  # closed by a successful exec; else it carries the reason
        warden = os.getpid()
        kernel = os.fork()
        if kernel == 0:
            try:
                tell = out_of_the_way(tell)
                self._become_kernel(nothing_fd, warden)
            except OSError as error:
                os.write(tell, f"{error.strerror}".encode())
            finally:
                os._exit(127)
        os.close(tell)
        for fd in self._plan.descriptors:
            os.close(fd)
        with open(told, "rb") as reason_file:  # noqa: PTH123 - a descriptor, no path
            reason = reason_file.read().decode(errors="replace")
        if reason:
            raise GuestError(
                f"cannot start the guest kernel {self._plan.argv[0]}: {reason}", hint="netlab guest list"
            )
        _report(self._link, "started", cpu=self._cpu)
        return kernel

    def _become_kernel(self, nothing_fd: int, warden: int) -> None:
        syscalls.die_with_parent_thread()
        if os.getppid() != warden:
            return
        # A group's leader cannot leave the session, as the kernel would: it stays in the one that is favoured.
        os.setpgid(0, 0)
        os.sched_setaffinity(0, {self._cpu})
        syscalls.set_timer_slack(1)
        if self._plan.hurries:
            with contextlib.suppress(PermissionError):  # an ordinary user's guest takes its turn
                os.nice(_KERNEL_NICENESS)
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU):
            _, hard = resource.getrlimit(kind)
            resource.setrlimit(kind, (hard, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in _IGNORED:
            signal.signal(number, signal.SIG_DFL)
        os.dup2(nothing_fd, 0)
        os.dup2(self._plan.log_fd, 1)
        os.dup2(self._plan.log_fd, 2)
        number_descriptors(self._plan.descriptors, self._plan.job_folder)
        os.chdir(self._plan.folder)
        if self._plan.confine:
            confinement.drop_capabilities()
        if not self._plan.chance:
            kernel_calls.refuse_random_numbers()
        os.execve(self._plan.argv[0], self._plan.argv, self._plan.env)


def _favour_own_session() -> None:
    """Let our session go first, where the host shares its CPUs out by session: niceness counts within one."""
    niceness = max(os.nice(0) + _KERNEL_NICENESS, -20)
    # Not there, not permitted, or asked too often: then it takes its turn.
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(niceness), encoding="ascii")


def _receive_plan(link: socket.socket) -> KernelPlan | None:
    """Return what the launcher asks for; None when it is gone before it could ask."""
    header = _receive_exactly(link, 4)
    if header is None:
        return None
    text = _receive_exactly(link, struct.unpack("<I", header)[0])
    return None if text is None else KernelPlan.from_json(text.decode("ascii"))


def _receive_exactly(link: socket.socket, count: int) -> bytes | None:
    data = b""
    while len(data) < count:
        piece = link.recv(min(count - len(data), 1 << 20))
        if not piece:
            return None
        data += piece
    return data


def _make_job_folder(plan: KernelPlan) -> None:
    folder = Path(plan.job_folder)
    folder.mkdir(0o700)
    for name, content in plan.job_files.items():
        fd = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as file:  # noqa: PTH123 - a descriptor, no path
            file.write(content.encode("latin-1"))


def _confining(step: Callable[[], None]) -> None:
    """Take a step of the confinement, and refuse to go on without it.

    Raises:
        GuestError: The step was not permitted.
    """
    try:
        step()
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise GuestError(
            f"cannot confine root's guest{where}: {error.strerror}; it could write to the whole machine",
            hint="start it as an ordinary user, who needs no rights, or with --no-confine (Python: confine=False)",
        ) from error


def _wait_for_any(*descriptors: int) -> frozenset[int]:
    """Return those that have something to read, or have ended; waits until there is one."""
    poller = select.poll()  # not select(): the caller's descriptors keep their numbers, which may be above 1023
    for fd in descriptors:
        poller.register(fd, select.POLLIN)
    return frozenset(fd for fd, _ in poller.poll())


def _guard(run: Callable[[], None], link: socket.socket) -> None:
    """Run the warden so that its process never goes on with the supervisor's code."""
    try:
        run()
    except (OSError, NetlabError) as error:
        _report_failure(link, error)
    finally:
        os._exit(1)


def _end_descendants() -> None:
    """Kill and reap until no descendant is left; we must be a subreaper.

    Not by process group: the guest kernel makes a session of its own. What is orphaned becomes our child, so that
    all come within reach one after another.
    """
    while True:
        for child in _children():
            os.kill(child, signal.SIGKILL)  # not reaped yet, so it is still that process
        try:
            os.waitpid(-1, _WAIT_FOR_ALL)
        except ChildProcessError:
            return


def _children() -> list[int]:
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except FileNotFoundError:  # a kernel built without CONFIG_PROC_CHILDREN
        return _children_by_search()


def _children_by_search() -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile
            parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[1]
            if int(parent) == os.getpid():
                found.append(int(folder.name))
    return found


def _report_failure(link: socket.socket, error: OSError | NetlabError) -> None:
    if isinstance(error, NetlabError):
        _report(link, "failed", message=error.message, hint=error.hint)
    else:
        where = f"{error.filename}: " if error.filename else ""
        _report(link, "failed", message=f"cannot start a guest: {where}{error.strerror}", hint="")


def _report(link: socket.socket, event: str, **facts: object) -> None:
    with contextlib.suppress(OSError):  # the launcher is gone: nobody to tell
        link.sendall(encode_event(event, **facts))
