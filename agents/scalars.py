"""Scalars: curves of a training run for TensorBoard; the one door to that library."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

import msgspec

from netlab.agents.training_result import TrainingProgress
from netlab.errors import KernelError, SpecError

__all__ = ["Scalars"]


class Scalars:
    """Writes event files into a folder: ``tensorboard --logdir FOLDER`` shows them.

    Args:
        folder: Made where it is not there.
        first_step: Where a run is resumed: what was drawn from there on is drawn again.

    Raises:
        SpecError: The folder cannot be written to, or tensorboard is not installed.
    """

    def __init__(self, folder: str | os.PathLike[str], first_step: int = 0) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            hint = "pip install tensorboard, or no folder for curves"
            raise SpecError(f"tensorboard cannot be loaded: {error}", key="tensorboard", hint=hint) from error
        self._folder = os.fspath(folder)
        try:
            self._writer = SummaryWriter(os.fspath(folder), purge_step=first_step or None)
        except OSError as error:
            hint = "name a folder you may write to"
            raise SpecError(f"cannot write there: {error.strerror}", folder, "tensorboard", hint) from error

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Add one point to each named curve.

        Raises:
            KernelError: They cannot be written.
        """
        with self._refused():
            for name, value in values.items():
                self._writer.add_scalar(name, value, step)

    def draw(self, progress: TrainingProgress) -> None:
        """Add a point to each curve of a training run.

        Raises:
            KernelError: They cannot be written.
        """
        values = {f"update/{name}": value for name, value in msgspec.structs.asdict(progress.metrics).items()}
        values |= {"run/steps_per_s": progress.rate_hz, "run/episodes": progress.episodes}
        if progress.mean_return is not None:
            values["run/mean_return"] = progress.mean_return
        self.add(progress.steps, values)

    def close(self) -> None:
        """Write what is left.

        Raises:
            KernelError: It cannot be written.
        """
        with self._refused():
            self._writer.close()

    @contextlib.contextmanager
    def _refused(self) -> Iterator[None]:
        """Say in our words that the system has refused."""
        try:
            yield
        except OSError as error:
            hint = "make room there, or name another folder"
            raise KernelError(f"write curves into {self._folder}", error.errno or 0, str(error), hint) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
