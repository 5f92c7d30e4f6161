"""Requests laid out by hand say what pyroute2's own classes read from them, or would have written."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.ndmsg import ndmsg
from pyroute2.netlink.rtnl.rtmsg import rtmsg
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from netlab.namespaces.netlink_message import attribute, build_request, number, text
from netlab.namespaces.redirection import forget_sender, redirect, redirect_sender, sort_by_sender
from netlab.namespaces.rtnetlink import RouteSocket


class NotedSocket(RouteSocket):
    """Keeps what it is asked to send."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def request(self, message: bytearray, attempt: str) -> None:
        self.sent.append(bytes(message))


def _read(kind: Any, data: bytes) -> Any:
    message = kind(data)
    message.decode()
    assert message["header"]["length"] == len(data)
    assert message["header"]["flags"] & 0x5 == 0x5
    return message


def test_attributes_are_padded_and_nest() -> None:
    assert attribute(7, b"abc") == struct.pack("=HH", 7, 7) + b"abc\0"
    nested = struct.pack("=HHHH", 20, 7, 7, 1) + b"ab\0\0" + struct.pack("=HHI", 8, 2, 5)
    assert attribute(7, text(1, "ab"), number(2, 5)) == nested
    message = build_request(16, 0x600, b"1234", number(2, 5))
    assert struct.unpack_from("=IHHII", message) == (28, 16, 0x605, 0, 0)


def test_a_veth_pair() -> None:
    socket = NotedSocket()
    socket.add_veth(
        "a", "b", peer_netns_fd=9, index=5, peer_index=6, mac="02:00:00:00:00:01", peer_mac="02:00:00:00:00:02",
        mtu=1400, gso_max_segs=1,
    )  # fmt: skip
    message = _read(ifinfmsg, socket.sent[0])
    assert (message["header"]["type"], message["index"], message["flags"]) == (16, 5, 0)
    shown = {name: message.get_attr(name) for name in ("IFLA_IFNAME", "IFLA_ADDRESS", "IFLA_MTU")}
    assert shown == {"IFLA_IFNAME": "a", "IFLA_ADDRESS": "02:00:00:00:00:01", "IFLA_MTU": 1400}
    assert message.get_attr("IFLA_GSO_MAX_SEGS") == 1
    assert message.get_attr("IFLA_NET_NS_FD") is None
    info = message.get_attr("IFLA_LINKINFO")
    assert info.get_attr("IFLA_INFO_KIND") == "veth"
    peer = info.get_attr("IFLA_INFO_DATA").get_attr("VETH_INFO_PEER")
    assert (peer["index"], peer.get_attr("IFLA_IFNAME"), peer.get_attr("IFLA_NET_NS_FD")) == (6, "b", 9)
    assert peer.get_attr("IFLA_ADDRESS") == "02:00:00:00:00:02"


@pytest.mark.parametrize(("address", "family"), [("10.77.0.1", 2), ("fd00::1", 10)])
def test_addresses_and_neighbours(address: str, family: int) -> None:
    socket = NotedSocket()
    socket.add_address(7, address, 30)
    socket.add_neighbour(7, address, "02:00:00:00:00:01")
    message = _read(ifaddrmsg, socket.sent[0])
    assert (message["family"], message["prefixlen"], message["index"]) == (family, 30, 7)
    assert (message.get_attr("IFA_LOCAL"), message.get_attr("IFA_ADDRESS")) == (address, address)
    assert message.get_attr("IFA_FLAGS") == (0x02 if family == 10 else None)
    message = _read(ndmsg, socket.sent[1])
    assert (message["family"], message["ifindex"], message["state"]) == (family, 7, 0x80)
    assert (message.get_attr("NDA_DST"), message.get_attr("NDA_LLADDR")) == (address, "02:00:00:00:00:01")


def test_routes_and_switches() -> None:
    socket = NotedSocket()
    socket.add_route(3, "10.1.0.0", 16, gateway="10.0.0.1")
    socket.add_route(3, "0.0.0.0", 0)
    socket.set_up(3)
    socket.set_down(3)
    message = _read(rtmsg, socket.sent[0])
    assert (message["dst_len"], message["table"], message["proto"], message["scope"], message["type"]) == (
        16, 254, 4, 0, 1,
    )  # fmt: skip
    assert (message.get_attr("RTA_DST"), message.get_attr("RTA_GATEWAY")) == ("10.1.0.0", "10.0.0.1")
    assert message.get_attr("RTA_OIF") == 3
    message = _read(rtmsg, socket.sent[1])
    assert (message["scope"], message.get_attr("RTA_DST")) == (253, None)
    changes = [(m["flags"], m["change"]) for m in (_read(ifinfmsg, data) for data in socket.sent[2:])]
    assert changes == [(1, 1), (0, 1)]


def _attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while data:
        length, kind = struct.unpack_from("=HH", data)
        found[kind] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return found


def _rule(data: bytes) -> dict[int, bytes]:
    """Return the attributes inside TCA_OPTIONS of a filter; pyroute2 misreads the keys of u32."""
    return _attributes(_attributes(data[36:])[2])


def test_redirections() -> None:
    socket = NotedSocket()
    redirect(socket, 4, 5)
    sort_by_sender(socket, 4)
    redirect_sender(socket, 4, "02:4e:4c:01:07:0b", 9)
    forget_sender(socket, 4, "02:4e:4c:01:07:0b")
    everything, table, link, sender, gone = (_read(tcmsg, data) for data in socket.sent)
    assert [m["index"] for m in (everything, table, link, sender, gone)] == [4] * 5
    action = everything.get_attr("TCA_OPTIONS").get_attr("TCA_U32_ACT").get_attr("TCA_ACT_PRIO_1")
    assert action.get_attr("TCA_ACT_KIND") == "mirred"
    assert action.get_attr("TCA_ACT_OPTIONS").get_attr("TCA_MIRRED_PARMS")["ifindex"] == 5
    assert _rule(socket.sent[1])[4] == struct.pack("=I", 256)
    assert struct.pack("=I", table["handle"]) == _rule(socket.sent[2])[3] == struct.pack("=I", 1 << 20)
    # Bucket 7, the low byte of the link's number; the handle to take it away by names bucket and rule.
    assert _rule(socket.sent[3])[2] == struct.pack("=I", 1 << 20 | 7 << 12)
    assert gone["handle"] == 1 << 20 | 7 << 12 | sender["handle"]
    keys = _rule(socket.sent[3])[5][16:]
    assert keys == struct.pack("=4s4sii", b"\xff" * 4, bytes.fromhex("024e4c01"), -8, 0) + struct.pack(
        "=4s4sii", b"\xff\xff\0\0", bytes.fromhex("070b0000"), -4, 0
    )


def test_rules_of_one_bucket_have_handles_of_their_own() -> None:
    socket = NotedSocket()
    handles = set()
    for high in range(64):
        for side in "ab":
            redirect_sender(socket, 4, f"02:4e:4c:{high:02x}:07:0{side}", 9)
            handles.add(_read(tcmsg, socket.sent[-1])["handle"])
    assert len(handles) == 128
    assert min(handles) > 0
    assert max(handles) < 1 << 12
