"""Keeper: pid 1 of a lab's PID namespace; starts processes in hosts, buries them, and takes all with it.

Runs as its own small program on the standard library alone (``keeper_command``), so that no memory, thread or
lock of netlab is copied into a lab. It must not know what a lab or a link is: it is handed descriptors.

::

    netlab                               lab's PID namespace
    PidSpace --start, signal--> socket --> Keeper (pid 1) --fork, setns, exec--> process, its children ...
             <-ready, pid, status--          `- end of file: exit; the kernel ends the whole namespace

Two lines of defence against a netlab that dies: end of file on the socket, and the parent-death signal for
the case that a forked copy of netlab holds the socket open. Its race (the parent ended before we asked for
the signal) is closed by ``go``: only a living parent can send it after our ``ready``.
Children need no parent-death signal: when pid 1 ends, the kernel ends every process of the namespace.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import termios
from pathlib import Path
from typing import Any, NoReturn

from netlab.namespaces.keeper_frame import receive_frame, send_frame
from netlab.namespaces.syscalls import (
    CLONE_NEWNET,
    CLONE_NEWNS,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_REC,
    MS_SLAVE,
    die_with_parent_thread,
    mount,
    setns,
    unshare,
)

__all__ = ["keeper_command"]

_GO_TIMEOUT_MS = 10_000
_ERRNO = struct.Struct("=i")
_VIRTUAL = MS_NOSUID | MS_NODEV | MS_NOEXEC
_BOOT = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.path.append(sys.argv[1]); "
    "from netlab.namespaces.keeper import run; run(int(sys.argv[2]))"
)


def keeper_command(socket_fd: int) -> list[str]:
    """Return the command line of a keeper that serves an inherited socket."""
    import netlab

    # The folder that holds the netlab package: an isolated interpreter without site cannot find it itself.
    folder = str(Path(netlab.__file__).resolve().parent.parent)
    return [sys.executable, "-IS", "-c", _BOOT, folder, str(socket_fd)]


class _Child:
    """A process the keeper has forked: its id in netlab's books, its pid here, and its start report."""

    def __init__(self, number: int, pid: int, report_fd: int, own_session: bool) -> None:
        self.number = number
        self.pid = pid
        self.report_fd: int | None = report_fd
        self.own_session = own_session
        self.sweep = False


class Keeper:
    """The loop of pid 1: requests from netlab, start reports from forked children, deaths."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._children: dict[int, _Child] = {}
        self._poll = select.poll()

    def serve(self) -> None:
        """Work until netlab closes the socket."""
        deaths, bell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll.register(self._link, select.POLLIN)
        self._poll.register(deaths, select.POLLIN)
        while True:
            ready = {fd for fd, _ in self._poll.poll()}
            # In this order: a request opens descriptors, and no number in ``ready`` is free for it yet; a
            # burial settles the start of who has died, so it comes when the other starts are settled.
            if self._link.fileno() in ready:
                frame = receive_frame(self._link)
                if frame is None:
                    return
                self._obey(frame[0], frame[1])
            for child in [child for child in self._children.values() if child.report_fd in ready]:
                self._settle(child)
            if deaths in ready:
                os.read(deaths, 4096)
                self._bury()

    def _obey(self, request: dict[str, Any], descriptors: list[int]) -> None:
        """Do what is asked; whatever a request holds, the lab's other processes live on."""
        try:
            if request.get("do") == "start":
                self._start(request, descriptors)
            elif request.get("do") == "signal":
                self._signal(request)
        except (BrokenPipeError, ConnectionResetError):
            raise
        except (OSError, LookupError, TypeError, ValueError, OverflowError) as error:
            if request.get("do") == "start":  # somebody waits for it
                number = getattr(error, "errno", None) or errno.EINVAL
                send_frame(self._link, {"id": request.get("id"), "failed": number, "stage": " (keeper)"})
        finally:
            for fd in descriptors:
                os.close(fd)

    def _start(self, request: dict[str, Any], descriptors: list[int]) -> None:
        number, own_session = request["id"], bool(request["session"])
        if not descriptors:  # sent along, and no room here for all of them
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        report, report_end = os.pipe2(os.O_CLOEXEC)
        try:
            pid = os.fork()
        except OSError as error:
            os.close(report)
            os.close(report_end)
            send_frame(self._link, {"id": number, "failed": error.errno, "stage": " (fork)"})
            return
        if pid == 0:
            _become(request, descriptors, report_end)
        os.close(report_end)
        child = _Child(number, pid, report, own_session)
        self._children[pid] = child
        self._poll.register(report, select.POLLIN)

    def _settle(self, child: _Child) -> None:
        """Read how a start went: end of file is the program's exec, else an error number and where."""
        report_fd, child.report_fd = child.report_fd, None
        if report_fd is None:
            return
        report = os.read(report_fd, 4096)
        self._poll.unregister(report_fd)
        os.close(report_fd)
        if report:
            number = _ERRNO.unpack_from(report)[0]
            stage = report[_ERRNO.size :].decode("latin-1")
            send_frame(self._link, {"id": child.number, "failed": number, "stage": stage})
            child.number = -1  # nobody waits for its status
        else:
            send_frame(self._link, {"id": child.number, "started": child.pid}, pid=child.pid)

    def _bury(self) -> None:
        """Collect the dead: our children and the orphans that the kernel has given us."""
        while True:
            try:
                dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if dead is None:
                return
            child = self._children.pop(dead.si_pid, None)
            if child is not None:
                self._settle(child)
            if child is not None and child.sweep:
                # Before the burial, as long as the number of its group cannot be another's.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
            _, status = os.waitpid(dead.si_pid, 0)
            if child is not None and child.number >= 0:
                code = os.waitstatus_to_exitcode(status)
                send_frame(self._link, {"id": child.number, "status": code})

    def _signal(self, request: dict[str, Any]) -> None:
        child = next((child for child in self._children.values() if child.number == request["id"]), None)
        if child is None:  # it has just died; its status is on its way
            return
        whole_group = bool(request["group"]) and child.own_session
        child.sweep = child.sweep or whole_group
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if whole_group else os.kill)(child.pid, int(request["signal"]))


def _become(request: dict[str, Any], descriptors: list[int], report_fd: int) -> NoReturn:
    """Turn this forked child into the program that was asked for; never returns."""
    stage = " (prepare)"
    try:
        signal.set_wakeup_fd(-1)
        if request["session"]:
            os.setsid()
        namespace_fd, *standard = descriptors
        stage = " (enter the host)"
        setns(namespace_fd, CLONE_NEWNET)
        unshare(CLONE_NEWNS)
        _mount_sys()
        stage = " (open its streams)"
        for number, fd in enumerate(standard):
            os.dup2(fd, number)
        if request["terminal"]:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # 0: never taken from another session
        stage = f" (change to the folder {request['cwd']})"
        os.chdir(_bytes(request["cwd"]))
        stage = ""
        arguments = [_bytes(argument) for argument in request["argv"]]
        environment = {_bytes(name): _bytes(value) for name, value in request["env"].items()}
        _reset_signals(frozenset(request["ignore"]))
        os.execvpe(arguments[0], arguments, environment)
    except OSError as error:
        os.write(report_fd, _ERRNO.pack(error.errno or 0) + stage.encode("latin-1"))
    except BaseException as error:
        os.write(report_fd, _ERRNO.pack(errno.EINVAL) + f"{stage} ({error!r})"[:500].encode("latin-1", "replace"))
    finally:
        os._exit(127)


def _reset_signals(ignored: frozenset[int]) -> None:
    """Give the program the dispositions that netlab itself was started with, not Python's or ours."""
    for number in signal.valid_signals():
        if number in (signal.SIGKILL, signal.SIGSTOP):
            continue
        with contextlib.suppress(OSError, ValueError):  # the C library's own real-time signals
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _mount_sys() -> None:
    """Show the host's own interfaces in /sys/class/net; what cannot be mounted here stays as it was."""
    with contextlib.suppress(OSError):
        groups = os.open("/sys/fs/cgroup", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            mount("sysfs", "/sys", "sysfs", _VIRTUAL)
            # Programs read their CPU limits there.
            mount(f"/proc/self/fd/{groups}", "/sys/fs/cgroup", "", MS_BIND | MS_REC)
        finally:
            os.close(groups)


def _mount_proc() -> bool:
    """Show the lab's processes alone in /proc.

    Returns:
        False where the kernel does not let us: an ordinary container, whose /proc is masked in places.
    """
    unshare(CLONE_NEWNS)
    mount("none", "/", "", MS_REC | MS_SLAVE)  # what happens outside is seen, what happens here stays here
    try:
        mount("proc", "/proc", "proc", _VIRTUAL)
    except OSError:
        return False
    return True


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")


def run(socket_fd: int) -> NoReturn:
    """Be the keeper: the entry point of its program."""
    link = socket.socket(fileno=socket_fd)
    link.set_inheritable(False)
    die_with_parent_thread()
    os.chdir("/")  # hold no folder of the user's
    try:
        send_frame(link, {"ready": True, "proc": _mount_proc()})
    except OSError as error:
        with contextlib.suppress(OSError):
            send_frame(link, {"ready": False, "errno": error.errno or 0})
        os._exit(1)
    waiting = select.poll()
    waiting.register(link, select.POLLIN)
    try:
        if waiting.poll(_GO_TIMEOUT_MS) and receive_frame(link) is not None:
            Keeper(link).serve()
    except (BrokenPipeError, ConnectionResetError):
        pass  # netlab is gone: so are we
    os._exit(0)
