"""Cutting datagrams, reading acknowledgements, naming refusals: with and without the kernel's words."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.errors import FeatureMissing, KernelError, PrivilegeError
from netlab.namespaces.netlink_ack import (
    NLM_F_CAPPED,
    NLMSG_DONE,
    NLMSG_ERROR,
    read_ack,
    refusal,
    split_replies,
)

TLVS = 0x200
REQUEST = struct.pack("=IHHII", 36, 36, 5, 77, 0) + bytes(20)


def message(kind: int, flags: int, body: bytes, sequence: int = 77) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, flags, sequence, 1) + body


def words(text: str) -> bytes:
    raw = text.encode() + b"\0"
    return struct.pack("=HH", 4 + len(raw), 1) + raw + bytes(-len(raw) % 4)


def only(data: bytes) -> tuple[int, str]:
    (reply,) = split_replies(data)
    return read_ack(reply)


def test_success() -> None:
    assert only(message(NLMSG_ERROR, NLM_F_CAPPED, bytes(4) + REQUEST[:16])) == (0, "")


def test_refusal_with_words_after_a_capped_and_after_a_whole_echo() -> None:
    body = struct.pack("=i", -22)
    offset_first = struct.pack("=HHI", 8, 2, 36)
    capped = message(NLMSG_ERROR, TLVS | NLM_F_CAPPED, body + REQUEST[:16] + offset_first + words("bad slot"))
    whole = message(NLMSG_ERROR, TLVS, body + REQUEST + words("bad slot"))
    assert only(capped) == only(whole) == (22, "bad slot")


def test_refusal_without_words() -> None:
    assert only(message(NLMSG_ERROR, 0, struct.pack("=i", -1) + REQUEST)) == (1, "")


def test_the_end_of_a_refused_dump() -> None:
    assert only(message(NLMSG_DONE, TLVS, struct.pack("=i", -95) + words("no"))) == (95, "no")
    assert only(message(NLMSG_DONE, 0, b"")) == (0, "")


def test_several_messages_and_a_cut_one() -> None:
    data = message(36, 2, b"abcde") + bytes(3) + message(36, 2, b"xy", sequence=78) + bytes(2)
    replies = list(split_replies(data + message(3, 0, bytes(4))[:-1]))
    assert [(reply.kind, reply.sequence, reply.message[16:]) for reply in replies] == [
        (36, 77, b"abcde"),
        (36, 78, b"xy"),
    ]


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    for reply in split_replies(data):
        number, said = read_ack(reply)
        assert isinstance(number, int)
        assert isinstance(said, str)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=60), st.sampled_from([0, TLVS, TLVS | NLM_F_CAPPED]), st.sampled_from([2, 3]))
def test_no_acknowledgement_breaks_the_reader(body: bytes, flags: int, kind: int) -> None:
    number, said = only(message(kind, flags, body))
    assert isinstance(number, int)
    assert isinstance(said, str)


@pytest.mark.parametrize(
    ("number", "said", "kind", "hint"),
    [
        (errno.EPERM, "", PrivilegeError, "root"),
        (errno.EACCES, "", PrivilegeError, "root"),
        (errno.EOPNOTSUPP, "Unknown device type", FeatureMissing, "module"),
        (errno.ENOENT, "Specified qdisc kind is unknown", FeatureMissing, "--on guest"),
        (errno.ENOENT, "", KernelError, ""),
        (errno.EEXIST, "", KernelError, "taken"),
        (errno.EINVAL, "negative latency", KernelError, ""),
    ],
)
def test_a_refusal_says_what_why_and_what_to_do(
    number: int, said: str, kind: type[KernelError], hint: str
) -> None:
    error = refusal("do it", number, said)
    assert type(error) is kind
    assert str(error).startswith("cannot do it: ")
    assert (said or errno.errorcode[number] or "") in str(error) or error.errno == number
    assert hint in error.hint
