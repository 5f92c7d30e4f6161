"""ComputingCommand: a command that computes in this process, on one thread a process.

numpy's OpenBLAS makes a thread a core when it is loaded, and theirs wait by spinning: for matrices as small as a
policy's they bring nothing, and where other programs want the cores they make a product many times slower. What
reads the environment reads it once, so it is set before anything heavy is imported. Commands that start users'
programs are none of these: their environment is the user's.
"""

from __future__ import annotations

import os
from typing import Any

import click

from netlab.cli.command import NetlabCommand

__all__ = ["ComputingCommand"]

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


class ComputingCommand(NetlabCommand):
    """A command that trains, scores or measures."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command on one thread of BLAS and OpenMP, unless the user has said how many."""
        if not any(name in os.environ for name in _THREADS):
            os.environ.update(dict.fromkeys(_THREADS, "1"))
        return super().invoke(ctx)
