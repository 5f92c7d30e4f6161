"""The name of an open lab: held by a socket, so that it is given back however the lab ends.

The kernel keeps such names by network namespace: a container that has its own may use the name as well.
"""

from __future__ import annotations

import errno
import socket

from netlab.errors import KernelError, SpecError
from netlab.namespaces.unix_peer import unix_peer
from netlab.namespaces.user_namespace import outer_user

__all__ = ["take_lab_name"]


def take_lab_name(name: str) -> socket.socket:
    """Take a lab's name; closing the socket, or the end of the process, gives it back.

    The socket is bound to a name of the kernel's abstract kind: no file, nothing to clean up. Users do not
    get in each other's way.

    Raises:
        SpecError: An open lab of this user has the name in this network namespace.
        KernelError: The kernel refuses for another reason.
    """
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    address = f"\0netlab/{outer_user()}/{name}"  # in a user namespace everybody is root
    try:
        holder.bind(address)
        holder.listen(1)
    except OSError as error:
        holder.close()
        if error.errno != errno.EADDRINUSE:
            raise KernelError(f"take the lab's name {name!r}", error.errno or 0) from error
        problem = f"a lab of the name {name!r} is open already{_who_holds(address)}"
        raise SpecError(problem, key="name", hint="close that lab, or give this one another name") from error
    return holder


def _who_holds(address: str) -> str:
    """Tell which process holds a name, as far as the kernel tells."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as question:
        question.setblocking(False)
        try:
            question.connect(address)
            pid = unix_peer(question).pid
        except OSError:
            return ""
    return f" in process {pid}" if pid else ""
