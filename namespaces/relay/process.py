"""RelayProcess: the lab's half of a relay: starts the process, asks it, and says so when it has died.

::

    RelayProcess.open --thread: start--> relay process        the thread stays until its end: the parent-death
      ask(request) --------------------> RelayServer          signal hangs on the thread that started it
               <-------- reply ---------
      thread <-- stderr, exit status ---

Closing it ends the process; nothing passes any more.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec

from netlab.errors import LabError
from netlab.namespaces.netlink_ack import refusal
from netlab.namespaces.relay.message_stream import MessageError, MessageReader, send_message
from netlab.namespaces.relay.requests import Asked, Go, Reply, Request

__all__ = ["RelayProcess"]

_READY_TIMEOUT_S = 30.0
_REPLY_TIMEOUT_S = 30.0
_END_TIMEOUT_S = 10.0
_KEPT_BYTES = 1 << 16
_NEW_LAB_HINT = "its links are gone with it: open a new lab"
_LAST_LINES = 10
_BOOT = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.path.append(sys.argv[1]); "
    "from netlab.namespaces.relay.server import run; run(int(sys.argv[2]))"
)


class RelayProcess:
    """A relay process and the socket to ask it by. Threads may share it: they take turns.

    Args:
        label: What messages call it.

    Attributes:
        label: What messages call it.
        priority: ``fifo``, ``nice`` or ``ordinary``: its place among processes.
        pid: Its process id; 0 before it is started.

    Raises:
        KernelError: No file descriptors are left.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.priority = ""
        self.pid = 0
        try:
            self._socket, self._far_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        except OSError as error:
            raise refusal(f"make a socket for {label}", error.errno or 0) from error
        self._reader = MessageReader(self._socket)
        self._lock = threading.Lock()
        self._asked = 0
        self._words = b""
        self._exit_code: int | None = None
        self._closing = False
        self._surprise: BaseException | None = None
        self._ended = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="netlab-relay", daemon=True)

    @classmethod
    def open(cls, label: str) -> Self:
        """Start a relay process and return once it listens.

        Raises:
            KernelError: The kernel starts no process.
            LabError: It does not come up; quotes its last words.
        """
        relay = cls(label)
        try:
            relay._thread.start()
            relay._socket.settimeout(_READY_TIMEOUT_S)
            relay.priority = relay._receive().priority
            relay._socket.settimeout(_REPLY_TIMEOUT_S)
            relay.ask(Go(), f"begin {label}")
        except BaseException:
            relay.close()
            raise
        return relay

    @property
    def is_dead(self) -> bool:
        """Whether it has ended, asked to or not."""
        return self._ended.is_set()

    def ask(self, request: Request, attempt: str, descriptors: Sequence[int] = ()) -> Reply:
        """Have it do something and return its reply.

        Args:
            request: What to do.
            attempt: What it is for, in a phrase that follows "cannot".
            descriptors: Duplicated into the relay.

        Raises:
            ProfileError: It refuses: its model cannot do this.
            KernelError: It refuses; its words say why.
            LabError: It is dead, or does not answer and was ended.
        """
        with self._lock:
            self._asked += 1
            self._send(msgspec.msgpack.encode(Asked(self._asked, request)), descriptors)
            reply = self._receive()
            while reply.number != self._asked:  # of a question that was interrupted
                reply = self._receive()
        if reply.refusal is not None:
            raise reply.refusal.error(attempt)
        return reply

    def check(self) -> None:
        """Do nothing as long as it lives.

        Raises:
            LabError: It has died: exit code and last lines.
        """
        if self._has_died:
            raise self._obituary()

    def close(self) -> None:
        """End it and wait for its end.

        Raises:
            LabError: It died before we ended it, or not even SIGKILL ends it.
            BaseException: What kept it from being started: KernelError, where the kernel did.
        """
        death = self._obituary() if self._has_died else None
        self._closing = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # for forked copies of us, too, which hold it open
        if self._thread.ident is not None:
            self._thread.join(_END_TIMEOUT_S)
            self._kill()
            self._thread.join()
        self._socket.close()
        self._far_socket.close()
        self._reader.close()
        surprise, self._surprise = self._surprise, None
        if surprise is not None:
            raise surprise
        if death is not None:
            raise death

    @property
    def _has_died(self) -> bool:
        """Whether it was started and has ended though nobody has asked it to."""
        return self._process is not None and self._ended.is_set() and not self._closing

    def _send(self, body: bytes, descriptors: Sequence[int]) -> None:
        try:
            send_message(self._socket, body, descriptors)
        except MessageError as error:
            hint = "change fewer links together, or make fewer at once"
            raise LabError(f"what {self.label} is asked is too long: {error}", hint=hint) from error
        except TimeoutError as error:
            raise self._silence() from error
        except OSError as error:
            raise self._obituary() from error

    def _receive(self) -> Reply:
        """Wait for the next reply."""
        try:
            while (message := self._reader.next_message()) is None:
                if not self._reader.receive():
                    raise self._obituary()
            return msgspec.msgpack.decode(message.body, type=Reply)
        except TimeoutError as error:
            raise self._silence() from error
        except OSError as error:
            raise self._obituary() from error
        except (MessageError, msgspec.MsgspecError) as error:
            hint = f"this is a bug of netlab, please report it; {_NEW_LAB_HINT}"
            raise LabError(f"{self.label} speaks nonsense: {error}", hint=hint) from error

    def _silence(self) -> LabError:
        """End what neither listens nor answers, and return the error for it."""
        self._kill()
        hint = f"is this machine overloaded, or was the process stopped? {_NEW_LAB_HINT}"
        return LabError(f"{self.label} (process {self.pid}) did not answer and was ended", hint=hint)

    def _kill(self) -> None:
        """End it by force, unless it has ended."""
        if self._process is not None and not self._ended.is_set():
            self._process.kill()

    def _obituary(self) -> LabError:
        if self._closing:
            return LabError(f"{self.label} is closed", hint="open a new lab")
        self._ended.wait(_END_TIMEOUT_S)
        words = "\n".join(self._words.decode("utf-8", "replace").splitlines()[-_LAST_LINES:])
        return LabError(f"{self.label} died", self._exit_code, words, _NEW_LAB_HINT)

    # What follows runs in the relay's thread alone.

    def _run(self) -> None:
        try:
            process = self._process = self._start()
            self.pid = process.pid
            self._far_socket.close()
            self._listen(process)
        except BaseException as error:  # re-raised by ``close``: a thread's are nobody's
            self._surprise = error
            self._far_socket.close()
        finally:
            self._ended.set()

    def _start(self) -> subprocess.Popen[bytes]:
        import netlab

        folder = str(Path(netlab.__file__).resolve().parent.parent)
        far_fd = self._far_socket.fileno()
        words = [sys.executable, "-P", "-c", _BOOT, folder, str(far_fd)]
        try:
            return subprocess.Popen(
                words,
                pass_fds=[far_fd],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,  # a Ctrl-C at the terminal is for the lab, which ends it in order
            )
        except OSError as error:
            raise refusal(f"start {self.label}", error.errno or 0) from error

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        """Keep its last words until it closes stderr, then collect it."""
        assert process.stderr is not None  # asked for above
        with process.stderr as pipe:
            while piece := os.read(pipe.fileno(), _KEPT_BYTES):
                self._words = (self._words + piece)[-_KEPT_BYTES:]
        for _ in range(2):
            try:
                self._exit_code = process.wait(_END_TIMEOUT_S)
                return
            except subprocess.TimeoutExpired:
                process.kill()
        hint = "it hangs in the kernel: see `dmesg`, restart the machine"
        self._surprise = LabError(f"{self.label} (process {process.pid}) does not end even by SIGKILL", hint=hint)
