"""KernelRecorder: says what happened to each packet of a lab by the kernel's own taps.

::

    KernelRecorder.start --> tap process    begin() ... finish() --> sightings --match--> PacketRecord ...
                               (packet_taps.py)

A frame that arrives at an end of the wire was sent by the host on that side; one that leaves there, after
netem, is delivered to it. Times are the kernel's.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping

from netlab.errors import FeatureMissing, KernelError, LabError, PrivilegeError
from netlab.namespaces.namespace import Namespace
from netlab.namespaces.packet_taps import FINISH, TALLY, open_tap, read_sightings
from netlab.namespaces.recorder import Recorded
from netlab.traces.packets.packet_log import PacketRecord
from netlab.traces.packets.packet_match import Frame, match_frames
from netlab.traces.seed import DIRECTIONS

__all__ = ["KernelRecorder"]

_ANSWER_S = 60.0
"""How long the tap process may take to note what is left in its buffer."""


class KernelRecorder:
    """Records by packet sockets in the wire namespace.

    Args:
        process: The tap process.
        control: Our end of its control socket.
        notes_fd: Its file of sightings.
    """

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, notes_fd: int) -> None:
        self._process = process
        self._control = control
        self._notes_fd = notes_fd
        self._begin_ns = time.time_ns()

    @classmethod
    def start(cls, wire: Namespace) -> KernelRecorder:
        """Listen at every link of a wire, those that will be made included.

        Raises:
            KernelError: The kernel has no packet sockets, or the caller may not have one.
        """
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            try:
                tap = theirs.enter_context(wire.call(open_tap))
            except OSError as error:
                raise _refused("listen to packets in the wire", error) from error
            try:
                control, far_control = socket.socketpair()
                ours.enter_context(control)
                theirs.enter_context(far_control)
                notes_fd = os.memfd_create("netlab-packets", os.MFD_CLOEXEC)
                ours.callback(os.close, notes_fd)
                process = _start_taps(tap.fileno(), far_control.fileno(), notes_fd)
            except OSError as error:
                raise _refused("start the packet taps", error) from error
            ours.pop_all()  # the recorder's, from here on
        return cls(process, control, notes_fd)

    def begin(self) -> None:
        """Begin now: what was sent before is not recorded."""
        self._begin_ns = time.time_ns()

    def finish(self, links: Mapping[int, str]) -> Recorded:
        """End now and return what was seen; see ``Recorder.finish``.

        Raises:
            LabError: The tap process has died.
        """
        end_ns = time.time_ns()
        written, missed = TALLY.unpack(self._ask())
        data = os.pread(self._notes_fd, os.fstat(self._notes_fd).st_size, 0)
        sightings = read_sightings(data)
        if len(sightings) != written:
            raise LabError(
                f"the packet taps noted {written} frames, and {len(sightings)} are in their file",
                hint="no log of this run can be trusted: run it again",
            )
        seen: dict[tuple[int, bool], list[Frame]] = defaultdict(list)
        for one in sightings:
            frame = Frame(one.seen_ns - self._begin_ns, one.length_bytes, one.digest, one.crcs, one.unmarked)
            seen[one.end, one.left].append(frame)
        records: list[PacketRecord] = []
        for number, name in links.items():
            for side, direction in enumerate(DIRECTIONS):
                entered, left = seen[2 * number + side, False], seen[2 * number + 1 - side, True]
                matched = match_frames(name, direction, entered, left, end_ns - self._begin_ns)
                records += [record for record in matched.records if record.sent_ns >= 0]
                missed += matched.strangers
        return Recorded(records, missed)

    def close(self) -> None:
        """End the tap process; may be called again."""
        if self._notes_fd < 0:
            return
        self._control.close()
        os.close(self._notes_fd)
        self._notes_fd = -1
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2.0)
            return
        self._process.kill()
        self._process.wait()

    def _ask(self) -> bytes:
        answer = b""
        try:
            self._control.settimeout(_ANSWER_S)
            self._control.sendall(FINISH)
            while len(answer) < TALLY.size and (more := self._control.recv(TALLY.size - len(answer))):
                answer += more
        except OSError as error:
            hint = "record fewer packets or fewer links at a time, and run it again"
            raise LabError(f"the packet taps do not answer: {error.strerror or error}", hint=hint) from error
        if len(answer) < TALLY.size:
            status = self._process.wait(_ANSWER_S)
            hint = "who killed them? `dmesg` tells when it was for want of memory; run it again"
            raise LabError("the packet taps have died", status, hint=hint)
        return answer


def _start_taps(tap_fd: int, control_fd: int, notes_fd: int) -> subprocess.Popen[bytes]:
    fds = (tap_fd, control_fd, notes_fd)
    words = [sys.executable, "-P", "-m", "netlab.namespaces.packet_taps", *map(str, fds)]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, pass_fds=fds, start_new_session=True)


def _refused(attempt: str, error: OSError) -> KernelError:
    number = error.errno or 0
    if number in (errno.EMFILE, errno.ENFILE):
        return KernelError(attempt, number, hint="raise the limit of open files: ulimit -n $(ulimit -Hn)")
    if number in (errno.EPERM, errno.EACCES):
        return PrivilegeError(attempt, number, hint="run as root; `netlab doctor` says what else would do")
    if number in (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT):
        return FeatureMissing(attempt, number, hint="packet logs need CONFIG_PACKET, or `--on guest`")
    return KernelError(attempt, number, hint="free memory and processes, then try again")
