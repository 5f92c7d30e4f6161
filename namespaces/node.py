"""Node: a namespace with a route socket in it: what a host and the wire of a lab have in common."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

from netlab.namespaces.namespace import Namespace
from netlab.namespaces.rtnetlink import RouteSocket

__all__ = ["Node", "batches"]


class Node:
    """A namespace and the socket to configure it by; closing it removes both and all that is inside.

    Attributes:
        name: What messages call it.
        namespace: The namespace.
        routes: A netlink socket in it.
    """

    def __init__(self, name: str, namespace: Namespace, routes: RouteSocket) -> None:
        self.name = name
        self.namespace = namespace
        self.routes = routes

    @classmethod
    def open(cls, name: str) -> Self:
        """Make a namespace and open a socket in it.

        Raises:
            PrivilegeError: The caller may not make namespaces.
            KernelError: The kernel refuses.
        """
        return cls(name, *Namespace.create_with(name, RouteSocket.open))

    def close(self) -> None:
        """Close both; a socket would keep the namespace alive."""
        self.routes.close()
        self.namespace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextlib.contextmanager
def batches(nodes: Iterable[Node]) -> Iterator[None]:
    """Collect what is asked of each node inside; at the end each gets its own together.

    Raises:
        KernelError: The first refusal; nodes whose turn had not come are asked nothing then.
    """
    with contextlib.ExitStack() as stack:
        for node in {id(node): node for node in nodes}.values():
            stack.enter_context(node.routes.batch())
        yield
