"""one_thread: torch on one thread."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

__all__ = ["one_thread"]


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Have torch compute on one thread while inside.

    For matrices as small as a policy's a second one costs more than it brings, and where the cores are shared it
    waits by spinning. One thread also adds in one order.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
