"""EngineRequest: what a command line says of where it is to run, and by which clock.

Ground of the choice (``engine_choice.py``): standard library only, since every command has one.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EngineRequest"]


class EngineRequest(NamedTuple):
    """What was asked for.

    Attributes:
        engine: What ``--on`` said; None where it said nothing.
        virtual_time: Whether ``--virtual-time`` was given.
        check: Whether ``--check`` was given.
        debug: Whether ``--debug`` was given.
    """

    engine: str | None = None
    virtual_time: bool = False
    check: bool = False
    debug: bool = False

    @property
    def asks(self) -> bool:
        """Whether anything was said of where to run."""
        return self.engine is not None or self.virtual_time or self.check

    @property
    def words(self) -> str:
        """The options as they were typed, for messages."""
        engine = [f"--on {self.engine}"] if self.engine is not None else []
        virtual = ["--virtual-time"] if self.virtual_time else []
        return " ".join(engine + virtual + (["--check"] if self.check else []))
