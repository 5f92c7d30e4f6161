"""Inside the guest: an edge and an agent that talk over one TCP connection, and when each message arrived.

stream_program.py lab TICKS SEEDS NETWORK...   a lab a network and seed; prints a line of JSON each
stream_program.py edge ADDRESS TICKS           an observation a tick, 20 ms
stream_program.py agent ADDRESS                an answer to each

The sockets are prepared and read as those of netlab's stream channel, the messages as long as CartPole's.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
import sys
import time
from collections import deque
from pathlib import Path

from netlab.run_folder import run_folder
from netlab.wire.sealed_stream import MAX_QUEUE_BYTES, READ_BYTES, prepare_stream_socket

PORT = 7447
TICK_NS = 20_000_000
GREETINGS = 2
"""Round trips before the first tick, as in netlab's handshake."""
OBSERVATION_BYTES, ACTION_BYTES = 85, 65
LONGEST_S = 400.0
SILENCE_S = 150.0
"""After which the agent takes the edge for gone, whose last packet may be lost; a timeout is 120 s at most."""

number_of = struct.Struct(">I")


def take(sock: socket.socket, buffer: bytearray, length_bytes: int) -> list[int] | None:
    """Return the numbers of the messages that are whole; None where the peer has closed."""
    data = sock.recv(READ_BYTES)
    if not data:
        return None
    buffer += data
    count = len(buffer) // length_bytes
    numbers = [number_of.unpack_from(buffer, place * length_bytes)[0] for place in range(count)]
    del buffer[: count * length_bytes]
    return numbers


class Outbox:
    """What the kernel does not take waits here; where that is too much the oldest goes, as in ``SealedStream``."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._queue: deque[bytes] = deque()
        self._rest = b""

    def send(self, message: bytes) -> None:
        self._queue.append(message)
        self.flush()
        while len(self._queue) * len(message) > MAX_QUEUE_BYTES:
            self._queue.popleft()

    def flush(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._rest or self._queue:
                self._rest = self._rest or self._queue.popleft()
                self._rest = self._rest[self._socket.send(self._rest) :]


def edge(address: str, ticks: int) -> None:
    connection = socket.create_connection((address, PORT))
    for _ in range(GREETINGS):
        connection.sendall(bytes(ACTION_BYTES))
        connection.recv(READ_BYTES)
    prepare_stream_socket(connection)
    sent, arrived, buffer, outbox = [], [], bytearray(), Outbox(connection)
    begin_ns = time.monotonic_ns() + TICK_NS
    for tick in range(ticks + 1):
        while (left_ns := begin_ns + tick * TICK_NS - time.monotonic_ns()) > 0:
            if select.select([connection], [], [], left_ns / 1e9)[0]:
                numbers = take(connection, buffer, ACTION_BYTES)
                now_ns = time.monotonic_ns()
                arrived += [(number, now_ns - begin_ns) for number in numbers or ()]
        if tick < ticks:
            sent.append(time.monotonic_ns() - begin_ns)
            outbox.send(number_of.pack(tick).ljust(OBSERVATION_BYTES, b"."))
    print(json.dumps({"begin_ns": begin_ns, "sent": sent, "arrived": arrived}))


def agent(address: str) -> None:
    with socket.create_server((address, PORT)) as server:
        connection, _ = server.accept()
    for _ in range(GREETINGS):
        connection.recv(READ_BYTES)
        connection.sendall(bytes(ACTION_BYTES))
    prepare_stream_socket(connection)
    arrived, buffer, outbox = [], bytearray(), Outbox(connection)
    try:
        while select.select([connection], [], [], SILENCE_S)[0]:
            outbox.flush()
            numbers = take(connection, buffer, OBSERVATION_BYTES)
            if numbers is None:
                break
            now_ns = time.monotonic_ns()
            for number in numbers:
                arrived.append((number, now_ns))
                outbox.send(number_of.pack(number).ljust(ACTION_BYTES, b"."))
    except ConnectionError:
        pass  # the edge closes with answers unread
    print(json.dumps(arrived))


def play(network: str, seed: int, ticks: int, folder: Path) -> dict[str, object]:
    """Run both in a lab; return when each message was sent and arrived, counted from the first tick."""
    from netlab.lab import Lab
    from netlab.traces.presets import parse_preset

    this = [sys.executable, "-P", __file__]
    with Lab(seed=seed) as lab:
        near, far = lab.add_host("edge"), lab.add_host("agent")
        lab.add_link(near, far, parse_preset(network), name="exec")
        outputs = folder / "edge", folder / "agent"
        serving = far.start([*this, "agent", far.address], stdout=outputs[1])
        time.sleep(0.1)
        running = near.start([*this, "edge", far.address, str(ticks)], stdout=outputs[0])
        running.wait(LONGEST_S + ticks * TICK_NS / 1e9)
        running.check()
        serving.wait(LONGEST_S)
        serving.check()
    told = json.loads(outputs[0].read_text())
    begin_ns = told.pop("begin_ns")
    observed = [(number, at_ns - begin_ns) for number, at_ns in json.loads(outputs[1].read_text())]
    return {"network": network, "seed": seed, "sent": told["sent"], "observed": observed, "acted": told["arrived"]}


if __name__ == "__main__":
    role, *words = sys.argv[1:]
    if role == "edge":
        edge(words[0], int(words[1]))
    elif role == "agent":
        agent(words[0])
    else:
        with run_folder("stream") as folder:
            for network in words[2:]:
                for seed in range(int(words[1])):
                    print(json.dumps(play(network, seed, int(words[0]), folder)), flush=True)
