"""Scalars: curves of a training run for TensorBoard; the one door to that library."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from netlab.errors import SpecError

__all__ = ["Scalars"]


class Scalars:
    """Writes event files into a folder: ``tensorboard --logdir FOLDER`` shows them.

    Args:
        folder: Made where it is not there.

    Raises:
        SpecError: The folder cannot be written to, or tensorboard is not installed.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            hint = "pip install tensorboard, or no folder for curves"
            raise SpecError(f"tensorboard cannot be loaded: {error}", key="tensorboard", hint=hint) from error
        try:
            self._writer = SummaryWriter(os.fspath(folder))
        except OSError as error:
            hint = "name a folder you may write to"
            raise SpecError(f"cannot write there: {error.strerror}", folder, "tensorboard", hint) from error

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Add one point to each named curve."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
