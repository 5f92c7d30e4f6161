"""The engines: this kernel, a relay on this kernel, a guest kernel; each knows what its labs travel on.

Roof. They are chosen in ``netlab.engine_choice``; beyond it nobody asks which one it is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from netlab.lab_key import LAB_KEY_VARIABLE, lab_key
from netlab.machine import engine_name

if TYPE_CHECKING:
    from netlab.check_run import RunEnd
    from netlab.namespaces.guest.guest_clock import GuestClock
    from netlab.namespaces.guest.installed import GuestKernel
    from netlab.namespaces.wire import Wiring

__all__ = ["Engine", "GuestEngine", "HostEngine", "LabEngine", "RelayEngine"]


class _EngineHere:
    """What the engines of the kernel we run on have in common.

    Args:
        reason: Where labs run, in words that follow "labs run".
        rootless: Whether labs need a user namespace of ours.
    """

    elsewhere: Literal[False] = False

    def __init__(self, reason: str, *, rootless: bool = False) -> None:
        self.reason = reason
        self.rootless = rootless

    def begin(self) -> None:
        """Make this process ready for labs; once, before anything heavy is imported.

        Raises:
            PrivilegeError: They need a user namespace, and the system does not let us have it.
        """
        if self.rootless:
            from netlab.rootless import begin_rootless

            begin_rootless()


class HostEngine(_EngineHere):
    """The netem of the kernel we run on: the machine's own, or the guest's once we are inside."""

    @property
    def name(self) -> str:
        """What results call it."""
        return engine_name("host")

    @property
    def wiring(self) -> Wiring:
        """What carries the packets of labs."""
        from netlab.namespaces.kernel_wire import KernelWiring

        return KernelWiring()


class RelayEngine(_EngineHere):
    """A relay process on the kernel we run on: labs without netem."""

    name: ClassVar[str] = "relay"

    @property
    def wiring(self) -> Wiring:
        """What carries the packets of labs."""
        from netlab.namespaces.relay.wiring import RelayWiring

        return RelayWiring()


class GuestEngine:
    """A guest kernel, in which the same command runs again.

    Args:
        kernel: The kernel.
        reason: Why it.
        clock: What the guest's time is; the machine's unless given.
        wall_limit_s: End the guest after so many seconds outside; None for never.
    """

    elsewhere: Literal[True] = True
    name: ClassVar[str] = "guest"

    def __init__(
        self, kernel: GuestKernel, reason: str, clock: GuestClock | None = None, wall_limit_s: float | None = None
    ) -> None:
        self.kernel = kernel
        self.reason = reason
        self._clock = clock
        self._wall_limit_s = wall_limit_s

    def rerun(self, arguments: Sequence[str], *, stdin: int | None = None, stdout: int = 1) -> RunEnd:
        """Run ``netlab ARGUMENTS`` in the guest; return how it ended.

        Args:
            arguments: As they were given to us: inside, the choice of an engine sees where it is and stays there.
            stdin: Descriptor its input comes from; None for none.
            stdout: Descriptor its output goes to.

        Raises:
            GuestError: The guest cannot be started, or has died.
        """
        from netlab.check_run import RunEnd
        from netlab.namespaces.guest.guest_clock import RealClock
        from netlab.namespaces.guest.launcher import run_in_guest

        signals: list[int] = []
        status = run_in_guest(
            [sys.executable, "-P", "-m", "netlab", *arguments],
            kernel=self.kernel,
            clock=self._clock or RealClock(),
            timeout_s=self._wall_limit_s,
            stdin=stdin,
            stdout=stdout,
            # Made here: a kernel that has just started has gathered little chance of its own.
            private_files={LAB_KEY_VARIABLE: lab_key().reveal()},
            signalled=signals.append,
        )
        return RunEnd(status, signals[0] if signals else 0)


LabEngine = HostEngine | RelayEngine
"""What labs of this process run on."""
Engine = LabEngine | GuestEngine
