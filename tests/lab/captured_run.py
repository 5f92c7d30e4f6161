"""Captures what it does itself; a program of its own, run in a host of a lab.

Usage: captured_run.py ACTION SIGNAL PEER CAPTURE_ARGUMENT... Starts ``netlab capture``, waits until it listens,
does something, sends the signal if one is named, and prints as JSON how the capture ended and what was done.
"""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time

PORT = 5001
ROUNDS = 40
SECRET = b"what was said "
MORE, DOWNLOAD_BYTES = b"more", 4_000_000


def serve() -> None:
    """Answer each message of one connection after the other by a byte, or by as much as is asked for."""
    with socket.create_server(("", PORT)) as server:
        while True:
            incoming, _ = server.accept()
            with incoming, contextlib.suppress(OSError):
                while message := incoming.recv(1 << 16):
                    incoming.sendall(bytes(DOWNLOAD_BYTES) if message == MORE else b"!")


def talk(peer: str) -> None:
    """Send messages and await the answer to each."""
    with socket.create_connection((peer, PORT), 30) as out:
        for _ in range(ROUNDS):
            out.sendall(SECRET * 20)
            assert out.recv(1) == b"!"


def download(peer: str) -> None:
    """Receive much, and send nothing but the request."""
    with socket.create_connection((peer, PORT), 30) as out:
        out.sendall(MORE)
        left = DOWNLOAD_BYTES
        while left:
            left -= len(out.recv(1 << 16))


def ping(peer: str) -> str:
    return subprocess.run(
        ["ping", "-c", str(ROUNDS), "-i", "0.02", "-W", "1", peer], capture_output=True, text=True, check=False
    ).stdout


def act(action: str, peer: str) -> str:
    if action == "ping":
        return ping(peer)
    if action == "talk":
        talk(peer)
    elif action == "download":
        download(peer)
    elif action == "down":
        ping(peer)
        subprocess.run(["ip", "link", "set", "eth0", "down"], check=True)
    return ""


def main() -> None:
    if sys.argv[1] == "serve":
        serve()
    action, name, peer, *arguments = sys.argv[1:]
    while action == "chatter":
        with contextlib.suppress(ConnectionRefusedError):  # the server is about to start
            talk(peer)
    capture = subprocess.Popen(
        [sys.executable, "-P", "-m", "netlab", "capture", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert capture.stdout is not None
    assert capture.stderr is not None
    first = capture.stderr.readline()
    done = act(action, peer) if "listening" in first else ""
    if name:
        time.sleep(0.3)  # the last packets are on their way through the kernel
        capture.send_signal(signal.Signals[name])
    with capture.stdout, capture.stderr:
        told = {"stdout": capture.stdout.read(), "stderr": first + capture.stderr.read(), "done": done}
    print(json.dumps({"status": capture.wait(30), **told}))


if __name__ == "__main__":
    main()
