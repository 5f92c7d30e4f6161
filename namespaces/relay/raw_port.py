"""RawPort: a real interface, read and written frame by frame below its host's own network stack.

::

    NIC --every frame that arrives--> AF_PACKET socket --virtio header, VLAN tag beside--> whole frame
    NIC <--------------------------- AF_PACKET socket <----------------------------------- whole frame

What the host itself sends, and what is sent here, is not read back. The kernel keeps two things beside a frame,
which are put back in: a VLAN tag, and a checksum that it left for a network card to finish.
Source: packet(7), ``include/uapi/linux/if_packet.h``, ``virtio_net.h``.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import struct

from netlab.errors import KernelError
from netlab.namespaces.netlink_ack import refusal

__all__ = ["RawPort", "finish_checksum", "open_raw"]

_ETH_P_ALL = 0x0003
_SOL_PACKET = 263
_ADD_MEMBERSHIP, _AUXDATA, _VNET_HEADER, _IGNORE_OUTGOING = 1, 8, 15, 23
_MEMBERSHIP = struct.Struct("=iHH8x")
_PROMISCUOUS = 1
_SO_RCVBUFFORCE = 33
_RECEIVE_BYTES = 1 << 24
_OUTGOING = 4

# flags, kind of super-packet, header length, segment size, where the checksum begins, where it goes
_VIRTIO = struct.Struct("=BBHHHH")
_PLAIN = bytes(_VIRTIO.size)
_NEEDS_CHECKSUM = 1
# status, length, snapped, MAC offset, network offset, tag, kind of tag
_AUXILIARY = struct.Struct("=IIIHHHH")
_HAS_TAG, _HAS_TAG_KIND = 1 << 4, 1 << 6
_TAG_AT = 12
_DEFAULT_TAG_KIND = 0x8100
_KIND_IN_ADDRESS = 2

_HINTS = {
    errno.ENETDOWN: "ip link set {name} up",
    errno.ENODEV: "no interface is called so here: `ip link` lists those that are",
    errno.EINVAL: "only Ethernet interfaces can be listened to: see the kind with `ip -d link show {name}`",
    errno.EAFNOSUPPORT: "it takes a kernel with packet sockets (CONFIG_PACKET): modprobe af_packet",
}


def open_raw(name: str) -> socket.socket:
    """Return a socket that sees every frame that arrives at an interface of the calling thread's namespace.

    The interface is promiscuous as long as the socket is open.

    Raises:
        PrivilegeError: The caller may not have one.
        KernelError: There is no such interface, or it is down.
    """
    try:
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, 0)
    except OSError as error:
        raise _refusal(name, error.errno or 0) from error
    try:
        raw.setsockopt(_SOL_PACKET, _AUXDATA, 1)
        raw.setsockopt(_SOL_PACKET, _VNET_HEADER, 1)
        with contextlib.suppress(OSError):  # Linux 4.20; before it, each one read is looked at
            raw.setsockopt(_SOL_PACKET, _IGNORE_OUTGOING, 1)
        with contextlib.suppress(PermissionError):  # in a user namespace: the usual room must do
            raw.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BYTES)
        index = socket.if_nametoindex(name)
        raw.setsockopt(_SOL_PACKET, _ADD_MEMBERSHIP, _MEMBERSHIP.pack(index, _PROMISCUOUS, 0))
        raw.bind((name, _ETH_P_ALL))
    except OSError as error:
        raw.close()
        raise _refusal(name, error.errno or 0) from error
    return raw


class RawPort:
    """A real interface by its packet socket.

    Args:
        fd: Of the socket that ``open_raw`` made; ours to close.
        frame_bytes: The longest frame of the link.
    """

    def __init__(self, fd: int, frame_bytes: int) -> None:
        self._socket = socket.socket(fileno=fd)
        self._socket.setblocking(False)
        self._read_bytes = frame_bytes + _VIRTIO.size
        self._auxiliary_bytes = socket.CMSG_SPACE(_AUXILIARY.size)

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return self._socket.fileno()

    def read(self) -> bytes:
        """Return the next frame that has arrived, whole; empty for a super-packet, which no wire carries.

        Raises:
            BlockingIOError: None has come.
            OSError: The interface is gone.
        """
        while True:
            try:
                data, ancillary, flags, address = self._socket.recvmsg(self._read_bytes, self._auxiliary_bytes)
            except OSError as error:
                if error.errno == errno.ENETDOWN:  # told once; it may come up again
                    raise BlockingIOError from error
                raise
            if address[_KIND_IN_ADDRESS] != _OUTGOING:
                break
        header_flags, super_kind, _, _, start, offset = _VIRTIO.unpack_from(data)
        if super_kind or flags & socket.MSG_TRUNC:
            return b""
        frame = data[_VIRTIO.size :]
        if header_flags & _NEEDS_CHECKSUM:
            frame = finish_checksum(frame, start, offset)
        for level, kind, value in ancillary:
            if level == _SOL_PACKET and kind == _AUXDATA and len(value) == _AUXILIARY.size:
                frame = _with_tag(frame, value)
        return frame

    def write(self, frame: bytes) -> None:
        """Send a frame.

        Raises:
            OSError: The interface does not take it.
        """
        self._socket.send(_PLAIN + frame)

    def close(self) -> None:
        """Close the socket; the interface is no longer promiscuous on our account."""
        self._socket.close()


def finish_checksum(frame: bytes, start: int, offset: int) -> bytes:
    """Return a frame with the checksum that the kernel has left for a network card.

    Args:
        frame: Whose checksum field holds the sum of the pseudo-header.
        start: Where the summed part begins.
        offset: Where, from there, the checksum goes.
    """
    place = start + offset
    if place + 2 > len(frame):
        return frame
    summed = frame[start:] + bytes((len(frame) - start) & 1)
    # The ones' complement sum of 16-bit words is the remainder by 65535. That is never 65535 itself, so the
    # checksum is never 0, which in UDP would stand for none.
    checksum = 0xFFFF - int.from_bytes(summed, "big") % 0xFFFF
    return frame[:place] + checksum.to_bytes(2, "big") + frame[place + 2 :]


def _refusal(name: str, number: int) -> KernelError:
    """Return the error for a socket that cannot be had, of the class that the kernel's number means."""
    error = refusal(f"listen on {name}", number)
    hint = _HINTS.get(number, error.hint).format(name=name)
    return type(error)(error.attempt, number, error.words, hint)


def _with_tag(frame: bytes, auxiliary: bytes) -> bytes:
    """Return a frame with the VLAN tag that the kernel has taken out of it, if it has."""
    status, _, _, _, _, tag, kind = _AUXILIARY.unpack(auxiliary)
    if not status & _HAS_TAG:
        return frame
    kind = kind if status & _HAS_TAG_KIND else _DEFAULT_TAG_KIND
    return frame[:_TAG_AT] + struct.pack(">HH", kind, tag) + frame[_TAG_AT:]
