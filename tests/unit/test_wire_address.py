"""Addresses, and the rule that a key is needed off loopback."""

from __future__ import annotations

import socket

import pytest

from netlab.errors import AuthError, ConnectionLost, SpecError
from netlab.wire.address import Address, Endpoint, choose_key
from netlab.wire.key import OPEN_KEY, Key


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:7447", Address("127.0.0.1", 7447)),
        ("robot.local:0", Address("robot.local", 0)),
        ("[::1]:65535", Address("::1", 65535)),
        ("0.0.0.0:1", Address("0.0.0.0", 1)),
    ],
)
def test_parse_and_print(text: str, address: Address) -> None:
    assert Address.parse(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        ":7447",
        "host:",
        "host:x",
        "host:-1",
        "host:65536",
        "host:9999999999",
        "::1:7447",
        "[]:1",
        "h:٣",
    ],
)
def test_nonsense_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        Address.parse(text)
    assert "127.0.0.1:7447" in caught.value.hint


def endpoint(host: str) -> Endpoint:
    if ":" in host:
        return Endpoint(socket.AF_INET6, (host, 1, 0, 0))
    return Endpoint(socket.AF_INET, (host, 1))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1"])
def test_loopback_needs_no_key(host: str) -> None:
    assert choose_key(None, Address(host, 1), [endpoint(host)], "listen on") is OPEN_KEY
    assert choose_key(OPEN_KEY, Address(host, 1), [endpoint(host)], "listen on") is OPEN_KEY


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "192.168.1.2", "fe80::1%lo", "8.8.8.8"])
@pytest.mark.parametrize("key", [None, OPEN_KEY])
def test_elsewhere_needs_a_real_key(host: str, key: Key | None) -> None:
    with pytest.raises(AuthError, match="refuse to dial") as caught:
        choose_key(key, Address(host, 1), [endpoint(host)], "dial")
    assert "netlab key new" in caught.value.hint
    real = Key.new()
    assert choose_key(real, Address(host, 1), [endpoint(host)], "dial") is real


def test_one_address_off_loopback_is_enough_to_need_a_key() -> None:
    both = [endpoint("127.0.0.1"), endpoint("10.0.0.1")]
    with pytest.raises(AuthError):
        choose_key(None, Address("host", 1), both, "dial")


def test_resolving_gives_every_address_once(monkeypatch: pytest.MonkeyPatch) -> None:
    six = (socket.AF_INET6, socket.SOCK_DGRAM, 17, "", ("::1", 7, 0, 0))
    four = (socket.AF_INET, socket.SOCK_DGRAM, 17, "", ("127.0.0.1", 7))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: [six, four, six])
    found = Address("localhost", 7).resolve(socket.SOCK_DGRAM)
    assert [one.numeric[0] for one in found] == ["::1", "127.0.0.1"]


def test_resolving_numeric_addresses() -> None:
    assert Address("127.0.0.1", 7).resolve(socket.SOCK_DGRAM) == ((socket.AF_INET, ("127.0.0.1", 7)),)
    with pytest.raises(SpecError):
        Address("a" * 300 + ".example", 7).resolve(socket.SOCK_DGRAM)


def test_name_without_address_may_be_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(ConnectionLost, match="no address"):
        Address("robot", 7).resolve(socket.SOCK_DGRAM)
