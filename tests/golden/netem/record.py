"""Record what tc sends for a set of netem options, and what the kernel then shows, as hexadecimal.

Run as root on a kernel with netem, with tc and strace installed::

    python tests/golden/netem/record.py > tests/golden/netem/linux-7.2.7.json

strace prints the bytes of each sendmsg; the last one is the request. The value of TCA_OPTIONS is cut out of
it here by hand, so that the recording owes nothing to the code that it tests.
"""

from __future__ import annotations

import json
import os
import platform
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from netlab.namespaces.kernel_objects import ROOT
from netlab.namespaces.namespace import Namespace
from netlab.namespaces.rtnetlink import RouteSocket

OPTIONS = """
delay 100ms
delay 100ms 20ms
delay 100ms 20ms 25%
delay 100ms 20ms distribution tiny
delay 270s
limit 5000
loss random 10%
loss random 10% 25%
loss 5% ecn
loss state 1% 20% 30% 2% 5%
loss state 1%
loss gemodel 1% 10% 70% 0.1%
loss gemodel 1%
duplicate 2% 5%
corrupt 3% 10%
delay 10ms reorder 25% 50% gap 5
delay 10ms reorder 25%
rate 1mbit
rate 1mbit 20 53 5
rate 1mbit -14 53 -5
rate 40gbit
slot 10ms 20ms packets 5 bytes 3000
slot 10ms
slot distribution tiny 10ms 2ms
limit 777 delay 30ms 10ms 5% distribution tiny loss gemodel 1% 10% 70% 0.1% ecn duplicate 2% 5% \
corrupt 3% 10% reorder 25% 50% gap 5 rate 40gbit 20 53 5 slot 10ms 20ms packets 5 bytes 3000
"""
# As tc reads a distribution: integers, 8192 for one deviation.
TINY_TABLE = (-16384, -8192, -4096, -1, 0, 1, 4096, 8192, 16384, 32767, -32768, 7)

TCA_OPTIONS = 2
DUMP_LINE = re.compile(r"^ \| [0-9a-f]+  ((?:[0-9a-f]{2} +)+)", re.MULTILINE)


def options_of(message: bytes) -> bytes:
    """Return the value of TCA_OPTIONS of an RTM_NEWQDISC message."""
    offset = 16 + 20
    while offset < len(message):
        length, kind = struct.unpack_from("=HH", message, offset)
        if kind == TCA_OPTIONS:
            return message[offset + 4 : offset + length]
        offset += (length + 3) & ~3
    raise SystemExit("no TCA_OPTIONS in what tc sent")


def run_tc(options: list[str], folder: str) -> bytes:
    """Run ``tc qdisc replace ... netem OPTIONS`` and return the last message that it sent."""
    command = ["strace", "-e", "trace=sendmsg", "-e", "write=all", "-s", "0",
               "tc", "qdisc", "replace", "dev", "a", "root", "handle", "1:", "netem", *options]  # fmt: skip
    done = subprocess.run(
        command, env=dict(os.environ, TC_LIB_DIR=folder), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"tc {' '.join(options)}: {done.stderr}")
    last = done.stderr.rpartition("sendmsg(")[2]
    return bytes.fromhex("".join("".join(match.split()) for match in DUMP_LINE.findall(last)))


def main() -> None:
    recordings = []
    with tempfile.TemporaryDirectory() as folder, Namespace.create() as namespace:
        Path(folder, "tiny.dist").write_text("# netlab\n" + " ".join(map(str, TINY_TABLE)) + "\n")
        with RouteSocket.open(namespace.fd) as socket:
            socket.add_veth("a", "b", index=2, peer_index=3)
            for line in OPTIONS.strip().splitlines():
                options = line.split()
                sent = options_of(namespace.call(lambda options=options: run_tc(options, folder)))
                shown = socket.qdisc_read(2, 0x10000, ROOT).options
                socket.qdisc_delete(2, 0x10000, ROOT)
                recordings.append({"tc": line, "sent": sent.hex(), "shown": shown.hex()})
    version = subprocess.run(["tc", "-V"], capture_output=True, text=True, check=True).stdout.strip()
    json.dump(
        {"kernel": platform.release(), "tc": version, "tiny": TINY_TABLE, "recordings": recordings},
        sys.stdout,
        indent=1,
    )
    print()


if __name__ == "__main__":
    main()
