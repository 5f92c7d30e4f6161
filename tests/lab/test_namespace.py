from __future__ import annotations

import fcntl
import os
import socket
import threading
from pathlib import Path

import pytest

from netlab.errors import KernelError
from netlab.namespaces.namespace import Namespace


def _current_inode() -> int:
    return os.stat("/proc/thread-self/ns/net").st_ino


def test_main_thread_stays_outside() -> None:
    before = _current_inode()
    with Namespace.create("inside") as namespace:
        inside = namespace.call(_current_inode)
        assert inside == namespace.inode
        assert inside != before
        assert _current_inode() == before


def test_loopback_is_up_and_the_only_interface() -> None:
    def talk() -> tuple[bytes, list[str]]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.settimeout(30)
            one.bind(("127.0.0.1", 0))
            one.sendto(b"self", one.getsockname())
            return one.recv(16), [name for _, name in socket.if_nameindex()]

    with Namespace.create() as namespace:
        assert namespace.call(talk) == (b"self", ["lo"])


def test_ipv6_is_off() -> None:
    def read() -> list[str]:
        return [Path(f"/proc/sys/net/ipv6/conf/{of}/disable_ipv6").read_text() for of in ("all", "default", "lo")]

    if not Path("/proc/sys/net/ipv6").exists():
        pytest.skip("this kernel has no IPv6")
    with Namespace.create() as namespace:
        assert namespace.call(read) == ["1\n"] * 3


def test_descriptor_is_closed_on_exec_and_close_is_final() -> None:
    namespace = Namespace.create("brief")
    assert fcntl.fcntl(namespace.fd, fcntl.F_GETFD) & fcntl.FD_CLOEXEC
    namespace.close()
    namespace.close()
    with pytest.raises(KernelError, match="namespace of brief: it is closed"):
        _ = namespace.fd
    with pytest.raises(KernelError):
        namespace.call(lambda: None)


def test_errors_come_back_from_inside() -> None:
    with Namespace.create() as namespace, pytest.raises(ZeroDivisionError):
        namespace.call(lambda: 1 // 0)


def test_a_failing_function_leaves_no_descriptor() -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(ZeroDivisionError):
        Namespace.create_with("failing", lambda: 1 // 0)
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_calls_from_many_threads_at_once() -> None:
    with Namespace.create() as first, Namespace.create() as second:
        seen: list[tuple[int, int]] = []

        def work(namespace: Namespace) -> None:
            seen.extend((namespace.inode, namespace.call(_current_inode)) for _ in range(20))

        threads = [threading.Thread(target=work, args=(one,)) for one in (first, second, first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(seen) == 80
        assert all(asked == got for asked, got in seen)
