"""Runs in a guest: waits in every way Python knows and prints the clock each time.

virtual_program.py waits        sleeps, threads, processes, hashes
virtual_program.py packets      UDP and TCP to an echo at $NETLAB_PEER, behind a link
virtual_program.py echo         the echo
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import socket
import sys
import threading
import time

BEGIN_NS = time.monotonic_ns()
UDP_PORT, TCP_PORT, OUR_PORT = 5000, 5001, 4000


def say(*words: object) -> None:
    print(*words, time.monotonic_ns() - BEGIN_NS, time.time_ns(), flush=True)


def square(number: int) -> int:
    time.sleep(0.01 * number)
    return number * number


def waits() -> None:
    for number in range(5):
        time.sleep(0.013)
        say("slept", number)
    box: queue.Queue[int] = queue.Queue()

    def work(number: int) -> None:
        for _ in range(5):
            time.sleep(0.003 * (number + 1))
            box.put(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        say("thread", box.get())
    for thread in threads:
        thread.join()
    with multiprocessing.Pool(3) as pool:
        say("pool", pool.map(square, range(6)))
    say("hashes", {"a", "b", "c", "d"}, hash("text"))


def packets() -> None:
    peer = os.environ["NETLAB_PEER"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("", OUR_PORT))
        datagrams.settimeout(0.2)
        for number in range(100):
            datagrams.sendto(b"%d" % number, (peer, UDP_PORT))
            try:
                say("udp", datagrams.recv(100).decode())
            except TimeoutError:
                say("lost", number)
    with socket.socket() as stream:
        stream.bind(("", OUR_PORT))
        stream.connect((peer, TCP_PORT))
        stream.sendall(bytes(200_000))
        stream.shutdown(socket.SHUT_WR)
        count = 0
        while data := stream.recv(65536):
            count += len(data)
            say("tcp", count)


def echo() -> None:
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("", UDP_PORT))

    def serve() -> None:
        while True:
            datagrams.sendto(*datagrams.recvfrom(100))

    threading.Thread(target=serve, daemon=True).start()
    with socket.create_server(("", TCP_PORT)) as server:
        connection, _ = server.accept()
        while data := connection.recv(65536):
            connection.sendall(data)
        connection.close()
        time.sleep(3600)


if __name__ == "__main__":
    {"waits": waits, "packets": packets, "echo": echo}[sys.argv[1]]()
