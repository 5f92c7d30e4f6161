"""CheckedRun: one command run twice in virtual time and compared: what ``--check`` does.

Roof. Knows how to compare what a run leaves, not how it is run.

::

    run 1 --> status, stdout, result files --set aside--.
    run 2 --> status, stdout, result files ------------ compare --> identical: N bytes ...
                                                           `------> the first divergence: file, line, both versions
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, NamedTuple

from netlab.errors import SpecError
from netlab.run_folder import run_folder

__all__ = ["CheckedRun", "Divergence", "RunEnd", "first_divergence"]

MAX_LINE_BYTES = 1 << 16
MAX_INPUT_BYTES = 1 << 30
_SHOWN_CHARACTERS = 200
_DIVERGED = 1
_KILLED = 128


class RunEnd(NamedTuple):
    """How one run ended.

    Attributes:
        status: The command's exit status.
        signal: The signal by which we were asked to end meanwhile; 0 for none. A command may well end with the
            status of a signal that nobody has sent us.
    """

    status: int
    signal: int = 0

    @property
    def interrupted_status(self) -> int:
        """What to end with after an interrupt, of which the command may have made nothing."""
        return self.status or _KILLED + self.signal


class Divergence(NamedTuple):
    """Where two runs part.

    Attributes:
        where: Which file, or ``stdout``.
        line: Counted from 1; 0 where no line is to blame.
        first: What the first run has there.
        second: What the second run has there.
    """

    where: str
    line: int
    first: str
    second: str

    def __str__(self) -> str:
        place = f"{self.where}, line {self.line}" if self.line else self.where
        return f"the two runs differ first in {place}\n  first:  {self.first}\n  second: {self.second}"


class CheckedRun:
    """A command that is run twice.

    Args:
        run: Runs it, given descriptors for its input (None for none) and its output; returns how it ended.
        files: Files or folders that it was asked to write.
        say: Told what came of it.
    """

    def __init__(
        self, run: Callable[[int | None, int], RunEnd], files: Sequence[Path], say: Callable[[str], None]
    ) -> None:
        self._run = run
        self._files = tuple(files)
        self._say = say

    def run(self, stdin: int | None, stdout: int) -> int:
        """Run twice and compare.

        Args:
            stdin: Read whole first, so that both runs have the same; None for no input.
            stdout: Where the first run's output goes, once both are done or one was interrupted.

        Returns:
            The command's exit status; 1 where the runs differ.

        Raises:
            SpecError: The input is too long to be given twice.
        """
        with ExitStack() as stack:
            aside = stack.enter_context(run_folder("check", Path(tempfile.gettempdir())))
            given = None if stdin is None else _spool(stdin, aside / "stdin")
            outputs = [stack.enter_context((aside / name).open("w+b")) for name in ("first", "second")]
            try:
                status, text = self._run_twice(given, outputs, aside)
            finally:  # whatever came between: what the first run printed, its caller sees
                _copy_out(outputs[0], stdout)
            self._say(text)
            return status

    def _run_twice(self, given: Path | None, outputs: Sequence[BinaryIO], aside: Path) -> tuple[int, str]:
        """Run both, where nobody interrupts; return what to end with, and what to say of it."""
        self._keep(aside / "before")
        first = self._run_once(given, outputs[0])
        if first.signal:
            return first.interrupted_status, "interrupted in the first of two runs: nothing is compared"
        self._keep(aside / "after")
        self._put_back(aside / "before")
        second = self._run_once(given, outputs[1])
        if second.signal:
            self._put_back(aside / "after")
            text = "interrupted in the second of two runs: nothing is compared; what is left is the first"
            return second.interrupted_status, text
        divergence = self._compare((first.status, second.status), outputs, aside / "after")
        if divergence is not None:
            return _DIVERGED, str(divergence)
        return first.status, self._identical_text(first.status, outputs[0])

    def _run_once(self, given: Path | None, output: BinaryIO) -> RunEnd:
        if given is None:
            return self._run(None, output.fileno())
        with given.open("rb") as source:
            return self._run(source.fileno(), output.fileno())

    def _compare(self, statuses: tuple[int, int], outputs: Sequence[BinaryIO], kept: Path) -> Divergence | None:
        for output in outputs:
            output.seek(0)
        found = first_divergence("stdout", outputs[0], outputs[1])
        for number, path in enumerate(self._files):
            found = found or _compare_trees(path, kept / str(number), path)
        if found is None and statuses[0] != statuses[1]:
            found = Divergence("exit status", 0, str(statuses[0]), str(statuses[1]))
        return found

    def _keep(self, folder: Path) -> None:
        """Copy the result files, as far as they are there."""
        folder.mkdir()
        for number, path in enumerate(self._files):
            if path.is_dir():
                shutil.copytree(path, folder / str(number))
            elif path.exists():
                shutil.copyfile(path, folder / str(number))

    def _put_back(self, folder: Path) -> None:
        """Leave the second run what the first one found."""
        for number, path in enumerate(self._files):
            kept = folder / str(number)
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            if kept.is_dir():
                shutil.copytree(kept, path)
            elif kept.exists():
                shutil.copyfile(kept, path)

    def _identical_text(self, status: int, output: BinaryIO) -> str:
        sizes = [f"{os.fstat(output.fileno()).st_size} bytes of stdout"]
        for path in self._files:
            there = sum(file.stat().st_size for _, file in _files_of(path))
            sizes.append(f"{there} bytes of {path}" if path.exists() else f"no {path}")
        return f"identical: {', '.join(sizes)}, exit status {status}"


def first_divergence(where: str, first: BinaryIO, second: BinaryIO) -> Divergence | None:
    """Return the first line in which two files differ; None where they are the same.

    Args:
        where: What the report calls them.
        first: One, at its beginning.
        second: The other.
    """
    line = 0
    while True:
        # Very long lines are compared in pieces, each of which counts as one.
        one, other = first.readline(MAX_LINE_BYTES), second.readline(MAX_LINE_BYTES)
        line += 1
        if one != other:
            at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
            return Divergence(where, line, _shown(one, at), _shown(other, at))
        if not one:
            return None


def _compare_trees(path: Path, first: Path, second: Path) -> Divergence | None:
    """Compare two files, or two folders file by file."""
    ours, theirs = dict(_files_of(first)), dict(_files_of(second))
    for name in sorted(ours.keys() | theirs.keys()):
        where = str(path / name) if name else str(path)
        if name not in ours or name not in theirs:
            there = ("written" if name in files else "not written" for files in (ours, theirs))
            return Divergence(where, 0, *there)
        with ours[name].open("rb") as one, theirs[name].open("rb") as other:
            found = first_divergence(where, one, other)
        if found is not None:
            return found
    return None


def _files_of(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a folder by their names within it; a file itself by an empty name."""
    if path.is_dir():
        yield from ((str(file.relative_to(path)), file) for file in sorted(path.rglob("*")) if file.is_file())
    elif path.exists():
        yield "", path


def _shown(line: bytes, at: int) -> str:
    """Return a line for a person: where it differs at the latest in the middle, nothing that drives a terminal."""
    if not line:
        return "(ended)"
    begin = max(0, at - _SHOWN_CHARACTERS // 2)
    text = line[begin : begin + _SHOWN_CHARACTERS].decode("utf-8", "backslashreplace").rstrip("\n")
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return ("..." if begin else "") + shown


def _spool(stdin: int, path: Path) -> Path | None:
    """Copy an input to a file, so that it can be read twice; None for a terminal, which cannot be."""
    if os.isatty(stdin):
        return None
    copied = 0
    with path.open("wb") as file:
        while part := os.read(stdin, 1 << 16):
            copied += len(part)
            if copied > MAX_INPUT_BYTES:
                problem = f"over {MAX_INPUT_BYTES} bytes of input: too long to be given twice"
                raise SpecError(problem, key="--check", hint="let the command read a file instead of its input")
            file.write(part)
    return path


def _copy_out(output: BinaryIO, stdout: int) -> None:
    output.seek(0)
    while part := output.read(1 << 16):
        while part:
            part = part[os.write(stdout, part) :]
