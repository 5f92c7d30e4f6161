"""RouteSocket: links, addresses, routes, neighbours, qdiscs and redirections of one network namespace.

The one door to pyroute2: its message classes decode every answer; ``netlink_message`` lays out the requests. The
bytes travel on our own ``NetlinkSocket``, since pyroute2's sockets cost an event loop each and a process per
namespace.
The value of a qdisc's TCA_OPTIONS is opaque here: ``netem_codec`` knows it.
Source: rtnetlink(7), ``include/uapi/linux/rtnetlink.h``, ``if_link.h``, ``pkt_sched.h``.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from typing import Any

from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from netlab.errors import KernelError
from netlab.namespaces.kernel_objects import IFF_UP, INGRESS_HANDLE, LinkEntry, QdiscEntry
from netlab.namespaces.netlink_message import (
    ADDRESS_FIELDS,
    CREATE_EXCLUSIVE,
    DUMP,
    ECHO,
    LINK_FIELDS,
    NEIGHBOUR_FIELDS,
    REPLACE,
    ROUTE_FIELDS,
    TC_FIELDS,
    attribute,
    build_request,
    ip_bytes,
    mac_bytes,
    number,
    text,
)
from netlab.namespaces.netlink_socket import NetlinkSocket
from netlab.namespaces.prebuilt_request import PrebuiltRequest
from netlab.namespaces.redirection import redirect

__all__ = ["RouteSocket"]

_NEWLINK, _DELLINK, _GETLINK, _SETLINK = 16, 17, 18, 19
_NEWADDR, _NEWROUTE, _NEWNEIGH = 20, 24, 28
_NEWQDISC, _DELQDISC, _GETQDISC = 36, 37, 38

_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MTU, _IFLA_LINKINFO = 1, 3, 4, 18
_IFLA_TXQLEN, _IFLA_GROUP, _IFLA_NET_NS_FD, _IFLA_GSO_MAX_SEGS = 13, 27, 28, 40
_IFLA_INFO_KIND, _IFLA_INFO_DATA, _VETH_INFO_PEER = 1, 2, 1
_IFA_ADDRESS, _IFA_LOCAL, _IFA_FLAGS, _IFA_F_NODAD = 1, 2, 8, 0x02
_NDA_DST, _NDA_LLADDR, _NUD_PERMANENT = 1, 2, 0x80
_RTA_DST, _RTA_OIF, _RTA_GATEWAY = 1, 4, 5
_RT_TABLE_MAIN, _RTPROT_STATIC, _RTN_UNICAST = 254, 4, 1
_RT_SCOPE_UNIVERSE, _RT_SCOPE_LINK = 0, 253
_TCA_KIND, _TCA_OPTIONS, _TC_H_INGRESS = 1, 2, 0xFFFFFFF1

_AF_INET6 = 10
_DOOMED_GROUP = 0x6E6C  # an interface is in group 0 unless told otherwise


class _OpaqueTcmsg(tcmsg):  # type: ignore[misc]  # pyroute2 has no types
    """pyroute2's tcmsg with TCA_OPTIONS as plain bytes: its own netem options are incomplete."""

    nla_map = tuple((name, "cdata" if name == "TCA_OPTIONS" else kind) for name, kind in tcmsg.nla_map)


class RouteSocket(NetlinkSocket):
    """Commands to one network namespace, each sent at once or, inside ``with socket.batch():``, together.

    ::

        with RouteSocket.open(namespace.fd) as wire, wire.batch():
            wire.add_veth("a", "b", netns_fd=None, peer_netns_fd=host.fd, index=2, peer_index=2)
            wire.set_up(2)

    Interfaces are named by index. Who makes them may choose the index (2 for a namespace's first, 1 is lo):
    then nothing has to be asked back, and a whole lab is three batches.
    """

    def add_veth(
        self,
        name: str,
        peer_name: str,
        *,
        netns_fd: int | None = None,
        peer_netns_fd: int | None = None,
        index: int = 0,
        peer_index: int = 0,
        mac: str | None = None,
        peer_mac: str | None = None,
        mtu: int = 1500,
        gso_max_segs: int | None = None,
    ) -> None:
        """Make a veth pair, each end directly in its namespace, both down.

        Args:
            name: Name of the first end.
            peer_name: Name of the second end.
            netns_fd: Namespace of the first end; None for this socket's own.
            peer_netns_fd: Namespace of the second end; None for this socket's own.
            index: Interface index of the first end; 0 lets the kernel choose.
            peer_index: Interface index of the second end, which is made first; 0 lets the kernel choose.
            mac: Address of the first end, ``02:00:00:00:00:01``; None lets the kernel choose.
            peer_mac: Address of the second end.
            mtu: Of both ends, in bytes.
            gso_max_segs: Most segments of a packet that either end sends; 1 forbids super-packets.

        Raises:
            KernelError: Name or index taken, or no rights in one of the namespaces.
            FeatureMissing: The kernel has no veth.
        """
        peer = _link_attributes(peer_name, peer_netns_fd, peer_mac, mtu, gso_max_segs)
        data = attribute(_VETH_INFO_PEER, LINK_FIELDS.pack(0, 0, peer_index, 0, 0), peer)
        info = attribute(_IFLA_LINKINFO, text(_IFLA_INFO_KIND, "veth"), attribute(_IFLA_INFO_DATA, data))
        own = _link_attributes(name, netns_fd, mac, mtu, gso_max_segs)
        message = build_request(_NEWLINK, CREATE_EXCLUSIVE, LINK_FIELDS.pack(0, 0, index, 0, 0), own, info)
        self.request(message, f"add the veth pair {name} - {peer_name}")

    def link_index(self, name: str) -> int:
        """Return the index of the interface with this name.

        Raises:
            KernelError: There is none (ENODEV).
        """
        attempt = f"find the interface {name}"
        replies = self.query(_link_request(_GETLINK, 0, text(_IFLA_IFNAME, name)), attempt)
        if not replies:
            raise KernelError(attempt, errno.ENODEV)
        return int(_decode(ifinfmsg, replies[0])["index"])

    def links(self) -> list[LinkEntry]:
        """Return every interface of the namespace, lo included."""
        replies = self.query(_link_request(_GETLINK, 0, flags=DUMP), "list the interfaces")
        return [LinkEntry.read(_decode(ifinfmsg, reply)) for reply in replies]

    def set_up(self, index: int) -> None:
        """Bring an interface up."""
        message = build_request(_SETLINK, 0, LINK_FIELDS.pack(0, 0, index, IFF_UP, IFF_UP))
        self.request(message, f"bring interface {index} up")

    def configure_link(self, name: str, *, mtu: int, mac: str | None, queue_packets: int) -> None:
        """Give an interface its MTU, MAC address and room in its queue, and bring it up.

        Args:
            name: The interface.
            mtu: In bytes.
            mac: ``02:00:00:00:00:01``; as it is where None.
            queue_packets: What it holds until its packets are taken.
        """
        own = _link_attributes(name, None, mac, mtu, None)
        queue = number(_IFLA_TXQLEN, queue_packets)
        message = build_request(_SETLINK, 0, LINK_FIELDS.pack(0, 0, 0, IFF_UP, IFF_UP), own, queue)
        self.request(message, f"configure the interface {name}")

    def set_down(self, index: int) -> None:
        """Take an interface down."""
        message = build_request(_SETLINK, 0, LINK_FIELDS.pack(0, 0, index, 0, IFF_UP))
        self.request(message, f"take interface {index} down")

    def delete_link(self, index: int) -> None:
        """Delete an interface; of a veth pair both ends go."""
        self.request(_link_request(_DELLINK, index), f"delete interface {index}")

    def delete_links(self, indices: Iterable[int]) -> None:
        """Delete interfaces in one stroke; one by one the kernel would wait for itself after each.

        Raises:
            KernelError: One of them is not there (ENODEV); nothing has been deleted then.
        """
        marks = [(index, _link_request(_SETLINK, index, number(_IFLA_GROUP, _DOOMED_GROUP))) for index in indices]
        if not marks:
            return
        with self.batch():
            for index, mark in marks:
                self.request(mark, f"mark interface {index} to be deleted")
        self.request(_link_request(_DELLINK, 0, number(_IFLA_GROUP, _DOOMED_GROUP)), "delete marked interfaces")

    def add_address(self, index: int, address: str, prefix_length: int) -> None:
        """Give an interface an IPv4 or IPv6 address; IPv6 without duplicate detection."""
        family, value = ip_bytes(address)
        attributes = [attribute(_IFA_LOCAL, value), attribute(_IFA_ADDRESS, value)]
        if family == _AF_INET6:
            attributes.append(number(_IFA_FLAGS, _IFA_F_NODAD))  # a probe would spend the link's seed
        fields = ADDRESS_FIELDS.pack(family, prefix_length, 0, 0, index)
        message = build_request(_NEWADDR, CREATE_EXCLUSIVE, fields, *attributes)
        self.request(message, f"add the address {address}/{prefix_length} to interface {index}")

    def add_neighbour(self, index: int, address: str, mac: str) -> None:
        """Enter a neighbour for good, so that no ARP or ND ever crosses the link."""
        family, value = ip_bytes(address)
        message = build_request(
            _NEWNEIGH, CREATE_EXCLUSIVE, NEIGHBOUR_FIELDS.pack(family, index, _NUD_PERMANENT, 0, 0),
            attribute(_NDA_DST, value), attribute(_NDA_LLADDR, mac_bytes(mac)),
        )  # fmt: skip
        self.request(message, f"add the neighbour {address} at {mac} to interface {index}")

    def add_route(self, index: int, destination: str, prefix_length: int, gateway: str | None = None) -> None:
        """Add a route; destination ``0.0.0.0`` with prefix length 0 is the default route."""
        family, value = ip_bytes(destination)
        attributes = [number(_RTA_OIF, index)]
        if prefix_length:
            attributes.append(attribute(_RTA_DST, value))
        if gateway:
            attributes.append(attribute(_RTA_GATEWAY, ip_bytes(gateway)[1]))
        scope = _RT_SCOPE_UNIVERSE if gateway else _RT_SCOPE_LINK
        fields = ROUTE_FIELDS.pack(
            family, prefix_length, 0, 0, _RT_TABLE_MAIN, _RTPROT_STATIC, scope, _RTN_UNICAST, 0
        )
        message = build_request(_NEWROUTE, CREATE_EXCLUSIVE, fields, *attributes)
        self.request(message, f"add the route to {destination}/{prefix_length} through interface {index}")

    def qdisc_add(self, index: int, handle: int, parent: int, kind: str, options: bytes | None) -> None:
        """Add a qdisc; refuses where the parent has one already.

        Raises:
            FeatureMissing: The kernel has no qdisc of this kind.
        """
        message = _qdisc_message(_NEWQDISC, CREATE_EXCLUSIVE, (index, handle, parent), kind, options)
        self.request(message, f"add a {kind} qdisc to interface {index}")

    def qdisc_change(self, index: int, handle: int, parent: int, kind: str, options: bytes) -> None:
        """Change a qdisc in place; its packets stay in it."""
        message = _qdisc_message(_NEWQDISC, REPLACE, (index, handle, parent), kind, options)
        self.request(message, f"change the {kind} qdisc of interface {index}")

    def qdisc_prebuilt_change(
        self, index: int, handle: int, parent: int, kind: str, options: bytes
    ) -> tuple[PrebuiltRequest, int]:
        """Return a change kept as bytes, and the offset in them at which ``options`` begin."""
        message = _qdisc_message(_NEWQDISC, REPLACE, (index, handle, parent), kind, options)
        # TCA_OPTIONS is the last attribute, padded to four bytes.
        offset = len(message) - ((len(options) + 3) & ~3)
        return self.prebuild(message, f"change the {kind} qdisc of interface {index}"), offset

    def qdisc_delete(self, index: int, handle: int, parent: int) -> None:
        """Delete a qdisc and the packets in it."""
        message = _qdisc_message(_DELQDISC, 0, (index, handle, parent))
        self.request(message, f"delete the qdisc {handle >> 16:x}: of interface {index}")

    def qdisc_read(self, index: int, handle: int, parent: int) -> QdiscEntry:
        """Return one qdisc as it is now.

        Raises:
            KernelError: There is none there (ENOENT).
        """
        attempt = f"read the qdisc {handle >> 16:x}: of interface {index}"
        message = _qdisc_message(_GETQDISC, ECHO, (index, handle, parent))
        for reply in self.query(message, attempt):
            entry = QdiscEntry.read(_decode(_OpaqueTcmsg, reply))
            if entry.handle == handle:
                return entry
        raise KernelError(attempt, errno.ENOENT)

    def qdisc_dump(self, index: int) -> list[QdiscEntry]:
        """Return every qdisc of an interface."""
        replies = self.query(_qdisc_message(_GETQDISC, DUMP, (0, 0, 0)), "list the qdiscs")
        messages = (_decode(_OpaqueTcmsg, reply) for reply in replies)
        return [QdiscEntry.read(message) for message in messages if message["index"] == index]

    def add_ingress(self, index: int) -> None:
        """Give an interface what catches the frames that arrive there.

        Raises:
            FeatureMissing: The kernel lacks sch_ingress.
        """
        self.qdisc_add(index, INGRESS_HANDLE, _TC_H_INGRESS, "ingress", None)

    def redirect(self, from_index: int, to_index: int) -> None:
        """Send every packet that arrives at one interface out of another: a wire, without a bridge.

        Raises:
            FeatureMissing: The kernel lacks sch_ingress, cls_u32 or act_mirred.
        """
        self.add_ingress(from_index)
        redirect(self, from_index, to_index)


def _link_request(kind: int, index: int, *attributes: bytes, flags: int = 0) -> bytearray:
    return build_request(kind, flags, LINK_FIELDS.pack(0, 0, index, 0, 0), *attributes)


def _decode(message_class: Any, data: bytes) -> Any:
    message = message_class(data)
    message.decode()
    return message


def _link_attributes(
    name: str, netns_fd: int | None, mac: str | None, mtu: int, gso_max_segs: int | None
) -> bytes:
    attributes = [text(_IFLA_IFNAME, name), number(_IFLA_MTU, mtu)]
    if netns_fd is not None:
        attributes.append(number(_IFLA_NET_NS_FD, netns_fd))
    if mac is not None:
        attributes.append(attribute(_IFLA_ADDRESS, mac_bytes(mac)))
    if gso_max_segs is not None:
        attributes.append(number(_IFLA_GSO_MAX_SEGS, gso_max_segs))
    return b"".join(attributes)


def _qdisc_message(
    request: int,
    flags: int,
    where: tuple[int, int, int],
    kind: str | None = None,
    options: bytes | None = None,
) -> bytearray:
    """Return a qdisc request; ``where`` is (interface, handle, parent)."""
    attributes = [] if kind is None else [text(_TCA_KIND, kind)]
    if options is not None:
        attributes.append(attribute(_TCA_OPTIONS, options))
    return build_request(request, flags, TC_FIELDS.pack(0, *where, 0), *attributes)
