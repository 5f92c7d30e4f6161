"""RelayServer: the relay process: takes over TAPs, runs their lanes, obeys its lab, ends with it.

::

    lab --Request--> RelayServer --> RelayedLinks --lanes--> RelayLoop
        <--Reply---      `- end of file: the lab is gone, so are we

Two lines of defence against a lab that dies: end of file on the socket, and the parent-death signal for the
case that a forked copy of the lab's process holds the socket open. Its race (the lab ended before we asked for
the signal) is closed by ``Go``: only a living lab can send it after our first reply.
"""

from __future__ import annotations

import errno
import gc
import os
import resource
import select
import signal
import socket
import sys
from typing import TYPE_CHECKING, NoReturn

import msgspec

from netlab.errors import KernelError, NetlabError
from netlab.namespaces.passed_descriptors import close_all
from netlab.namespaces.relay import requests
from netlab.namespaces.relay.loop import RelayLoop
from netlab.namespaces.relay.message_stream import Message, MessageError, MessageReader, send_message
from netlab.namespaces.relay.packet import NOWHERE
from netlab.namespaces.relay.packet_file import PacketFile
from netlab.namespaces.relay.priority import hurry
from netlab.namespaces.relay.refusal import Refusal
from netlab.namespaces.relay.relayed_links import RelayedLinks
from netlab.namespaces.relay.requests import Reply
from netlab.namespaces.syscalls import die_with_parent_thread

if TYPE_CHECKING:
    from netlab.namespaces.relay.offload_return import OffloadReturn

__all__ = ["run"]

_GO_TIMEOUT_MS = 10_000


class RelayServer:
    """The links of one lab and the socket it is asked by."""

    def __init__(self, link: socket.socket) -> None:
        self._socket = link
        self._reader = MessageReader(link)
        self._decoder = msgspec.msgpack.Decoder(requests.Asked)
        self._loop = RelayLoop()
        self._links = RelayedLinks(self._loop)
        self._log: PacketFile | None = None
        self._offloads: OffloadReturn | None = None

    def serve(self) -> None:
        """Work until the lab closes the socket.

        Raises:
            MessageError: The lab sends what is no message.
            msgspec.MsgspecError: It sends what is no request.
        """
        self._loop.watch(self._socket.fileno(), self._listen)
        try:
            self._loop.run()
        finally:
            self._stop_log()
            if self._offloads is not None:
                self._offloads.keep()

    def _listen(self) -> None:
        try:
            if not self._reader.receive(socket.MSG_DONTWAIT):
                self._loop.stop()
                return
        except BlockingIOError:
            return
        except OSError:  # reset: it died with a reply of ours unread
            self._loop.stop()
            return
        while (message := self._reader.next_message()) is not None:
            asked = self._decoder.decode(message.body)
            reply = self._obey(asked.request, message)
            self._reply(msgspec.structs.replace(reply, number=asked.number))

    def _reply(self, reply: Reply) -> None:
        try:
            send_message(self._socket, msgspec.msgpack.encode(reply))
        except OSError:  # the lab has gone while it waited
            self._loop.stop()

    def _obey(self, request: requests.Request, message: Message) -> Reply:
        """Do what is asked; whatever it is, packets of other links flow on."""
        try:
            if message.is_short:
                close_all(message.descriptors)
                raise _no_descriptors_left()
            return self._do(request, message.descriptors)
        except (OSError, NetlabError) as error:
            return Reply(refusal=Refusal.of(error))

    def _do(self, request: requests.Request, descriptors: list[int]) -> Reply:
        match request:
            case requests.AddLinks(links):
                self._links.add(links, descriptors)
            case requests.Join(numbers):
                self._links.join(numbers)
            case requests.Remove(numbers):
                self._links.remove(numbers)
            case requests.AddMedium(number):
                self._links.add_medium(number)
            case requests.RemoveMedium(number):
                self._links.remove_medium(number)
            case requests.ReturnOffloads():
                self._promise(request)
            case requests.Record():
                return self._record(request, descriptors)
            case requests.PutStates() | requests.Read() | requests.Count():
                return self._ask_places(request)
        return Reply()

    def _ask_places(self, request: requests.PutStates | requests.Read | requests.Count) -> Reply:
        match request:
            case requests.PutStates(puts):
                return Reply(refusals=tuple(map(self._put, puts)))
            case requests.Count(place):
                return Reply(counts=self._links.place(place).counts)
            case requests.Read(place):
                state = self._links.place(place).state
        if state is None:
            return Reply()
        # Without tables, as in a kernel's dump.
        return Reply(state=requests.to_plain(state.replace(delay_table=None, slot_table=None)))

    def _put(self, put: requests.Put) -> Refusal | None:
        try:
            self._links.place(put.place).put(requests.from_plain(put.state))
        except NetlabError as error:
            return Refusal.of(error)
        return None

    def _promise(self, asked: requests.ReturnOffloads) -> None:
        from netlab.namespaces.offload import Offloads
        from netlab.namespaces.relay.offload_return import OffloadReturn  # for a shim alone

        self._offloads = self._offloads or OffloadReturn(self._loop.stop)
        self._offloads.promise(asked.interface, Offloads(asked.tso, asked.gso, asked.gro))

    def _record(self, request: requests.Record, descriptors: list[int]) -> Reply:
        missed = self._stop_log()
        if request.starts:
            (fd,) = descriptors
            self._log = PacketFile(os.fdopen(fd, "w", encoding="utf-8"))
        self._links.log_to(self._log or NOWHERE)
        return Reply(missed=missed)

    def _stop_log(self) -> int:
        """End the log, if there is one, and return how many packets it had no room for."""
        log, self._log = self._log, None
        if log is None:
            return 0
        for packet in self._loop.departures.packets():
            log.note_pending(packet)
        log.close()
        return log.missed


def _no_descriptors_left() -> KernelError:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    return KernelError(
        "take over descriptors",
        errno.EMFILE,
        f"the relay may have {most} open files, and a link takes two",
        "raise the hard limit (`ulimit -Hn`) of the shell or service that starts netlab, or make fewer links",
    )


def run(socket_fd: int) -> NoReturn:
    """Be the relay: the entry point of its program."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the lab's affair
    link = socket.socket(fileno=socket_fd)
    link.set_inheritable(False)
    die_with_parent_thread()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # two TAPs a link
    os.chdir("/")  # hold no folder of the user's
    send_message(link, msgspec.msgpack.encode(Reply(priority=hurry())))
    waiting = select.poll()
    waiting.register(link, select.POLLIN)
    if waiting.poll(_GO_TIMEOUT_MS):
        gc.collect()
        gc.freeze()
        gc.disable()  # nothing here makes cycles, and a collection would make packets late
        try:
            RelayServer(link).serve()
        except (MessageError, msgspec.MsgspecError) as error:
            print(f"relay: the lab speaks nonsense: {error}", file=sys.stderr)
            sys.exit(1)
    sys.exit(0)
