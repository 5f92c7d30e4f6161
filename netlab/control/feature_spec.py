"""FeatureSpec: what a policy is shown of each question, as data; how wide that is and where each part stands.

::

    [ stack: n observations | actions: h decisions | age: 2 | acknowledgement: n bits | network: 3 ]   float32

Saved beside each policy that was trained on it, so it forbids what it does not know.
"""

from __future__ import annotations

import math

import msgspec
from msgspec import Struct

from netlab.did_you_mean import did_you_mean
from netlab.errors import SpecError
from netlab.messages import HISTORY_TICKS, MAX_ACTIONS, Space, TaskDescription

__all__ = ["MAX_SIZE", "FeatureSpec", "space_width"]

MAX_STACK = 64
MAX_SIZE = 1 << 20
"""The most numbers of one row: 4 MiB."""

_BOUNDS = {"stack": (1, MAX_STACK), "actions": (0, MAX_ACTIONS), "acknowledgement": (0, HISTORY_TICKS)}


def space_width(space: Space) -> int:
    """Return how many numbers a value of a space becomes: n for a discrete one (one-hot), else its elements."""
    return space.n if space.kind == "discrete" else math.prod(space.shape)


class FeatureSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a policy sees; docs/features.md says why each part is there.

    Attributes:
        stack: How many of the newest received observations, newest first.
        predicted: The first of them is the state predicted for the target tick instead; the others are the
            newest received.
        actions: The decisions for so many ticks before the target tick, latest first, pending ones included.
        pending: Of those the pending ones alone, for ticks that the newest observation has not seen; zeros for the
            others, which it already shows the effect of.
        age: How old the newest observation will be at the target tick, and the age that the edge measured.
        acknowledgement: What became of so many ticks before the newest observation: played, missed, unknown.
        network: Loss seen by the edge; mean and deviation of the ages that it measured.

    Raises:
        SpecError: A number out of range, or what is no number.
    """

    stack: int = 1
    predicted: bool = False
    actions: int = 0
    pending: bool = False
    age: bool = False
    acknowledgement: int = 0
    network: bool = False

    def __post_init__(self) -> None:
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise SpecError(
                    f"{value!r:.80}: must be a whole number, {least} .. {most}", key=f"features.{name}"
                )
        for name in ("predicted", "pending", "age", "network"):
            value = getattr(self, name)
            if type(value) is not bool:
                raise SpecError(f"{value!r:.80}: must be true or false", key=f"features.{name}")

    @classmethod
    def read(cls, table: object, path: str = "") -> FeatureSpec:
        """Return the spec that a table of a file holds.

        Args:
            table: What the file's decoder gave: a dict.
            path: The file, for messages.

        Raises:
            SpecError: Not a table, an unknown key, a value of another kind or out of range.
        """
        known = cls.__struct_fields__
        if not isinstance(table, dict):
            hint = f"known here: {', '.join(known)}"
            raise SpecError(f"{type(table).__name__}: must be a table", path, "features", hint)
        for name in table:
            if name not in known:
                hint = did_you_mean(str(name), known) or f"known here: {', '.join(known)}"
                raise SpecError("unknown key", path, f"features.{name!s:.80}", hint)
        try:
            return cls(**table)
        except SpecError as error:
            rule = error.message.removeprefix(f"{error.key}: ")
            raise SpecError(rule, path, error.key, error.hint) from error

    def as_table(self) -> dict[str, int | bool]:
        """Return what ``read`` reads."""
        table: dict[str, int | bool] = msgspec.to_builtins(self)
        return table

    def layout(self, task: TaskDescription) -> dict[str, slice]:
        """Return where each part stands in a row; parts that are not asked for are not in it.

        Raises:
            SpecError: A space contradicts itself, or a row would be longer than ``MAX_SIZE``.
        """
        for key, space in (("observation", task.observation), ("action", task.action)):
            problem = space.problem()
            if problem:
                raise SpecError(problem, key=key)
        widths = {
            "stack": self.stack * space_width(task.observation),
            "actions": self.actions * space_width(task.action),
            "age": 2 * self.age,
            "acknowledgement": self.acknowledgement,
            "network": 3 * self.network,
        }
        layout, stop = {}, 0
        for name, width in widths.items():
            if width:
                layout[name] = slice(stop, stop + width)
                stop += width
        if stop > MAX_SIZE:
            parts = ", ".join(f"{name} {width}" for name, width in widths.items() if width)
            raise SpecError(
                f"{stop} numbers a row ({parts}): must be at most {MAX_SIZE}",
                key="features",
                hint="a shorter stack, fewer actions, or a smaller observation",
            )
        return layout
