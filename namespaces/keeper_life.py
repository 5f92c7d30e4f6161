"""Begin and end of a keeper's program, as netlab sees them. Knows no frame and no process but the keeper."""

from __future__ import annotations

import socket
import subprocess

from netlab.namespaces.keeper import keeper_command
from netlab.namespaces.netlink_ack import refusal
from netlab.namespaces.process_output import KeptTail
from netlab.namespaces.syscalls import CLONE_NEWPID, unshare

__all__ = ["start_keeper", "wait_for_end"]

_EXIT_TIMEOUT_S = 10.0


def start_keeper(label: str, far_link: socket.socket, words: KeptTail) -> subprocess.Popen[bytes]:
    """Make a PID namespace for the calling thread's children and start a keeper in it.

    Args:
        label: What messages call the PID space.
        far_link: The keeper's end of the socket; closed here once the keeper has it.
        words: Where its stderr goes.

    Raises:
        PrivilegeError: The caller may not make PID namespaces.
        KernelError: The kernel refuses.
    """
    far_fd = far_link.fileno()
    try:
        unshare(CLONE_NEWPID)
        keeper = subprocess.Popen(
            keeper_command(far_fd),
            pass_fds=[far_fd],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=words.stderr_fd,
        )
    except OSError as error:
        raise refusal(f"start the keeper of {label}", error.errno or 0) from error
    far_link.close()
    words.started()
    return keeper


def wait_for_end(keeper: subprocess.Popen[bytes]) -> int | None:
    """Return the keeper's exit status once all of its namespace is gone; None where the kernel cannot end it."""
    for _ in range(2):
        try:
            return keeper.wait(_EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            keeper.kill()
    return None
