"""``netlab guest run``: one command in a guest kernel, in real or in virtual time."""

from __future__ import annotations

import math
import os
import shutil
import sys
from typing import TYPE_CHECKING, ClassVar

import click

from netlab.cli.command import NetlabCommand, say, the_request
from netlab.cli.types import DURATION, SIZE
from netlab.engine_request import EngineRequest

if TYPE_CHECKING:
    from netlab.engines import Engine
    from netlab.namespaces.guest.guest_clock import GuestClock
    from netlab.namespaces.guest.installed import GuestKernel

__all__ = ["run"]


class _RunCommand(NetlabCommand):
    """It takes its command into the guest, not itself: ``--virtual-time`` and ``--check`` are read by ``run``."""

    default_engine: ClassVar[str] = "guest"
    engines: ClassVar[tuple[str, ...]] = ("guest",)
    engine_help: ClassVar[str] = "It is what this command is for."

    def choose(self, ctx: click.Context, request: EngineRequest) -> Engine | None:
        """Return nothing but this process; see ``NetlabCommand.choose``."""
        return None


@click.command(cls=_RunCommand, context_settings={"allow_interspersed_args": False})
@click.option("--memory", type=SIZE, default="1GiB", show_default=True, help="Memory of the guest.")
@click.option(
    "--timeout", "timeout_s", type=DURATION, default=None, help="End the guest after this long (status 124)."
)
@click.option("--cpu", type=click.IntRange(min=0), default=None, help="CPU to pin the guest to.")
@click.option(
    "--writable",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="A folder more that the guest may write to.",
)
@click.option("--confine/--no-confine", default=True, help="As root: let the guest write to few places alone.")
@click.option("--virtual-budget", "budget_s", type=DURATION, help="Most virtual time to take.  [default: 24h]")
@click.option(
    "--stall", "stall_s", type=DURATION, help="Longest that virtual time may stand still.  [default: 30s]"
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    memory: int,
    timeout_s: float | None,
    cpu: int | None,
    writable: tuple[str, ...],
    confine: bool,
    budget_s: float | None,
    stall_s: float | None,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND inside the guest kernel: same folder, environment, output, exit status.

    Inside, one is root, with network namespaces and netem; files are this machine's own. The working folder
    and the temporary folders can be written to, the rest (as root) only read.

    \b
    Example:
      netlab guest run -- uname -r
      netlab guest run -- tc qdisc add dev lo root netem delay 10ms
      netlab guest run --virtual-time -- sleep 1h
    """  # noqa: D301
    from netlab.check_run import CheckedRun, RunEnd
    from netlab.guest_limits import GuestLimits
    from netlab.namespaces.guest.launcher import run_in_guest

    _check_options(memory, timeout_s, cpu, writable)
    if not command[0]:
        raise click.BadParameter("a program's name is empty", param_hint="COMMAND")
    program = shutil.which(command[0]) or command[0]
    request = the_request(click.get_current_context())
    kernel, clock = (_virtual if request.virtual_time else _real)(budget_s, stall_s)
    wall_limit_s = GuestLimits.of_environment().wall_s if timeout_s is None else timeout_s

    def once(given: int | None, output: int) -> RunEnd:
        signals: list[int] = []
        status = run_in_guest(
            [program, *command[1:]],
            kernel=kernel,
            clock=clock,
            memory_bytes=memory,
            timeout_s=wall_limit_s,
            cpu=cpu,
            writable=writable,
            confine=confine,
            stdin=given,
            stdout=output,
            signalled=signals.append,
        )
        return RunEnd(status, signals[0] if signals else 0)

    sys.exit(CheckedRun(once, [], say).run(0, 1) if request.check else once(0, 1).status)


def _real(budget_s: float | None, stall_s: float | None) -> tuple[GuestKernel, GuestClock]:
    """Return kernel and clock of a run in real time.

    Raises:
        click.UsageError: A limit that only virtual time has was given.
    """
    from netlab.engine_choice import guest_kernel
    from netlab.namespaces.guest.guest_clock import RealClock

    checked = the_request(click.get_current_context()).check or None
    for option, value in (("--virtual-budget", budget_s), ("--stall", stall_s), ("--check", checked)):
        if value is not None:
            raise click.UsageError(f"{option} is for virtual time alone: add --virtual-time, or leave it out")
    return guest_kernel(say), RealClock()


def _virtual(budget_s: float | None, stall_s: float | None) -> tuple[GuestKernel, GuestClock]:
    """Return kernel and clock of a run in virtual time.

    Raises:
        GuestError: No kernel here has virtual time.
        click.BadParameter: A limit that is not above 0.
        SpecError: The environment names a limit that is none.
    """
    from netlab.engine_choice import virtual_kernel
    from netlab.guest_limits import GuestLimits

    for option, value in (("--virtual-budget", budget_s), ("--stall", stall_s)):
        if value is not None and not 0.0 < value < math.inf:
            raise click.BadParameter(f"{value} s is not above 0", param_hint=option)
    here = GuestLimits.of_environment()
    limits = here._replace(budget_s=budget_s or here.budget_s, stall_s=stall_s or here.stall_s)
    return virtual_kernel(), limits.virtual_clock()


def _check_options(memory: int, timeout_s: float | None, cpu: int | None, writable: tuple[str, ...]) -> None:
    """Refuse what no guest can have.

    Raises:
        click.BadParameter: Names the option, the value and the rule.
    """
    from netlab.namespaces.guest.launcher import MIN_MEMORY_BYTES

    if memory < MIN_MEMORY_BYTES:
        raise click.BadParameter(
            f"{memory} bytes; a guest needs {MIN_MEMORY_BYTES >> 20}MiB or more", param_hint="--memory"
        )
    if timeout_s is not None and timeout_s <= 0.0:
        raise click.BadParameter(f"{timeout_s} s is not above 0", param_hint="--timeout")
    allowed = os.sched_getaffinity(0)
    if cpu is not None and cpu not in allowed:
        raise click.BadParameter(
            f"CPU {cpu} is not one this process may use ({', '.join(map(str, sorted(allowed)))})",
            param_hint="--cpu",
        )
    for path in writable:
        if os.path.realpath(path) == "/":
            raise click.BadParameter("/ is the whole machine: name the folders needed", param_hint="--writable")
