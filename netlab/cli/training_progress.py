"""TrainingBar: how far a training run is: a bar on a terminal, elsewhere a line every few seconds."""

from __future__ import annotations

import contextlib
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from netlab.cli.command import say

if TYPE_CHECKING:
    from netlab.agents.trainer import TrainingProgress

__all__ = ["TrainingBar", "tell"]

PLAIN_S = 5.0


def tell(text: str) -> None:
    """Say something of a run to whoever is still there: that the reader has gone must not cost the run."""
    with contextlib.suppress(OSError, ValueError):
        say(text)


class TrainingBar:
    """Shows a run on stderr.

    Args:
        title: What is trained.
    """

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        console = Console(stderr=True)
        self._title = title
        self._is_plain = not console.is_terminal
        self._shown_s = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            TaskProgressColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            disable=self._is_plain,
        )
        self._task = self._bar.add_task(title, total=None, note="starting")

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError, ValueError):
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError, ValueError):  # of a terminal that has gone
            self._bar.stop()

    def watch(self, progress: TrainingProgress) -> None:
        """Take in how far it is, after each iteration."""
        note = _note(progress)
        self._bar.update(self._task, completed=progress.iteration, total=progress.iterations, note=note)
        now_s = time.monotonic()
        is_last = progress.iteration == progress.iterations
        if self._is_plain and (is_last or now_s - self._shown_s >= PLAIN_S):
            self._shown_s = now_s
            tell(f"{self._title}: {progress.steps} steps ({progress.iteration / progress.iterations:.0%}), {note}")


def _note(progress: TrainingProgress) -> str:
    """Return rate, time left and mean return in words."""
    minutes, seconds = divmod(round(progress.left_s), 60)
    mean = "no episode yet" if progress.mean_return is None else f"mean return {progress.mean_return:.4g}"
    return f"{progress.rate_hz:.0f} steps/s, {minutes}:{seconds:02d} left, {mean}"
