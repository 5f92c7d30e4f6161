"""What the probe finds on a kernel with netem, and that it leaves nothing."""

from __future__ import annotations

import os

import pytest

from netlab.errors import KernelError
from netlab.namespaces.features import probe_features, require_netem
from netlab.namespaces.kernel_objects import ROOT
from netlab.namespaces.namespace import Namespace
from netlab.namespaces.netem_codec import encode_netem
from netlab.namespaces.rtnetlink import RouteSocket
from netlab.traces.qdisc_state import QdiscState


def test_a_kernel_with_netem_passes() -> None:
    features = probe_features()
    require_netem(features)
    assert features.netem
    assert features.veth
    assert features.redirect
    assert features.release == os.uname().release
    if tuple(map(int, features.release.split(".")[:2])) >= (6, 6):
        assert features.seed
    assert features.nanoseconds
    assert features.rate64
    assert features.slots
    assert features.loss_models


def test_duplication_beside_another_netem_is_refused_or_taken_never_half() -> None:
    """Two netems in one tree: kernels differ about duplication; either way the state is known."""
    with Namespace.create() as namespace, RouteSocket.open(namespace.fd) as route:
        route.add_veth("a", "b", index=2, peer_index=3)
        route.qdisc_add(2, 0x10000, ROOT, "netem", encode_netem(QdiscState(duplicate=1)))
        try:
            route.qdisc_add(2, 0x20000, 0x10001, "netem", encode_netem(QdiscState()))
        except KernelError:
            kinds = [entry.handle for entry in route.qdisc_dump(2)]
            assert 0x20000 not in kinds
        else:
            assert [entry.kind for entry in route.qdisc_dump(2)].count("netem") == 2


@pytest.mark.parametrize("entries", [0, 16385])
def test_the_kernels_bounds_on_tables(entries: int) -> None:
    """The bounds that decode_netem and QdiscState keep are the kernel's own."""
    table = (4 + 2 * entries).to_bytes(2, "little") + (2).to_bytes(2, "little") + bytes(2 * entries)
    table += bytes(-len(table) % 4)
    with Namespace.create() as namespace, RouteSocket.open(namespace.fd) as route:
        route.add_veth("a", "b", index=2, peer_index=3)
        with pytest.raises(KernelError):
            route.qdisc_add(2, 0x10000, ROOT, "netem", encode_netem(QdiscState()) + table)
