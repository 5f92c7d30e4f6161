"""RelayServer: the relay process: takes over TAPs, runs their lanes, obeys its lab, ends with it.

::

    lab --Request--> RelayServer --lanes--> RelayLoop
        <--Reply---      `- end of file: the lab is gone, so are we

Two lines of defence against a lab that dies: end of file on the socket, and the parent-death signal for the
case that a forked copy of the lab's process holds the socket open. Its race (the lab ended before we asked for
the signal) is closed by ``Go``: only a living lab can send it after our first reply.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import NoReturn

import msgspec

from netlab.errors import LabError, NetlabError
from netlab.namespaces.relay import requests
from netlab.namespaces.relay.frame import FrameReader, RelayFrameError, send_frame
from netlab.namespaces.relay.lane import Lane
from netlab.namespaces.relay.loop import RelayLoop
from netlab.namespaces.relay.medium_queue import MediumQueue
from netlab.namespaces.relay.packet_sink import NOWHERE, PacketFile, PacketSink
from netlab.namespaces.relay.plain_state import from_plain, to_plain
from netlab.namespaces.relay.port import Port, TapPort
from netlab.namespaces.relay.priority import hurry
from netlab.namespaces.relay.raw_port import RawPort
from netlab.namespaces.relay.requests import Reply
from netlab.namespaces.syscalls import die_with_parent_thread
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import Direction

__all__ = ["run"]

_GO_TIMEOUT_MS = 10_000
_PORTS: dict[requests.PortKind, Callable[[int, int], Port]] = {"tap": TapPort, "raw": RawPort}


class _RelayedLink:
    """Two ports and the lanes between them."""

    def __init__(
        self, request: requests.AddLink, ports: tuple[Port, Port], loop: RelayLoop, medium: MediumQueue | None
    ) -> None:
        first, second = ports
        self.name = request.name
        self.ports = ports
        self.lanes: dict[Direction, Lane] = {
            "forward": Lane(first, second, loop.departures, request.number, "forward", medium),
            "back": Lane(second, first, loop.departures, request.number, "back", medium),
        }


class RelayServer:
    """The links of one lab and the socket it is asked by."""

    def __init__(self, link: socket.socket) -> None:
        self._socket = link
        self._reader = FrameReader(link)
        self._decoder = msgspec.msgpack.Decoder(requests.Asked)
        self._loop = RelayLoop()
        self._links: dict[int, _RelayedLink] = {}
        self._media: dict[int, MediumQueue] = {}
        self._log: PacketSink = NOWHERE
        self._log_file: PacketFile | None = None

    def serve(self) -> None:
        """Work until the lab closes the socket.

        Raises:
            RelayFrameError: The lab sends what is no request.
        """
        self._loop.watch(self._socket.fileno(), self._listen)
        try:
            self._loop.run()
        finally:
            self._stop_log()

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
        while (frame := self._reader.next_frame()) is not None:
            asked = self._decoder.decode(frame)
            reply = self._obey(asked.request)
            self._reply(msgspec.structs.replace(reply, number=asked.number))

    def _reply(self, reply: Reply) -> None:
        try:
            send_frame(self._socket, msgspec.msgpack.encode(reply))
        except OSError:  # the lab has gone while it waited
            self._loop.stop()

    def _obey(self, request: requests.Request) -> Reply:
        """Do what is asked; whatever it is, packets of other links flow on."""
        try:
            return self._do(request)
        except (OSError, NetlabError) as error:
            return Reply(problem=str(error))

    def _do(self, request: requests.Request) -> Reply:  # noqa: PLR0911 - one line a request
        match request:
            case requests.AddLink():
                return self._add(request)
            case requests.Join(number):
                return self._join(self._link(number))
            case requests.Remove(number):
                return self._remove(number)
            case requests.Change(puts):
                return self._change(puts)
            case requests.Read(place):
                return self._read(place)
            case requests.Count(place):
                return Reply(counts=self._lane(place).counts())
            case requests.Record():
                return self._record(request)
            case _:
                return Reply()

    def _add(self, request: requests.AddLink) -> Reply:
        # First of all: descriptors of a refused request must not be taken for the next one's.
        first, second = (
            _PORTS[kind](self._reader.descriptors.popleft(), request.frame_bytes) for kind in request.kinds
        )
        try:
            medium = None if request.medium is None else self._medium(request.medium)
        except LabError:
            first.close()
            second.close()
            raise
        link = self._links[request.number] = _RelayedLink(request, (first, second), self._loop, medium)
        self._tell_log(link)
        return Reply()

    def _join(self, link: _RelayedLink) -> Reply:
        for direction, lane in link.lanes.items():
            self._loop.watch_lane(lane, lambda error, way=direction: _lament(link.name, way, error))  # type: ignore[misc]
        return Reply()

    def _remove(self, number: int) -> Reply:
        link = self._links.pop(number, None)
        if link is not None:
            for port in link.ports:
                self._loop.unwatch(port.fileno())
            self._loop.departures.forget({one for lane in link.lanes.values() for one in lane.receivers})
            for port in link.ports:
                port.close()
        return Reply()

    def _change(self, puts: tuple[requests.Put, ...]) -> Reply:
        problems = []
        for put in puts:
            try:
                self._put(put.place, from_plain(put.state))
                problems.append("")
            except NetlabError as error:
                problems.append(str(error))
        return Reply(problems=tuple(problems))

    def _put(self, place: requests.Place, state: QdiscState) -> None:
        if place.side != "medium":
            self._lane(place).put(state)
        elif place.number in self._media:
            self._media[place.number].put(state)
        else:
            self._media[place.number] = MediumQueue(state, self._loop.departures)

    def _read(self, place: requests.Place) -> Reply:
        """Tell a model's state; without tables, as a kernel's dump."""
        state = self._medium(place.number).state if place.side == "medium" else self._lane(place).state
        if state is None:
            return Reply()
        return Reply(state=to_plain(state.replace(delay_table=None, slot_table=None)))

    def _link(self, number: int) -> _RelayedLink:
        """Return a link.

        Raises:
            LabError: There is none of this number.
        """
        if number not in self._links:
            raise LabError(f"the relay has no link {number}")
        return self._links[number]

    def _medium(self, number: int) -> MediumQueue:
        """Return a medium.

        Raises:
            LabError: There is none of this number.
        """
        if number not in self._media:
            raise LabError(f"the relay has no medium {number}")
        return self._media[number]

    def _lane(self, place: requests.Place) -> Lane:
        """Return the lane of a place.

        Raises:
            LabError: There is none.
        """
        return self._link(place.number).lanes["back" if place.side == "back" else "forward"]

    def _record(self, request: requests.Record) -> Reply:
        self._stop_log()
        if request.starts:
            file = os.fdopen(self._reader.descriptors.popleft(), "w", encoding="utf-8")
            self._log = self._log_file = PacketFile(file, request.names)
        for link in self._links.values():
            self._tell_log(link)
        return Reply()

    def _tell_log(self, link: _RelayedLink) -> None:
        for lane in link.lanes.values():
            lane.log = self._log

    def _stop_log(self) -> None:
        if self._log_file is not None:
            for lane, sent_ns, length_bytes in self._loop.departures.held():
                self._log_file.note_pending(lane, sent_ns, length_bytes)
            self._log_file.close()
        self._log, self._log_file = NOWHERE, None


def _lament(link: str, direction: Direction, error: OSError) -> None:
    """Say on stderr, which is what our lab quotes, that an interface was deleted under us."""
    print(f"relay: nothing more comes {direction} over link {link}: {error.strerror}", file=sys.stderr, flush=True)


def run(socket_fd: int) -> NoReturn:
    """Be the relay: the entry point of its program."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the lab's affair
    link = socket.socket(fileno=socket_fd)
    link.set_inheritable(False)
    die_with_parent_thread()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # two TAPs a link
    os.chdir("/")  # hold no folder of the user's
    send_frame(link, msgspec.msgpack.encode(Reply(priority=hurry())))
    waiting = select.poll()
    waiting.register(link, select.POLLIN)
    if waiting.poll(_GO_TIMEOUT_MS):
        gc.collect()
        gc.freeze()
        gc.disable()  # nothing here makes cycles, and a collection would make packets late
        try:
            RelayServer(link).serve()
        except (RelayFrameError, msgspec.ValidationError, msgspec.DecodeError) as error:
            print(f"relay: the lab speaks nonsense: {error}", file=sys.stderr)
            sys.exit(1)
    sys.exit(0)
