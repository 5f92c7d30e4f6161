"""cell_runner: cells computed in processes beside one another; only this one keeps what they find.

::

    computed(cells, n)     this process --cell--> worker 1 .. n, each one cell at a time
                                        <--Done--

Workers are spawned: they inherit neither threads nor open files. One that dies names its cell, and another takes
its place. Ctrl-C is this process's business: workers are told to unwind, and killed if they do not.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from multiprocessing import connection, get_context, resource_tracker
from multiprocessing.connection import Connection
from typing import NamedTuple

from msgspec import Struct

from netlab.errors import NetlabError
from netlab.stop_signals import unwound_by_signals
from netlab.tables.cell import Cell
from netlab.tables.cell_store import CellStore

__all__ = ["Done", "RunCounts", "Watch", "computed", "default_workers", "run_cells"]

_UNWIND_S = 3.0
_NAMED = 5


class Done(NamedTuple):
    """What became of a cell.

    Attributes:
        content: Its result; empty where it failed.
        problem: Why there is none; empty where there is one.
        hint: What to do about that.
    """

    content: bytes
    problem: str = ""
    hint: str = ""


class RunCounts(NamedTuple):
    """How far a run is.

    Attributes:
        wanted: How many cells there are.
        found: How many of them were in the store.
        computed: How many have been computed since.
        seconds: For how long that has taken.
        damaged: Titles of those that were in the store and are no results: they are computed again.
    """

    wanted: int
    found: int
    computed: int
    seconds: float
    damaged: tuple[str, ...] = ()

    @property
    def left_s(self) -> float | None:
        """About how long the rest will take; None while nobody knows."""
        left = self.wanted - self.found - self.computed
        return left * self.seconds / self.computed if self.computed else None


Watch = Callable[[RunCounts, Cell | None], None]
"""Told how far a run is: at once, without a cell, and of each cell that was computed."""


def default_workers() -> int:
    """Return how many processes there are unless told: as many as this one may use processors."""
    return len(os.sched_getaffinity(0))


def run_cells(
    cells: Sequence[Cell],
    store: CellStore,
    workers: int,
    watch: Watch = lambda counts, cell: None,
    kind: type[Struct] | None = None,
) -> RunCounts:
    """Compute the cells that a store does not have, or has damaged, and keep each as soon as it is there.

    Args:
        cells: All that are wanted.
        store: Keeps them.
        workers: How many processes compute.
        watch: Told how far it is: at once, and of each cell that was computed.
        kind: What results are as JSON, by which a damaged one is told; None where nobody knows.

    Raises:
        NetlabError: Cells failed; all others are kept.
    """
    wanted = {cell.key: cell for cell in cells}
    damaged = {key for key in wanted if kind is not None and store.is_damaged(key, kind)}
    missing = [cell for key, cell in wanted.items() if key in damaged or key not in store]
    began_s = time.monotonic()
    titles = tuple(cell.title for cell in missing if cell.key in damaged)
    counts = RunCounts(len(wanted), len(wanted) - len(missing), 0, 0.0, titles)
    watch(counts, None)
    failed: list[tuple[Cell, Done]] = []
    for cell, done in computed(missing, workers):
        if done.problem:
            failed.append((cell, done))
            continue
        store.put(cell.key, cell.title, done.content, replaces=cell.key in damaged)
        counts = counts._replace(computed=counts.computed + 1, seconds=time.monotonic() - began_s)
        watch(counts, cell)
    if failed:
        raise _failure(failed)
    return counts


def _failure(failed: Sequence[tuple[Cell, Done]]) -> NetlabError:
    """Return the error that names the cells."""
    words = [f"{cell.title}: {done.problem}" for cell, done in failed[:_NAMED]]
    if len(failed) > _NAMED:
        words.append(f"and {len(failed) - _NAMED} more")
    return NetlabError("; ".join(words), failed[0][1].hint or "all other cells are kept")


def computed(cells: Sequence[Cell], workers: int) -> Iterator[tuple[Cell, Done]]:
    """Yield each cell and what became of it, in the order in which they end.

    Args:
        cells: What is to be computed.
        workers: How many processes compute.
    """
    waiting = deque(cells)
    working: dict[Connection, _Worker] = {}
    try:
        while waiting or working:
            while waiting and len(working) < workers:
                worker = _Worker(waiting.popleft())
                working[worker.channel] = worker
            for channel in connection.wait(list(working)):
                assert isinstance(channel, Connection)
                worker = working[channel]
                cell, done = worker.cell, worker.take()
                if not worker.is_alive or not waiting:
                    del working[channel]
                    worker.stop()
                else:
                    worker.give(waiting.popleft())
                yield cell, done
    finally:
        _stop(working.values())


class _Worker:
    """A process that computes one cell at a time.

    Args:
        cell: The first.
    """

    def __init__(self, cell: Cell) -> None:
        context = get_context("spawn")
        self.channel, theirs = context.Pipe()
        self.is_alive = True
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        with _interrupts_wait():
            self.process.start()
        theirs.close()  # or its end would never be seen
        self.give(cell)

    def give(self, cell: Cell) -> None:
        """Let it compute a cell."""
        self.cell = cell
        with contextlib.suppress(OSError):  # it has died: take() finds nothing there, and says so
            self.channel.send(cell)

    def take(self) -> Done:
        """Return what became of its cell."""
        try:
            content, problem, hint = self.channel.recv()
        except (EOFError, OSError):
            self.is_alive = False
            self.process.join(_UNWIND_S)
            return Done(b"", f"its process died ({_end_words(self.process.exitcode)})", "is there memory enough?")
        return Done(content, problem, hint)

    def stop(self) -> None:
        """Let it end: an idle one sees that nobody is there."""
        self.channel.close()

    def end(self) -> None:
        """Have it unwind, whatever it does."""
        self.stop()
        if self.process.is_alive():
            self.process.terminate()


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Put Ctrl-C off while inside: a process that begins would show where it was, and it is ours to stop."""
    resource_tracker.ensure_running()  # its own start would let Ctrl-C through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_words(status: int | None) -> str:
    if status is not None and status < 0:
        return f"by {signal.Signals(-status).name}"
    return f"exit code {status}"


def _stop(workers: Collection[_Worker]) -> None:
    """End all of them, those that do not unwind by force."""
    for worker in workers:
        worker.end()
    until_s = time.monotonic() + _UNWIND_S
    for worker in workers:
        worker.process.join(max(0.0, until_s - time.monotonic()))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def _work(channel: Connection) -> None:
    """Compute cells until nobody gives any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all of a terminal: the parent decides
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # what a cell starts is not to have it put off
    try:
        with unwound_by_signals():
            while True:
                cell: Cell = channel.recv()
                channel.send(tuple(_compute(cell)))
    except (EOFError, OSError, KeyboardInterrupt):  # the parent has gone, or wants us to
        sys.exit(0)


def _compute(cell: Cell) -> Done:
    try:
        return Done(cell.compute())
    except NetlabError as error:
        return Done(b"", error.message or type(error).__name__, error.hint)
    except MemoryError as error:
        return Done(b"", f"not memory enough{f': {error}' if str(error) else ''}", "fewer at once: --jobs")
    except Exception as error:  # whatever it is, it is this cell's
        traceback.print_exc()
        return Done(b"", f"{type(error).__name__}: {error}")
