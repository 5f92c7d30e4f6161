"""The file that a command writes a profile to: refused before the work, not after it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["require_profile"]


def require_profile(output: Path) -> None:
    """Refuse a file that is no profile's or could not be written.

    Raises:
        SpecError: Names the option.
    """
    from netlab.documents import require_writable
    from netlab.errors import SpecError

    if output.suffix != ".toml":
        raise SpecError(
            f"{str(output)!r:.80} is no name of a profile",
            key="--output",
            hint="a profile file's name ends in .toml",
        )
    require_writable("--output", output)
