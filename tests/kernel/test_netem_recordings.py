"""What tc was recorded sending, sent to this kernel: it shows what the recorded kernel showed, byte for byte.

All but the seed: a kernel without seeds has no such attribute, one with them picks a number where none is sent.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from netlab.namespaces.features import kernel_features
from netlab.namespaces.kernel_objects import ROOT
from netlab.namespaces.namespace import Namespace
from netlab.namespaces.netem_codec import TCA_NETEM_PRNG_SEED
from netlab.namespaces.rtnetlink import RouteSocket

QOPT_BYTES = 24
INTERFACE, HANDLE = 2, 0x10000
RECORDINGS = json.loads((Path(__file__).parents[1] / "golden/netem/linux-7.2.7.json").read_text())["recordings"]


@pytest.fixture
def route() -> Iterator[RouteSocket]:
    with Namespace.create() as namespace, RouteSocket.open(namespace.fd) as route:
        route.add_veth("a", "b", index=INTERFACE, peer_index=3)
        yield route


def attributes(options: bytes) -> dict[int, bytes]:
    """Return netem's options by their numbers; the fixed structure they begin with is 0."""
    found, at = {0: options[:QOPT_BYTES]}, QOPT_BYTES
    while at < len(options):
        length, kind = struct.unpack_from("=HH", options, at)
        found[kind] = options[at + 4 : at + length]
        at += (length + 3) & ~3
    return found


@pytest.mark.parametrize("recording", RECORDINGS, ids=[recording["tc"] for recording in RECORDINGS])
def test_the_same_bytes_give_the_same_bytes(route: RouteSocket, recording: dict[str, str]) -> None:
    route.qdisc_add(INTERFACE, HANDLE, ROOT, "netem", bytes.fromhex(recording["sent"]))
    shown = attributes(route.qdisc_read(INTERFACE, HANDLE, ROOT).options)
    recorded = attributes(bytes.fromhex(recording["shown"]))
    assert (shown.pop(TCA_NETEM_PRNG_SEED, None) is not None) == kernel_features().seed
    del recorded[TCA_NETEM_PRNG_SEED]
    assert shown == recorded
