"""One change of a live link: the hot path against a ``tc`` subprocess and against the bare system calls.

On netem where this kernel has it, else on tbf: the path through netlink is the same, the qdisc another.
"""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from netlab.bench.figure import Figure, spread_text
from netlab.errors import FeatureMissing
from netlab.namespaces.features import kernel_features
from netlab.namespaces.kernel_objects import ROOT
from netlab.namespaces.namespace import Namespace
from netlab.namespaces.netem_qdisc import DEFAULT_HANDLE, NetemQdisc
from netlab.namespaces.rtnetlink import RouteSocket
from netlab.traces.qdisc_state import QdiscState

__all__ = ["change_vs_floor", "change_vs_tc"]

TC_TARGET = 300.0
FLOOR_TARGET = 1.5
ROUNDS = 20
HOT_CHANGES = 500
TC_CHANGES = 3

_SOL_NETLINK, _NETLINK_CAP_ACK = 270, 10
_TBF_PARMS, _TBF_BURST = 1, 6
_TBF = struct.Struct("=HH BBHhHI 12x III HHI")
_ETHERNET = 1
_RATE_OFFSET = 12
_RATES_BYTES_PER_S = (1_000_000, 1_250_000)


class Change(Protocol):
    """One qdisc that can be changed by each of the ways compared.

    Attributes:
        kind: Of the qdisc.
        message: The bytes of one change.
    """

    kind: str

    @property
    def message(self) -> bytes: ...
    def hot(self, turn: int) -> None: ...
    def verified(self, turn: int) -> None: ...
    def tc_words(self, turn: int) -> list[str]: ...


class NetemChange:
    """A delay that changes on netem."""

    kind = "netem"

    def __init__(self, routes: RouteSocket, index: int) -> None:
        self._states = [QdiscState(latency_ns=delay, loss=9, seed=5) for delay in (10_000_000, 20_000_000)]
        self._qdisc = NetemQdisc(routes, index, features=kernel_features())
        self._qdisc.add(self._states[0])
        self._qdisc.apply_fast(self._states[1])

    @property
    def message(self) -> bytes:
        """Return the bytes of one change."""
        request = self._qdisc._request
        assert request is not None  # apply_fast has made it
        return bytes(request.message)

    def hot(self, turn: int) -> None:
        """Change by the hot path: acknowledged, not read back."""
        self._qdisc.apply_fast(self._states[turn & 1])

    def verified(self, turn: int) -> None:
        """Change everything and read it back."""
        self._qdisc.apply(self._states[turn & 1])

    def tc_words(self, turn: int) -> list[str]:
        """Return the arguments with which tc does the same."""
        return ["netem", "limit", "1000", "delay", ("10ms", "20ms")[turn & 1]]


class TbfChange:
    """A rate that changes on tbf: the same path where there is no netem."""

    kind = "tbf"

    def __init__(self, routes: RouteSocket, index: int) -> None:
        self._routes, self._index = routes, index
        routes.qdisc_add(index, DEFAULT_HANDLE, ROOT, "tbf", self._options(0))
        self._request, self._at = routes.qdisc_prebuilt_change(
            index, DEFAULT_HANDLE, ROOT, "tbf", self._options(1)
        )

    @staticmethod
    def _options(turn: int) -> bytes:
        rate = _RATES_BYTES_PER_S[turn & 1]
        return _TBF.pack(
            40, _TBF_PARMS, 0, _ETHERNET, 0, 0, 0, rate, 100_000, 0, 0, 8, _TBF_BURST, 15_000
        )  # fmt: skip

    @property
    def message(self) -> bytes:
        """Return the bytes of one change."""
        return bytes(self._request.message)

    def hot(self, turn: int) -> None:
        """Patch the rate and send."""
        struct.pack_into("=I", self._request.message, self._at + _RATE_OFFSET, _RATES_BYTES_PER_S[turn & 1])
        self._request.send()

    def verified(self, turn: int) -> None:
        """Change everything and read it back."""
        self._routes.qdisc_change(self._index, DEFAULT_HANDLE, ROOT, "tbf", self._options(turn))
        self._routes.qdisc_read(self._index, DEFAULT_HANDLE, ROOT)

    def tc_words(self, turn: int) -> list[str]:
        """Return the arguments with which tc does the same."""
        return ["tbf", "rate", ("8mbit", "10mbit")[turn & 1], "burst", "15000", "limit", "100000"]


def change_vs_tc(say: Callable[[str], None]) -> Figure:
    """Compare one acknowledged change with one ``tc qdisc change``, in turn."""
    tc = shutil.which("tc", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if tc is None:
        raise FeatureMissing("compare with tc", words="there is no tc", hint="apt-get install iproute2")
    with _qdisc() as (change, namespace):
        hot_s, tc_s, verified_s = [], [], []
        for _ in range(ROUNDS):
            hot_s.append(_mean_s(change.hot, HOT_CHANGES))
            verified_s.append(_mean_s(change.verified, HOT_CHANGES // 10))
            tc_s.append(namespace.call(lambda: _mean_s(lambda turn: _run_tc(tc, change, turn), TC_CHANGES)))
    ratios = [slow / fast for slow, fast in zip(tc_s, hot_s, strict=True)]
    value = statistics.median(ratios)
    return Figure(
        name="change-vs-tc",
        value=value,
        unit="times faster than tc",
        target=f"at least {TC_TARGET:g}",
        holds=value >= TC_TARGET,
        n=ROUNDS * HOT_CHANGES,
        spread=spread_text(ratios, "times"),
        note=f"on {change.kind}: {1e6 * statistics.median(hot_s):.1f} us "
        f"against {1e3 * statistics.median(tc_s):.2f} ms; "
        f"in full with read-back {1e6 * statistics.median(verified_s):.0f} us",
    )


def change_vs_floor(say: Callable[[str], None]) -> Figure:
    """Compare one acknowledged change with a send and a recv of the same bytes, in turn."""
    with _qdisc() as (change, namespace), namespace.call(_bare_socket) as bare:
        message = change.message
        send, recv = bare.send, bare.recv

        def exchange(turn: int) -> None:
            send(message)
            recv(4096)

        hot_s, bare_s = [], []
        for _ in range(ROUNDS):
            bare_s.append(_mean_s(exchange, HOT_CHANGES))
            hot_s.append(_mean_s(change.hot, HOT_CHANGES))
    ratios = [ours / floor for ours, floor in zip(hot_s, bare_s, strict=True)]
    value = statistics.median(ratios)
    return Figure(
        name="change-vs-floor",
        value=value,
        unit="times a bare send+recv",
        target=f"within {FLOOR_TARGET:g}",
        holds=value <= FLOOR_TARGET,
        n=ROUNDS * HOT_CHANGES,
        spread=spread_text(ratios, "times"),
        note=f"on {change.kind}, {len(message)} bytes: {1e6 * statistics.median(hot_s):.2f} us against "
        f"{1e6 * statistics.median(bare_s):.2f} us",
    )


@contextmanager
def _qdisc() -> Iterator[tuple[Change, Namespace]]:
    """Give a qdisc in a namespace that is thrown away."""
    with Namespace.create("the change bench") as namespace, RouteSocket.open(namespace.fd) as routes:
        routes.add_veth("bench0", "bench1")
        index = routes.link_index("bench0")
        routes.set_up(index)
        routes.set_up(routes.link_index("bench1"))
        change: Change = NetemChange(routes, index) if kernel_features().netem else TbfChange(routes, index)
        yield change, namespace


def _bare_socket() -> socket.socket:
    bare = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
    bare.setsockopt(_SOL_NETLINK, _NETLINK_CAP_ACK, 1)
    bare.bind((0, 0))
    return bare


def _mean_s(act: Callable[[int], None], count: int) -> float:
    begin = time.perf_counter()
    for turn in range(count):
        act(turn)
    return (time.perf_counter() - begin) / count


def _run_tc(tc: str, change: Change, turn: int) -> None:
    # close_fds=False lets Python spawn without forking itself: the cheapest subprocess there is.
    subprocess.run(
        [tc, "qdisc", "change", "dev", "bench0", "root", "handle", "1:", *change.tc_words(turn)],
        check=True,
        close_fds=False,
        stdin=subprocess.DEVNULL,
    )
