"""Scalars: curves of a training run for TensorBoard; the one door to that library."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from netlab.agents.training_result import TrainingProgress
from netlab.errors import KernelError, SpecError

__all__ = ["Scalars"]


_THREADS = "tensorboard."


class _OwnThreads:
    """Keeps quiet what tensorboard's own threads end with: it is raised again at the next call, and said by us."""

    def __init__(self) -> None:
        self._before = threading.excepthook
        self._ours = self._hear
        threading.excepthook = self._ours

    def _hear(self, end: threading.ExceptHookArgs) -> None:
        if not type(end.thread).__module__.startswith(_THREADS):
            self._before(end)

    def end(self) -> None:
        """Hear all threads again, unless somebody else has begun to."""
        if threading.excepthook is self._ours:
            threading.excepthook = self._before


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
        self._folder = Path(folder)
        self._made = [one for one in (self._folder, *self._folder.parents) if not one.exists()]
        before = self._files()
        self._is_drawn = False
        self._silence = _OwnThreads()
        try:
            self._writer = SummaryWriter(os.fspath(folder), purge_step=first_step or None)
        except OSError as error:
            self._own = self._files() - before
            self._tidy()
            hint = "name a folder you may write to"
            raise SpecError(f"cannot write there: {error.strerror}", folder, "tensorboard", hint) from error
        self._own = self._files() - before

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Add one point to each named curve.

        Raises:
            KernelError: They cannot be written.
        """
        with self._refused():
            for name, value in values.items():
                self._writer.add_scalar(name, value, step)
            self._is_drawn = True

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
        """Write what is left; where there is no point in any curve, leave nothing.

        Raises:
            KernelError: It cannot be written.
        """
        try:
            with self._refused():
                self._writer.close()
        finally:
            self._tidy()

    def _files(self) -> set[Path]:
        return set(self._folder.glob("*tfevents*"))

    def _tidy(self) -> None:
        """Remove files that hold nothing, and the folders that were made for them."""
        self._silence.end()
        with contextlib.suppress(OSError):
            for one in self._own:
                if not self._is_drawn or not one.stat().st_size:
                    one.unlink()
            for folder in self._made:
                folder.rmdir()  # which one that holds anything refuses

    @contextlib.contextmanager
    def _refused(self) -> Iterator[None]:
        """Say in our words that the system has refused."""
        try:
            yield
        except OSError as error:
            hint = "make room there, or name another folder"
            words = error.strerror or str(error)
            raise KernelError(f"write curves into {self._folder}", error.errno or 0, words, hint) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
