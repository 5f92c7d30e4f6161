"""Redirections: what arrives at an interface leaves by another, all of it or sender by sender.

::

    redirect        any frame ------------------------------> interface
    sort_by_sender  any frame --low byte of the link's number--> one of 256 buckets
    redirect_sender             bucket: source MAC ----------> interface

Requests of cls_u32 with act_mirred. Offsets count from the network header, so the sender's MAC address stands
at -8. A frame that no rule matches goes nowhere: no interface of the wire has an address.
Source: ``include/uapi/linux/pkt_cls.h``, ``tc_act/tc_mirred.h``; net/sched/cls_u32.c for the handles.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from netlab.namespaces.kernel_objects import INGRESS_HANDLE
from netlab.namespaces.netlink_message import (
    CREATE_EXCLUSIVE,
    TC_FIELDS,
    attribute,
    build_request,
    mac_bytes,
    number,
    text,
)

if TYPE_CHECKING:
    from netlab.namespaces.netlink_socket import NetlinkSocket

__all__ = ["forget_sender", "redirect", "redirect_sender", "sort_by_sender"]

_NEWTFILTER, _DELTFILTER = 44, 45
_TCA_KIND, _TCA_OPTIONS = 1, 2
_U32_HASH, _U32_LINK, _U32_DIVISOR, _U32_SEL, _U32_ACT = 2, 3, 4, 5, 7
_ACT_KIND, _ACT_OPTIONS, _MIRRED_PARMS, _FIRST_ACTION = 1, 2, 2, 1
_ACT_STOLEN, _EGRESS_REDIRECT = 4, 1
_TERMINAL = 1
_INFO = 1 << 16 | 0x0300  # priority 1, every protocol (ETH_P_ALL in network order)

_SELECTOR = struct.Struct("=BBBxHHhh4s")  # struct tc_u32_sel
_KEY = struct.Struct("=4s4sii")
_MIRRED = struct.Struct("=IIiiiiI")  # tc_gen: index, capab, action, refcnt, bindcnt; eaction, ifindex

_MAC_START, _MAC_END = -8, -4
_ANY = (b"\0\0\0\0", b"\0\0\0\0", 0)
_BUCKETS = 256
_TABLE = 1 << 20
"""The hash table of senders; a rule's handle is table, bucket and a number from 1 to 4095."""


def redirect(socket: NetlinkSocket, from_index: int, to_index: int) -> None:
    """Send every frame that arrives at one interface out of another; the first must have an ingress qdisc.

    Raises:
        FeatureMissing: The kernel lacks cls_u32 or act_mirred.
        KernelError: The kernel refuses.
    """
    options = attribute(_U32_ACT, _mirred(to_index)) + attribute(_U32_SEL, _selector([_ANY]))
    socket.request(_message(from_index, 0, options), f"redirect interface {from_index} to {to_index}")


def sort_by_sender(socket: NetlinkSocket, from_index: int) -> None:
    """Have an interface look its frames up by their sender; the first must have an ingress qdisc.

    Raises:
        FeatureMissing: The kernel lacks cls_u32.
        KernelError: The kernel refuses.
    """
    attempt = f"sort the frames of interface {from_index} by their sender"
    socket.request(_message(from_index, _TABLE, number(_U32_DIVISOR, _BUCKETS)), attempt)
    # The byte before the last of the MAC address is the low byte of the link's number (LinkPlan).
    selector = _selector([_ANY], flags=0, hash_offset=_MAC_END, hash_mask=b"\xff\0\0\0")
    options = number(_U32_LINK, _TABLE) + attribute(_U32_SEL, selector)
    socket.request(_message(from_index, 0, options), attempt)


def redirect_sender(socket: NetlinkSocket, from_index: int, mac: str, to_index: int) -> None:
    """Send what a sender sent out of an interface.

    Args:
        socket: Socket in the namespace of both interfaces.
        from_index: Where it arrives, after ``sort_by_sender``.
        mac: The sender's address, ``02:4e:4c:00:00:0a``, as a LinkPlan gives it.
        to_index: Where it goes.

    Raises:
        KernelError: The kernel refuses.
    """
    address = mac_bytes(mac)
    keys = [
        (b"\xff\xff\xff\xff", address[:4], _MAC_START),
        (b"\xff\xff\0\0", address[4:] + b"\0\0", _MAC_END),
    ]
    handle = _rule_handle(address)
    options = (
        number(_U32_HASH, handle & ~0xFFF)
        + attribute(_U32_ACT, _mirred(to_index))
        + attribute(_U32_SEL, _selector(keys))
    )
    socket.request(_message(from_index, handle & 0xFFF, options), f"redirect what {mac} sends to {to_index}")


def forget_sender(socket: NetlinkSocket, from_index: int, mac: str) -> None:
    """Take away what ``redirect_sender`` made.

    Raises:
        KernelError: There is none (ENOENT), or the kernel refuses.
    """
    handle = _rule_handle(mac_bytes(mac))
    message = _message(from_index, handle, None)
    socket.request(message, f"forget the sender {mac}")


def _rule_handle(address: bytes) -> int:
    """Return the handle of a sender's rule; of one bucket, senders differ in number's high byte and side."""
    return _TABLE | address[4] << 12 | (address[3] << 4 | address[5] & 0xF)


def _selector(
    keys: list[tuple[bytes, bytes, int]],
    flags: int = _TERMINAL,
    hash_offset: int = 0,
    hash_mask: bytes = b"\0\0\0\0",
) -> bytes:
    """Return struct tc_u32_sel; a key is (mask, value, offset)."""
    head = _SELECTOR.pack(flags, 0, len(keys), 0, 0, 0, hash_offset, hash_mask)
    return head + b"".join(_KEY.pack(mask, value, offset, 0) for mask, value, offset in keys)


def _mirred(to_index: int) -> bytes:
    parameters = _MIRRED.pack(0, 0, _ACT_STOLEN, 0, 0, _EGRESS_REDIRECT, to_index)
    action = text(_ACT_KIND, "mirred") + attribute(_ACT_OPTIONS, attribute(_MIRRED_PARMS, parameters))
    return attribute(_FIRST_ACTION, action)


def _message(index: int, handle: int, options: bytes | None) -> bytearray:
    """Return a request to make a filter with these options, or to delete it where there are none."""
    fields = TC_FIELDS.pack(0, index, handle, INGRESS_HANDLE, _INFO)
    if options is None:
        return build_request(_DELTFILTER, 0, fields)
    attributes = text(_TCA_KIND, "u32"), attribute(_TCA_OPTIONS, options)
    return build_request(_NEWTFILTER, CREATE_EXCLUSIVE, fields, *attributes)
