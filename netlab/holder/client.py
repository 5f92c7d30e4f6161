"""Starts the holder of a lab that stays, and asks it. How one is ended: netlab/holder/ending.py.

::

    start_lab: spawn --LabOrder--> holder --Published--> Kept
    ask      : one request, one reply
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from netlab.errors import ConnectionLost, LabError, LocalProtocolError, WireError
from netlab.holder.directory import LabDirectory
from netlab.holder.frames import FRAME_WITHIN_S, MAX_REPLY_BYTES, receive_frame, send_frame
from netlab.holder.messages import (
    BIRTH_REPLIES,
    REPLIES,
    Kept,
    LabOrder,
    Published,
    Refused,
    Request,
)
from netlab.holder.record import SOCKET_FILE
from netlab.namespaces.process_output import last_lines

__all__ = ["ask", "connect", "hear", "start_lab", "tell", "unexpected"]

_ANSWER_WITHIN_S = 60.0
_HEAR_WITHIN_S = 5.0
_END_WITHIN_S = 30.0
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
                hint = "was it killed, for want of memory say? dmesg tells; then netlab lab up again"
                raise LabError("the lab's holder died while it made the lab", status, said, hint) from error
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
        tell(link, record.name, request)
        reply = hear(link, record.name, _ANSWER_WITHIN_S)
    if not isinstance(reply, kind):
        raise unexpected(record.name, reply)
    return reply


def tell(
    link: socket.socket,
    lab: str,
    request: Struct,
    descriptors: Sequence[int] = (),
    within_s: float = FRAME_WITHIN_S,
) -> None:
    """Say something to a lab's holder; where it hears no more, what it said last is still to be heard.

    Raises:
        LabError: The request cannot be said.
    """
    try:
        send_frame(link, request, descriptors, within_s)
    except ConnectionLost:
        pass  # it may have ended, or turned us away, in words: ``hear`` finds them
    except WireError as error:
        raise _no_answer(lab, error) from error


def hear(link: socket.socket, lab: str, within_s: float | None) -> Any:
    """Return what a lab's holder says next.

    Args:
        link: To the holder.
        lab: The lab's name, for messages.
        within_s: How long to wait for it; None for ever.

    Raises:
        LabError: The lab has ended, or its holder does not answer.
        NetlabError: What the holder refuses.
    """
    try:
        received = receive_frame(link, REPLIES, MAX_REPLY_BYTES, first_within_s=within_s)
    except WireError as error:
        raise _no_answer(lab, error) from error
    if received is None:
        raise LabError(f"lab {lab} has ended meanwhile", hint="netlab lab list shows what there is")
    received.close()
    if isinstance(received.message, Refused):
        raise received.message.error()
    return received.message


def unexpected(lab: str, reply: object) -> LabError:
    """Return the error for a reply that is none to what was asked."""
    hint = f"was it started by another version of netlab? netlab lab down {lab} ends it"
    return LabError(
        f"the holder of lab {lab} answers {type(reply).__name__}, which is no answer to that", hint=hint
    )


def _no_answer(lab: str, error: WireError) -> LabError:
    hint = f"netlab lab list shows whether it is there; netlab lab down {lab} ends it"
    return LabError(f"the holder of lab {lab} does not answer: {error}", hint=hint)
