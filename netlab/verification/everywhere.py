"""verify_everywhere: one command on every engine and clock there is here, side by side.

::

    netlab verify ... --json --on host | --on relay | --on guest | --virtual-time | --on model
          one after the other, each a process --> VerificationReport | why not --> Everywhere
"""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import Struct

from netlab.namespaces.syscalls import die_with_parent_thread
from netlab.verification.report import VerificationReport
from netlab.verification.report_text import delivered_text, value_text

__all__ = ["Corner", "Everywhere", "comparison_lines", "verify_everywhere"]

CORNERS: dict[str, tuple[str, ...]] = {
    "host": ("--on", "host"),
    "relay": ("--on", "relay"),
    "guest": ("--on", "guest"),
    "guest virtual": ("--virtual-time",),
    "model": ("--on", "model"),
}
_ERROR_WORDS = 400
_END_WITHIN_S = 15.0


class Corner(Struct, frozen=True, kw_only=True):
    """One engine by one clock.

    Attributes:
        name: Its name.
        report: What was found there; None where nothing could be.
        missing: Why not.
    """

    name: str
    report: VerificationReport | None
    missing: str = ""


class Everywhere(Struct, frozen=True, kw_only=True):
    """All corners.

    Attributes:
        corners: Those that were tried, the missing ones too.
    """

    corners: list[Corner]

    @property
    def holds(self) -> bool:
        """Return whether every corner that is there delivers what was asked, and there is one."""
        there = [corner.report for corner in self.corners if corner.report is not None]
        return bool(there) and all(report.holds for report in there)


def verify_everywhere(arguments: Sequence[str], say: Callable[[str], None]) -> Everywhere:
    """Run a command on every engine and clock.

    Args:
        arguments: Of ``netlab``, without what says where to run and how to print.
        say: Told which one runs.
    """
    corners = []
    for name, words in CORNERS.items():
        say(f"on {name}")
        corners.append(_run(name, [*arguments, *words, "--json"]))
    return Everywhere(corners=corners)


def _run(name: str, arguments: Sequence[str]) -> Corner:
    command = [sys.executable, "-P", "-m", "netlab", *arguments]
    running = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=functools.partial(_end_with, os.getpid()),  # noqa: PLW1509 - this process has no threads that hold locks
    )
    try:
        out, said = running.communicate()
    except BaseException:
        running.terminate()  # it takes its lab or its guest along
        try:
            running.communicate(timeout=_END_WITHIN_S)
        except subprocess.TimeoutExpired:
            running.kill()
            running.communicate()
        raise
    try:
        return Corner(name=name, report=msgspec.json.decode(out, type=VerificationReport))
    except msgspec.DecodeError:
        lines = [line for line in said.decode(errors="replace").splitlines() if line.startswith("netlab: ")]
        why = lines[-1].removeprefix("netlab: ") if lines else f"exit status {running.returncode}, and no word"
        return Corner(name=name, report=None, missing=why[:_ERROR_WORDS])


def _end_with(parent: int) -> None:
    """Have a child, this process, asked to end when we are killed: it takes its lab or its guest along."""
    die_with_parent_thread(signal.SIGTERM)
    if os.getppid() != parent:  # it was killed before the kernel was told
        os.kill(os.getpid(), signal.SIGTERM)


def comparison_lines(found: Everywhere) -> Iterator[str]:
    """Yield lines that show what each corner delivered, a column each."""
    there = [(corner.name, corner.report) for corner in found.corners if corner.report is not None]
    for number, direction in enumerate(there[0][1].conformance.directions if there else ()):
        columns = [report.conformance.directions[number] for _, report in there]
        yield f"{direction.direction + ':':16}{'asked':>14}" + "".join(f"{name:>16}" for name, _ in there)
        for row, one in enumerate(direction.statistics):
            cells = (delivered_text(column.statistics[row]) for column in columns)
            yield f"  {one.name:14}{value_text(one, one.asked):>14}" + "".join(f"{cell:>16}" for cell in cells)
        yield ""
    for corner in found.corners:
        if corner.report is None:
            yield f"{corner.name}: not here: {corner.missing}"
            continue
        yield f"{corner.name}: {corner.report.verdict}"
