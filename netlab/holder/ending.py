"""Ends labs that stay, and tells what has been seen of their end, no more.

::

    EndLab --> holder: Ending ... LabEnded(problems), then the end of its process
           `-- does not hear: SIGTERM, and the folder tells: it goes last, and stays where something failed
           `-- does not end: SIGKILL, and nobody sees what the kernel takes back
"""

from __future__ import annotations

import contextlib
import signal
import socket
import time
from collections.abc import Iterable, Iterator

from msgspec import Struct

from netlab.errors import LabError, NetlabError, WireError
from netlab.holder.client import connect
from netlab.holder.directory import LabDirectory, LabEntry
from netlab.holder.frames import MAX_REPLY_BYTES, receive_frame, send_frame
from netlab.holder.messages import REPLIES, Ending, EndLab, LabEnded
from netlab.holder.process_identity import ProcessIdentity
from netlab.holder.record import last_logged

__all__ = ["LabEnd", "end_lab", "end_labs"]

_HEAR_WITHIN_S = 5.0
_END_WITHIN_S = 30.0
_KILL_WITHIN_S = 10.0


class LabEnd(Struct, frozen=True, kw_only=True):
    """What became of a lab that was to end.

    Attributes:
        name: Its name, as far as it is known.
        id: Its own.
        was_alive: Whether there was a holder to end.
        is_gone: Whether its holder and its folders are gone now.
        problems: What failed on the way, or has not been seen to go.
        hint: What to do now.
    """

    name: str
    id: str
    was_alive: bool
    is_gone: bool = True
    problems: list[str] = []
    hint: str = ""

    def sentence(self) -> str:
        """Return what became of it, without what went wrong."""
        lab = f"lab {self.name or self.id}"
        if not self.is_gone:
            return f"{lab} has not ended"
        return f"{lab} is down" if self.was_alive else f"{lab} was dead; what it left is removed"

    def errors(self) -> list[NetlabError]:
        """Return what went wrong, as errors to be shown."""
        lab = f"lab {self.name or self.id}"
        return [LabError(f"{lab}: {problem}", hint=self.hint) for problem in self.problems]


def end_labs(directory: LabDirectory, entries: Iterable[LabEntry]) -> Iterator[LabEnd]:
    """End labs, one after the other; one that does not end keeps none of the others."""
    for entry in entries:
        try:
            yield end_lab(directory, entry)
        except NetlabError as error:
            yield LabEnd(
                name=entry.name,
                id=entry.id,
                was_alive=entry.alive,
                is_gone=False,
                problems=[str(error)],
                hint=error.hint,
            )


def end_lab(directory: LabDirectory, entry: LabEntry) -> LabEnd:
    """End a lab, and wait until its holder, its processes and its folders are gone.

    Args:
        directory: Where it was found.
        entry: The lab, dead or alive.

    Returns:
        How it went. No problems mean that all it had in the kernel has been seen to go as well, unless it was
        dead already.

    Raises:
        LabError: It does not end, or nobody can tell who holds it.
    """
    problems = _end_holder(entry) if entry.alive else []
    directory.tidy_up()
    if entry.path.exists():
        hint = "a process of it may be stuck in the kernel; netlab lab gc tries again"
        rest = f"lab {entry.name or entry.id} has ended, but {entry.path} is still there"
        raise LabError("; ".join([rest, *problems]), hint=hint)
    return LabEnd(name=entry.name, id=entry.id, was_alive=entry.alive, problems=problems)


def _end_holder(entry: LabEntry) -> list[str]:
    """End a holder; return what went wrong."""
    with _Conversation(entry) as holder:
        holder.ask_for_the_end()
        told = holder.hear_how_it_went()
        if not holder.identity.wait(_END_WITHIN_S if told is None else _KILL_WITHIN_S):
            _kill(holder.identity)
            words = "its holder did not end and was killed: nobody has seen what the kernel took back of the lab"
            return [*(told or ()), words]
    if told is None and entry.path.exists():  # it goes last, where all is well
        return [f"its holder has ended, and has not said how{last_logged(entry.path)}"]
    return told or []


class _Conversation:
    """A holder that is told to end, and listened to until it has.

    Attributes:
        identity: Which process it is.
    """

    def __init__(self, entry: LabEntry) -> None:
        self._link: socket.socket | None = None
        found = entry.record.holder if entry.record is not None else None
        with contextlib.suppress(LabError):
            self._link = connect(entry.path)
            found = found or ProcessIdentity.at_the_other_end(self._link)
        if found is None:
            self.close()
            problem = f"{entry.problem}; and nobody answers who holds it"
            raise LabError(problem, hint=f"remove {entry.path} yourself")
        self.identity = found

    def ask_for_the_end(self) -> None:
        """Ask at the door; where nobody hears in time, by a signal."""
        if self._link is not None:
            with contextlib.suppress(WireError):
                send_frame(self._link, EndLab())
                if isinstance(self._hear(_HEAR_WITHIN_S), Ending):
                    return
        self.identity.send_signal(signal.SIGTERM)
        self.identity.send_signal(signal.SIGCONT)  # it may have been stopped

    def hear_how_it_went(self) -> list[str] | None:
        """Return what went wrong while it ended; None where it does not say."""
        deadline_s = time.monotonic() + _END_WITHIN_S
        with contextlib.suppress(WireError):
            while self._link is not None:
                message = self._hear(max(0.0, deadline_s - time.monotonic()))
                if isinstance(message, LabEnded):
                    return message.problems
                if message is None:
                    return None
        return None

    def close(self) -> None:
        if self._link is not None:
            self._link.close()

    def _hear(self, within_s: float) -> object:
        assert self._link is not None
        received = receive_frame(self._link, REPLIES, MAX_REPLY_BYTES, first_within_s=within_s)
        if received is None:
            return None
        received.close()
        return received.message

    def __enter__(self) -> _Conversation:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _kill(holder: ProcessIdentity) -> None:
    """Kill a holder that does not end, and wait for its children, the lab's keeper among them."""
    children = holder.children()
    holder.send_signal(signal.SIGKILL)
    deadline_s = time.monotonic() + _KILL_WITHIN_S
    for process in (holder, *children):
        if not process.wait(max(0.0, deadline_s - time.monotonic())):
            hint = "it is stuck in the kernel: dmesg may say where; netlab lab gc once it has ended"
            raise LabError(f"process {process.pid} of the lab does not end even by SIGKILL", hint=hint)
