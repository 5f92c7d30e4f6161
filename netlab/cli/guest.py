"""``netlab guest``: a Linux kernel of our own, run as an ordinary process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import click

from netlab.cli.command import NetlabCommand, echo_json, say
from netlab.cli.guest_run import run

if TYPE_CHECKING:
    from netlab.errors import GuestError

__all__ = ["guest"]


class CacheCommand(NetlabCommand):
    """What it does to this machine's cache it can do on this machine alone."""

    engines: ClassVar[tuple[str, ...]] = ("host",)
    engine_help: ClassVar[str] = "The cache is this machine's."


@click.group()
def guest() -> None:
    """Fetch, build, list and use guest kernels."""


guest.add_command(run)


@guest.command(cls=CacheCommand)
@click.option(
    "--if-possible",
    is_flag=True,
    help="Where no guest can be had, go on without one if labs can run on this kernel.",
)
@click.option("--again", is_flag=True, help="Fetch even if a guest kernel is there already.")
def fetch(if_possible: bool, again: bool) -> None:
    """Fetch a ready-made guest kernel from Debian's archive, signature checked.

    Nothing is installed and no source is added to the system: the kernel goes into the user's cache.

    \b
    Example:
      netlab guest fetch
    """  # noqa: D301
    from netlab.errors import GuestError
    from netlab.machine import inside_guest
    from netlab.namespaces.guest.fetch import fetch_guest_kernel
    from netlab.namespaces.guest.installed import guest_cache, ready_made_kernel

    if if_possible and inside_guest():
        say("already inside a guest, no other is needed")
        return
    there = ready_made_kernel()
    if there is not None and not again:
        say(f"guest kernel {there.release} is there already")
        return
    try:
        kernel = fetch_guest_kernel(guest_cache(), say)
    except GuestError as error:
        if not if_possible:
            raise
        _go_on_without(error)
        return
    say(f"guest kernel {kernel.release} is ready (sha256 {kernel.sha256[:16]}...)")


def _go_on_without(no_guest: GuestError) -> None:
    """Tell that there is no guest, where labs can do without.

    Raises:
        FeatureMissing: This kernel has no netem either.
    """
    from netlab.engine_choice import no_kernel
    from netlab.errors import PrivilegeError
    from netlab.host_survey import host_problem

    problem = host_problem()
    # For want of rights nobody can tell what this kernel has; what needs none can go on.
    if problem is not None and not isinstance(problem, PrivilegeError):
        raise no_kernel(problem, no_guest) from no_guest
    there = "this kernel has netem" if problem is None else f"{problem} ({problem.hint})"
    say(f"going on without a guest kernel: {no_guest}; {there}")


@guest.command(cls=CacheCommand)
@click.option(
    "--source",
    "source_path",
    type=click.Path(exists=True, path_type=Path),
    help="A Linux tree or tarball, 6.13 or newer.  [default: Debian's archive]",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1, max=1024),
    default=None,
    help="Compilers at a time.  [default: as many as CPUs]",
)
@click.option(
    "--if-possible",
    is_flag=True,
    help="Where compiler, network, room or Debian's archive are lacking, say so and go on; a failed build fails.",
)
@click.option("--again", is_flag=True, help="Build even if that kernel is there already.")
def build(source_path: Path | None, jobs: int | None, if_possible: bool, again: bool) -> None:
    """Build a guest kernel with time travel, for --virtual-time.

    From the kernel source in Debian's archive, signature checked, or one that is named. It takes a compiler, flex,
    bison, bc, 1.3 GB of room for the time being and 5 minutes on two quiet cores, more on busy ones; nothing is
    installed, no rights are needed, and the source is removed afterwards. The kernel goes into the user's cache.

    \b
    Example:
      netlab guest build
      netlab guest build --source ~/linux-7.2.tar.xz
    """  # noqa: D301
    from netlab.cli.progress_line import ProgressLine
    from netlab.errors import FeatureMissing, GuestUnavailable
    from netlab.machine import inside_guest
    from netlab.namespaces.guest.build import build_guest_kernel, current_build
    from netlab.namespaces.guest.installed import guest_cache
    from netlab.namespaces.guest.kernel_source import named_source

    if if_possible and inside_guest():
        say("inside a guest, no kernel is built here")
        return
    there = current_build(guest_cache()) if source_path is None and not again else None
    if there is not None:
        say(f"guest kernel {there.release} with time travel is there already")
        return
    source = None if source_path is None else named_source(source_path)
    try:
        with ProgressLine() as progress:
            kernel = build_guest_kernel(guest_cache(), progress, source=source, jobs=jobs or 0, again=again)
    except (GuestUnavailable, FeatureMissing) as error:
        if not if_possible:
            raise
        hint = f" ({error.hint})" if error.hint else ""
        say(f"going on without virtual time: {error}{hint}")
        return
    say(f"guest kernel {kernel.release} is ready (sha256 {kernel.sha256[:16]}...)")


@guest.command("list", cls=NetlabCommand)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_(as_json: bool) -> None:
    """List the guest kernels in the cache.

    \b
    Example:
      netlab guest list
    """  # noqa: D301
    from netlab.namespaces.guest.installed import guest_cache, list_guest_kernels

    kernels = list_guest_kernels(guest_cache())
    if as_json:
        echo_json(
            [
                {
                    "release": kernel.release,
                    "sha256": kernel.sha256,
                    "path": str(kernel.path),
                    "time_travel": kernel.time_travel,
                    "problem": kernel.problem,
                }
                for kernel in kernels
            ]
        )
        return
    if not kernels:
        click.echo("no guest kernel yet: netlab guest fetch", err=True)
    for kernel in kernels:
        clock = "real and virtual time" if kernel.time_travel else "real time"
        click.echo(
            f"{kernel.release}  sha256:{kernel.sha256[:16]}  {clock}  {kernel.path}  {kernel.problem}".rstrip()
        )
