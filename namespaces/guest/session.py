"""Session: the launcher's side of one guest's life: its streams, its signals, its end.

::

    caller's stdin  --INPUT frames, one at a time-->  control console   -> pid 1
    caller's stdout <-----------------------------  console 1
    caller's stderr <-----------------------------  console 2
    KernelLog       <-----------------------------  console 0
    signals, Watchdog -SIGNAL frames, or the lifeline cut-> pid 1, supervisor

One loop that never blocks on any of them. It knows no paths and starts nothing: ``launcher.py`` does.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time

from netlab.errors import GuestError
from netlab.namespaces.guest import frames
from netlab.namespaces.guest.frames import FrameKind
from netlab.namespaces.guest.job import TERMINAL
from netlab.namespaces.guest.kernel_log import KernelLog
from netlab.namespaces.guest.kernel_plan import EventReader
from netlab.namespaces.guest.pump import Pump, wait_for
from netlab.namespaces.guest.streams import StreamKinds, in_background, window_size
from netlab.namespaces.guest.watchdog import LOST_PROCESS, Verdict, Watchdog

__all__ = ["GuestSession"]

AGAIN_KILLS_S = 10.0
"""A second signal of a kind within this time ends the guest instead of being passed on."""

PIPE_BUF = 4096
"""What fits into a pipe that polls as writable: the caller's own descriptors cannot be made non-blocking."""

BACKGROUND_POLL_S = 0.5
END_GRACE_S = 10.0
LONGEST_POLL_S = 86400.0  # poll(2) counts milliseconds in 31 bits


class GuestSession:
    """Carries streams and signals between the caller and a running guest until the guest is gone."""

    def __init__(
        self,
        *,
        supervisor: socket.socket,
        supervisor_pid_fd: int,
        control: socket.socket,
        log_fd: int,
        outputs: tuple[tuple[int, int], ...],
        stdin: int | None,
        kinds: StreamKinds,
        signals_fd: int,
        watchdog: Watchdog,
    ) -> None:
        """Take over the descriptors of a guest that is being started.

        Args:
            supervisor: The lifeline; shut when the guest is to end.
            supervisor_pid_fd: Readable once the supervisor has ended: the warden keeps the lifeline open.
            control: Our end of the control console, non-blocking.
            log_fd: Kernel messages, non-blocking.
            outputs: (source, sink) of stdout and of stderr; sources non-blocking.
            stdin: The caller's input; None for none.
            kinds: What the caller's streams are.
            signals_fd: Yields one byte for each signal caught.
            watchdog: Says when the guest is to be ended.
        """
        self.log = KernelLog()
        self.status: int | None = None
        self.wait_status: int | None = None
        self.trouble: tuple[str, str] | None = None
        self.remark = ""
        self.signals: list[int] = []
        self.ready = False
        self._supervisor = supervisor
        self._supervisor_pid_fd = supervisor_pid_fd
        self._events = EventReader()
        self._orderly = False
        self._control: socket.socket | None = control
        self._frames = frames.FrameReader()
        self._to_guest = bytearray()
        self._log_fd: int | None = log_fd
        self._outputs = {number: Pump(*ends, PIPE_BUF) for number, ends in enumerate(outputs, start=1)}
        self._stdin = stdin
        self._stdin_is_terminal = kinds.stdin == TERMINAL
        self._may_send_input = False
        self._signals_fd = signals_fd
        self._last_signal = (0, -AGAIN_KILLS_S)
        self._watchdog = watchdog
        self._window_of = tuple(sink for _, sink in outputs)
        self._cut = False

    def run(self) -> None:
        """Serve the guest until it, its supervisor and all that it printed are gone.

        Raises:
            GuestError: The supervisor was killed, or the guest could not be started.
        """
        gone_at_s: float | None = None
        while True:
            supervisor_gone = self._supervisor.fileno() < 0
            if supervisor_gone and not self._open_sources():
                break
            if supervisor_gone:
                gone_at_s = gone_at_s or time.monotonic()
                if time.monotonic() - gone_at_s > END_GRACE_S:
                    break
            self._turn()
        if self.trouble is not None:
            raise GuestError(*self.trouble)
        if not self._orderly:
            raise GuestError("the guest's supervisor was killed; the guest has been ended")

    def end(self) -> None:
        """Have the guest and everything that belongs to it end now."""
        if not self._cut:
            self._cut = True
            with contextlib.suppress(OSError):
                self._supervisor.shutdown(socket.SHUT_WR)

    def _open_sources(self) -> bool:
        return self._log_fd is not None or any(not pump.finished for pump in self._outputs.values())

    def _turn(self) -> None:
        """Carry what can be carried now, or wait until something can."""
        ready = wait_for(self._interests(), self._patience_s())
        if not self._cut:
            # Whoever reads what the guest prints may keep it waiting.
            self._obey(self._watchdog.look(held_up=any(pump.pending for pump in self._outputs.values())))
        if ready.get(self._signals_fd):
            for number in os.read(self._signals_fd, 64):
                self._on_signal(number)
        if self._supervisor.fileno() in ready or self._supervisor_pid_fd in ready:
            self._hear_supervisor(ended=self._supervisor_pid_fd in ready)
        if self._log_fd is not None and self._log_fd in ready:
            self._hear_log()
        if self._control is not None and ready.get(self._control.fileno()):
            self._hear_guest(ready[self._control.fileno()])
        # One descriptor may be input and output at once (a terminal, a socket): look at what it is ready for.
        if self._stdin is not None and ready.get(self._stdin, 0) & ~select.POLLOUT and self._may_send_input:
            self._send_input(self._stdin)
        for number, pump in self._outputs.items():
            if pump.source is not None and ready.get(pump.source):
                pump.fill()
            if pump.wants_room and ready.get(pump.sink or 0, 0) & ~select.POLLIN:
                self._print(number, pump)
        self._flush()

    def _obey(self, verdict: Verdict | None) -> None:
        """End the guest if that is the verdict."""
        if verdict is not None:
            self.status, self.remark = verdict.status, verdict.message
            if verdict.status is None:
                self._fail(verdict.message, verdict.hint)
            self.end()

    def _print(self, stream: int, pump: Pump) -> None:
        try:
            if not pump.drain():
                self._send(FrameKind.CLOSED, bytes((stream,)))
        except OSError as error:
            name = {1: "output", 2: "errors"}[stream]
            raise GuestError(f"guest: its {name} cannot be written: {error.strerror}") from error

    def _interests(self) -> dict[int, int]:
        """Return what to poll for."""
        masks = {self._signals_fd: select.POLLIN}
        if self._supervisor.fileno() >= 0:
            masks[self._supervisor.fileno()] = select.POLLIN
            masks[self._supervisor_pid_fd] = select.POLLIN
        if self._log_fd is not None:
            masks[self._log_fd] = select.POLLIN
        if self._control is not None:
            masks[self._control.fileno()] = select.POLLIN | (select.POLLOUT if self._to_guest else 0)
        if self._stdin is not None and self._may_send_input and not self._in_background():
            masks[self._stdin] = select.POLLIN
        for pump in self._outputs.values():
            pump.add_interests(masks)
        return masks

    def _patience_s(self) -> float | None:
        waits_s = []
        due_s = None if self._cut else self._watchdog.patience_s()
        if due_s is not None:
            waits_s.append(due_s)
        if self._supervisor.fileno() < 0 or (self._may_send_input and self._in_background()):
            waits_s.append(BACKGROUND_POLL_S)
        return min(*waits_s, LONGEST_POLL_S) if waits_s else None

    def _in_background(self) -> bool:
        return self._stdin_is_terminal and in_background(self._stdin)

    def _on_signal(self, number: int) -> None:
        if number == signal.SIGWINCH:
            self._send(FrameKind.WINDOW, frames.encode_window(*window_size((*self._window_of, self._stdin))))
            return
        self.signals.append(number)
        now = time.monotonic()
        again = self._last_signal[0] == number and now - self._last_signal[1] < AGAIN_KILLS_S
        self._last_signal = (number, now)
        if self.ready and not again:
            self._send(FrameKind.SIGNAL, bytes((number,)))
        elif self.status is None:
            self.status = 128 + number
            self.end()

    def _hear_supervisor(self, ended: bool) -> None:
        data = b""
        with contextlib.suppress(ConnectionResetError, BlockingIOError):
            data = self._supervisor.recv(65536, socket.MSG_DONTWAIT)
        if not data and ended:
            self._supervisor.close()  # where it was killed, this is what ends the warden
        for event in self._events.feed(data):
            if event["event"] == "failed":
                self._fail(str(event["message"]), str(event["hint"]))
            elif event["event"] == "started":
                self._watchdog.begin()
            elif event["event"] == "ended":
                self.wait_status = int(str(event["status"]))
            elif event["event"] == "done":
                self._orderly = True

    def _hear_log(self) -> None:
        assert self._log_fd is not None
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._log_fd, 65536)
            self.log.add(data)
            if not data:
                self._log_fd = None
            if self.log.lost_process and not self._cut and self.status is None:
                self._fail(LOST_PROCESS)
                self.end()

    def _hear_guest(self, ready: int) -> None:
        assert self._control is not None
        data = b""
        if ready & select.POLLIN:
            try:
                data = self._control.recv(65536)
            except BlockingIOError:
                return
            except ConnectionResetError:
                data = b""
        elif not ready & (select.POLLHUP | select.POLLERR):
            return
        if not data:
            self._control = None
            return
        for kind, payload in self._frames.feed(data):
            if kind == FrameKind.READY and self.ready:  # pid 1 says so first, unless its marker is gone
                self._fail("the guest rebooted")
                self.end()
            elif kind == FrameKind.READY:
                self.ready = True
                self._may_send_input = True
            elif kind == FrameKind.CONSUMED:
                self._may_send_input = True
            elif kind == FrameKind.TROUBLE:
                words = payload.decode("utf-8", "replace")
                self._fail(words if self.ready else f"the guest could not be set up: {words}")
                self.end()
            elif kind == FrameKind.EXIT and self.status is None:
                self.status = frames.decode_status(payload)
                self.end()  # all is printed and written by now; switching off would only take longer

    def _fail(self, message: str, hint: str = "") -> None:
        if self.trouble is None:
            self.trouble = (message, hint)

    def _send_input(self, stdin: int) -> None:
        try:
            data = os.read(stdin, frames.MAX_INPUT_BYTES)
        except BlockingIOError:
            return
        except OSError:  # the terminal is gone
            data = b""
        self._may_send_input = False
        self._send(FrameKind.INPUT, data)
        if not data and not self._stdin_is_terminal:
            self._stdin = None

    def _send(self, kind: FrameKind, payload: bytes) -> None:
        if self.ready:  # what comes before pid 1 listens would be lost
            self._to_guest += frames.encode_frame(kind, payload)

    def _flush(self) -> None:
        if self._control is None or not self._to_guest:
            return
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            del self._to_guest[: self._control.send(self._to_guest)]
