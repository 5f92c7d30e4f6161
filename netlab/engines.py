"""The engines: this kernel, a relay on this kernel, a guest kernel; each knows what its labs travel on.

Roof. They are chosen in ``netlab.engine``; beyond it nobody asks which one it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from netlab.clock_name import REAL, VIRTUAL, clock_name
from netlab.machine import ENGINE_VARIABLE, inside_guest

if TYPE_CHECKING:
    from netlab.namespaces.guest.guest_clock import GuestClock
    from netlab.namespaces.guest.installed import GuestKernel
    from netlab.namespaces.wire import Wiring
    from netlab.wire.key import Key

__all__ = ["LAB_KEY_VARIABLE", "Engine", "GuestEngine", "HostEngine", "RelayEngine", "lab_key"]

LAB_KEY_VARIABLE = "NETLAB_LAB_KEY"
"""Names a file, never a key: inside a guest, the file with the key that the host has made for this run's labs."""


class HostEngine:
    """The netem of the kernel we run on: the machine's own, or the guest's once we are inside.

    Args:
        reason: Where labs run, in words that follow "labs run".
        rootless: Whether labs need a user namespace of ours.
    """

    elsewhere: Literal[False] = False

    def __init__(self, reason: str, *, rootless: bool = False) -> None:
        self.reason = reason
        self.name = "guest" if inside_guest() else "host"
        self.clock = clock_name()
        self.rootless = rootless

    @property
    def wiring(self) -> Wiring:
        """What carries the packets of labs."""
        from netlab.namespaces.kernel_wire import KernelWiring

        return KernelWiring()

    def begin(self) -> None:
        """Make this process ready for labs; once, before anything heavy is imported.

        Raises:
            PrivilegeError: They need a user namespace, and the system does not let us have it.
        """
        os.environ.pop(ENGINE_VARIABLE, None)
        _begin(self.rootless)


class RelayEngine:
    """A relay process on the kernel we run on: labs without netem.

    Args:
        reason: Where labs run, in words that follow "labs run".
        rootless: Whether labs need a user namespace of ours.
    """

    elsewhere: Literal[False] = False
    name: ClassVar[str] = "relay"

    def __init__(self, reason: str, *, rootless: bool = False) -> None:
        self.reason = reason
        self.clock = clock_name()
        self.rootless = rootless

    @property
    def wiring(self) -> Wiring:
        """What carries the packets of labs."""
        from netlab.namespaces.relay.wiring import RelayWiring

        return RelayWiring()

    def begin(self) -> None:
        """Make this process ready for labs; its programs learn by what their packets travel.

        Raises:
            PrivilegeError: They need a user namespace, and the system does not let us have it.
        """
        os.environ[ENGINE_VARIABLE] = self.name
        _begin(self.rootless)


class GuestEngine:
    """A guest kernel, in which the same command runs again.

    Args:
        kernel: The kernel.
        reason: Why it.
        clock: What the guest's time is; the machine's unless given.
    """

    elsewhere: Literal[True] = True
    name: ClassVar[str] = "guest"

    def __init__(self, kernel: GuestKernel, reason: str, clock: GuestClock | None = None) -> None:
        self.kernel = kernel
        self.reason = reason
        self.clock = REAL if clock is None else VIRTUAL
        self._guest_clock = clock

    def rerun(self, arguments: Sequence[str], *, stdin: int | None = None, stdout: int = 1) -> int:
        """Run ``netlab ARGUMENTS`` in the guest; return its exit status.

        Args:
            arguments: As they were given to us: inside, ``choose_engine`` sees where it is and stays there.
            stdin: Descriptor its input comes from; None for none.
            stdout: Descriptor its output goes to.

        Raises:
            GuestError: The guest cannot be started, or has died.
        """
        from netlab.namespaces.guest.guest_clock import RealClock
        from netlab.namespaces.guest.launcher import run_in_guest

        # The key is made here: a kernel that has just started has gathered little chance of its own.
        return run_in_guest(
            [sys.executable, "-P", "-m", "netlab", *arguments],
            kernel=self.kernel,
            clock=self._guest_clock or RealClock(),
            stdin=stdin,
            stdout=stdout,
            private_files={LAB_KEY_VARIABLE: lab_key().reveal()},
        )


Engine = HostEngine | RelayEngine | GuestEngine


def lab_key() -> Key:
    """Return the key of this run's labs: the one the launcher of this guest has made, else a new one.

    Raises:
        AuthError: The file that ``NETLAB_LAB_KEY`` names holds no key, or others can read it.
    """
    from netlab.wire.key import Key

    path = os.environ.get(LAB_KEY_VARIABLE)
    return Key.read(path) if path else Key.new()


def _begin(rootless: bool) -> None:
    if rootless:
        from netlab.rootless import begin_rootless

        begin_rootless()
