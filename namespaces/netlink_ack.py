"""What the kernel answers on netlink: datagrams cut into messages, acknowledgements, refusals by name.

Pure functions on bytes; knows no socket and no request.
Source: netlink(7), ``include/uapi/linux/netlink.h`` (nlmsgerr and its attributes).
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator
from typing import NamedTuple

from netlab.errors import FeatureMissing, KernelError, PrivilegeError

__all__ = [
    "HEADER",
    "NLMSG_DONE",
    "NLMSG_ERROR",
    "NLM_F_CAPPED",
    "Reply",
    "read_ack",
    "refusal",
    "split_replies",
]

NLMSG_ERROR = 2
NLMSG_DONE = 3
NLM_F_CAPPED = 0x100
_NLM_F_ACK_TLVS = 0x200
_NLMSGERR_ATTR_MSG = 1
_ATTRIBUTE_TYPE_MASK = 0x3FFF

HEADER = struct.Struct("=IHHII")
"""struct nlmsghdr: length, type, flags, sequence number, port."""


class Reply(NamedTuple):
    """One message of the kernel's.

    Attributes:
        kind: Message type.
        flags: NLM_F_* of the header.
        sequence: Sequence number of the request it answers.
        message: The whole message, header included.
    """

    kind: int
    flags: int
    sequence: int
    message: bytes


def split_replies(data: bytes) -> Iterator[Reply]:
    """Yield each whole message of a datagram; what is cut short at its end is left out."""
    offset = 0
    while offset + HEADER.size <= len(data):
        length, kind, flags, sequence, _ = HEADER.unpack_from(data, offset)
        if not HEADER.size <= length <= len(data) - offset:
            return
        yield Reply(kind, flags, sequence, data[offset : offset + length])
        offset += (length + 3) & ~3


def read_ack(reply: Reply) -> tuple[int, str]:
    """Return (error number, the kernel's words) of an acknowledgement or an end marker; 0 is success."""
    body = reply.message[HEADER.size :]
    if len(body) < 4:
        return 0, ""
    number = -struct.unpack_from("=i", body)[0]
    if not reply.flags & _NLM_F_ACK_TLVS:
        return number, ""
    offset = 4  # after the end marker of a dump the words follow at once
    if reply.kind == NLMSG_ERROR:
        if len(body) < 4 + HEADER.size:
            return number, ""
        echoed = HEADER.size if reply.flags & NLM_F_CAPPED else struct.unpack_from("=I", body, 4)[0]
        offset += (echoed + 3) & ~3
    while offset + 4 <= len(body):
        length, kind = struct.unpack_from("=HH", body, offset)
        if length < 4:
            break
        if kind & _ATTRIBUTE_TYPE_MASK == _NLMSGERR_ATTR_MSG:
            return number, body[offset + 4 : offset + length].rstrip(b"\0").decode("utf-8", "replace")
        offset += (length + 3) & ~3
    return number, ""


_HINTS = {
    errno.EEXIST: "the name, index or handle is taken: close what holds it or choose another",
    errno.EBUSY: "the index is taken: name both ends' indices, or neither",
    errno.ENODEV: "the interface is gone: was its namespace or its peer closed?",
    errno.EBADF: "the socket or the namespace is closed already",
    errno.ENOBUFS: "the kernel is short of socket memory: send smaller batches",
    errno.EMFILE: "too many open files: raise the limit (ulimit -n)",
}


def refusal(attempt: str, number: int, words: str = "") -> KernelError:
    """Return the error that a refusal by the kernel means, with what to do about it.

    Args:
        attempt: What was tried, in a phrase that follows "cannot".
        number: The kernel's error number.
        words: The kernel's own words; empty where it gave none.
    """
    said = f"{words} ({errno.errorcode.get(number, number)})" if words else ""
    if number in (errno.EPERM, errno.EACCES):
        hint = "run as root, or where user namespaces are allowed, or with --on guest"
        return PrivilegeError(attempt, number, said, hint)
    if number == errno.EOPNOTSUPP or (number == errno.ENOENT and "unknown" in words.lower()):
        hint = "this kernel lacks the module: install the one for the running kernel, or use --on guest"
        return FeatureMissing(attempt, number, said, hint)
    return KernelError(attempt, number, said, _HINTS.get(number, ""))
