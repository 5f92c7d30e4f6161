"""What runs in the two hosts of the round-trip bench: a bare echo, and who asks it and the agent in turn.

::

    ping_pong.py echo ADDRESS PORT
    ping_pong.py ask  ADDRESS AGENT_PORT ECHO_PORT KEY_FILE

A bare request says in its first two bytes how long the answer is to be.
"""

from __future__ import annotations

import json
import secrets
import socket
import sys
import time

import netlab
from netlab.control import Edge, Neutral, Newest
from netlab.envs.realtime import realtime_process
from netlab.envs.registry import make_task
from netlab.messages import PROTOCOL_VERSION, Hello
from netlab.wire.channel import Channel
from netlab.wire.dialer import dial
from netlab.wire.key import Key

__all__ = ["main"]

BLOCKS = 20
ROUND_TRIPS = 500
WARM_UP = 500

_PATIENCE_S = 10.0


def main() -> None:
    """Be what the command line asks for."""
    role, address, *words = sys.argv[1:]
    if role == "echo":
        _echo(address, int(words[0]))
    else:
        print(json.dumps(_ask(address, int(words[0]), int(words[1]), Key.read(words[2]))))


def _echo(address: str, port: int) -> None:
    """Answer each datagram with one of the size it asks for, for ever."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((address, port))
        replies = bytes(2048)
        buffer = bytearray(2048)
        while True:
            _, peer = server.recvfrom_into(buffer)
            server.sendto(replies[: buffer[0] << 8 | buffer[1]], peer)


def _ask(address: str, agent_port: int, echo_port: int, key: Key) -> dict[str, list[int]]:
    """Take round trips in blocks, bare and netlab's in turn; return nanoseconds."""
    task = make_task("CartPole-v1", 50.0)
    edge = Edge(task.description, Newest(), Neutral(), run=secrets.randbits(64))
    hello = Hello(
        protocol=PROTOCOL_VERSION, version=netlab.__version__, run=edge.run, task=task.description, horizon_ticks=1
    )
    channel, _ = dial((address, agent_port), key, hello)
    edge.begin_episode(0)
    payload = task.reset(0).astype("<f4").tobytes()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bare, realtime_process():
        bare.connect((address, echo_port))
        _wait_for_echo(bare)
        asked = Asking(channel, edge, payload)
        request, reply = asked.frame_bytes()
        _bare_block(bare, request, reply, WARM_UP)
        asked.block(WARM_UP)
        bare_ns, netlab_ns = [], []
        for _ in range(BLOCKS):
            bare_ns += _bare_block(bare, request, reply, ROUND_TRIPS)
            netlab_ns += asked.block(ROUND_TRIPS)
    channel.close("measured")
    return {"bare_ns": bare_ns, "netlab_ns": netlab_ns, "frame_bytes": [request, reply]}


def _wait_for_echo(bare: socket.socket) -> None:
    """Ask until there is an answer: the echo may have been started a moment before us."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while True:
        try:
            bare.send((2).to_bytes(2, "big"))
            bare.recv(2048)
            return
        except ConnectionRefusedError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.01)


def _bare_block(bare: socket.socket, request_bytes: int, reply_bytes: int, count: int) -> list[int]:
    request = reply_bytes.to_bytes(2, "big") + bytes(request_bytes - 2)
    times_ns = []
    for _ in range(count):
        begin = time.perf_counter_ns()
        bare.send(request)
        bare.recv(2048)
        times_ns.append(time.perf_counter_ns() - begin)
    return times_ns


class Asking:
    """Sends observations and waits for the actions, by the path an EnvService takes."""

    def __init__(self, channel: Channel, edge: Edge, payload: bytes) -> None:
        self._channel = channel
        self._edge = edge
        self._payload = payload
        self._tick = 0

    def frame_bytes(self) -> tuple[int, int]:
        """Return how long an observation and an action are on the wire."""
        statistics = self._channel.statistics
        sent, received = statistics.bytes_sent, statistics.bytes_received
        self.block(1)
        return statistics.bytes_sent - sent, statistics.bytes_received - received

    def block(self, count: int) -> list[int]:
        """Return the times from before the observation is framed to after its action is taken in."""
        channel, edge, payload = self._channel, self._edge, self._payload
        times_ns = []
        for tick in range(self._tick, self._tick + count):
            begin = time.perf_counter_ns()
            channel.send(edge.observe(tick, payload))
            answered = False
            while not answered:
                for received in channel.receive(1.0):
                    answered |= edge.receive(received.message)  # type: ignore[arg-type]
            times_ns.append(time.perf_counter_ns() - begin)
            edge.play(tick)
        self._tick += count
        return times_ns


if __name__ == "__main__":
    main()
