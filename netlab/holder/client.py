"""LabClient: asks the holder of a lab that stays; and starts and ends holders.

::

    start_lab: spawn --LabOrder--> holder --Published--> Kept
    ask      : one request, one reply
    end_lab  : EndLab; SIGTERM where it does not hear; SIGKILL where it does not end
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from netlab.errors import LabError, LocalProtocolError, WireError
from netlab.holder.directory import LabDirectory, LabEntry
from netlab.holder.frames import MAX_REPLY_BYTES, receive_frame, send_frame
from netlab.holder.messages import (
    BIRTH_REPLIES,
    REPLIES,
    Ending,
    EndLab,
    Kept,
    LabOrder,
    Published,
    Refused,
    Request,
)
from netlab.holder.process_identity import ProcessIdentity
from netlab.holder.record import SOCKET_FILE
from netlab.namespaces.process_output import last_lines

__all__ = ["ask", "connect", "end_lab", "start_lab"]

_ANSWER_WITHIN_S = 60.0
_HEAR_WITHIN_S = 5.0
_END_WITHIN_S = 30.0
_KILL_WITHIN_S = 10.0
_STDERR_BYTES = 1 << 16

R = TypeVar("R", bound=Struct)


def start_lab(order: LabOrder) -> Published:
    """Start a holder; return when its lab is up. When we are interrupted or die, nothing is left of it.

    Raises:
        NetlabError: What the holder says kept the lab from being made.
        LabError: The holder died.
    """
    ours, theirs = socket.socketpair()
    with ours, os.fdopen(os.memfd_create("netlab-holder"), "w+b") as words:
        with theirs:
            command = [sys.executable, "-P", "-m", "netlab.holder.holder", str(theirs.fileno())]
            holder = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=words,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        try:
            return _follow_birth(ours, order)
        except BaseException as error:
            ours.close()  # what is there of the lab is taken away again
            status = _see_off(holder)
            if isinstance(error, WireError):
                words.seek(0)
                said = last_lines(words.read(_STDERR_BYTES), 20)
                raise LabError("the lab's holder died while it made the lab", status, said) from error
            raise


def _follow_birth(link: socket.socket, order: LabOrder) -> Published:
    send_frame(link, order)
    received = receive_frame(link, BIRTH_REPLIES, MAX_REPLY_BYTES, first_within_s=None)
    if received is None:
        raise LocalProtocolError("no word of a lab")
    if isinstance(received.message, Refused):
        raise received.message.error()
    assert isinstance(received.message, Published)
    send_frame(link, Kept())
    return received.message


def _see_off(holder: subprocess.Popen[bytes]) -> int:
    """Wait until a holder that is not wanted has taken its lab away; kill it where it does not."""
    try:
        return holder.wait(_END_WITHIN_S)
    except subprocess.TimeoutExpired:
        holder.kill()  # the kernel takes the lab back; its folder is for netlab lab gc
        return holder.wait()


def connect(folder: Path) -> socket.socket:
    """Connect to the holder of the lab in a folder.

    Raises:
        LabError: There is nobody: it is still being made, or stopped.
    """
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # By way of a descriptor: a path may be longer than a socket's address.
        fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            link.settimeout(_HEAR_WITHIN_S)
            link.connect(f"/proc/self/fd/{fd}/{SOCKET_FILE}")
            link.settimeout(None)
        finally:
            os.close(fd)
    except OSError as error:
        link.close()
        hint = "is it still coming up? netlab lab list"
        raise LabError(f"the lab in {folder} does not answer: {error.strerror or error}", hint=hint) from error
    return link


def ask(name: str, request: Request, kind: type[R]) -> R:
    """Ask a lab's holder and return its reply.

    Args:
        name: Name or id of the lab.
        request: What to ask.
        kind: What is answered where nothing is wrong.

    Raises:
        SpecError: There is no lab of this name.
        LabError: It is dead, or does not answer.
        NetlabError: What the holder refuses.
    """
    directory = LabDirectory.of_this_user()
    record = directory.find_alive(name)
    with connect(directory.folder.path / record.id) as link:
        try:
            send_frame(link, request)
            received = receive_frame(link, REPLIES, MAX_REPLY_BYTES, first_within_s=_ANSWER_WITHIN_S)
        except WireError as error:
            hint = f"netlab lab down {record.name} ends it"
            raise LabError(f"the holder of lab {record.name} does not answer: {error}", hint=hint) from error
    if received is None:
        raise LabError(f"lab {record.name} has ended meanwhile", hint="netlab lab list shows what there is")
    received.close()
    if isinstance(received.message, Refused):
        raise received.message.error()
    if not isinstance(received.message, kind):
        raise LabError(f"the holder of lab {record.name} answers {type(received.message).__name__}")
    return received.message


def end_lab(directory: LabDirectory, entry: LabEntry) -> bool:
    """End a lab, and wait until its holder, its processes and its folders are gone.

    Args:
        directory: Where it was found.
        entry: The lab, dead or alive.

    Returns:
        False where it was dead already.

    Raises:
        LabError: It does not end, or nobody can tell who holds it.
    """
    if entry.alive:
        holder = _ask_for_the_end(entry)
        if not holder.wait(_END_WITHIN_S):
            _kill(holder)
    directory.tidy_up()
    if entry.path.exists():
        hint = "a process of it may be stuck in the kernel; netlab lab gc tries again"
        raise LabError(f"lab {entry.name or entry.id} has ended, but {entry.path} is still there", hint=hint)
    return entry.alive


def _ask_for_the_end(entry: LabEntry) -> ProcessIdentity:
    """Ask a holder to end; return who it is."""
    holder = entry.record.holder if entry.record is not None else None
    heard = False
    with contextlib.suppress(LabError, WireError), connect(entry.path) as link:
        holder = holder or ProcessIdentity.at_the_other_end(link)
        send_frame(link, EndLab())
        received = receive_frame(link, REPLIES, MAX_REPLY_BYTES, first_within_s=_HEAR_WITHIN_S)
        heard = received is not None and isinstance(received.message, Ending)
    if holder is None:
        raise LabError(f"{entry.problem}; and nobody answers who holds it", hint=f"remove {entry.path} yourself")
    if not heard:
        holder.send_signal(signal.SIGTERM)
        holder.send_signal(signal.SIGCONT)  # it may have been stopped
    return holder


def _kill(holder: ProcessIdentity) -> None:
    """Kill a holder that does not end, and wait for its children, the lab's keeper among them."""
    children = holder.children()
    holder.send_signal(signal.SIGKILL)
    deadline_s = time.monotonic() + _KILL_WITHIN_S
    for process in (holder, *children):
        if not process.wait(max(0.0, deadline_s - time.monotonic())):
            raise LabError(f"process {process.pid} of the lab does not end even by SIGKILL")
