"""LabProgress: one line a cell while an experiment runs: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

from netlab.envs.service import Progress
from netlab.experiment import Cell, Experiment, Share

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

__all__ = ["LabProgress"]


class LabProgress:
    """Shows how far each cell of an experiment is.

    Args:
        experiment: What runs.
    """

    def __init__(self, experiment: Experiment) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bars

        console = Console(stderr=True)
        self._lock = threading.Lock()
        self._experiment = experiment
        self._lab_returns: dict[str, tuple[float, ...]] = {}
        self._bars: Bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._plain = not console.is_terminal
        self._tasks: list[TaskID] = [
            self._bars.add_task(_title(cell), total=experiment.episodes, note="starting")
            for cell in experiment.cells
        ]

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def watch(self, share: Share, progress: Progress) -> None:
        """Take in what one lab says; called from that lab's thread."""
        with self._lock:
            ended = len(progress.returns) > len(self._lab_returns.get(share.label, ()))
            self._lab_returns[share.label] = progress.returns
            returns = [
                value
                for label, values in self._lab_returns.items()
                if label.split(".")[0] == str(share.cell_index)
                for value in values
            ]
            mean = f"mean return {sum(returns) / len(returns):.0f}" if returns else ""
            note = mean or f"tick {progress.ticks}" + ("" if progress.connected else ", no agent")
            self._bars.update(self._tasks[share.cell_index], completed=len(returns), note=note)
            if ended and self._plain:
                total = self._experiment.episodes
                print(f"netlab: {_title(share.cell)}: {len(returns)}/{total}, {mean}", file=sys.stderr)


def _title(cell: Cell) -> str:
    return f"{cell.network}, {cell.policy}"
