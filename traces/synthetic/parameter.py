"""Parameter: one number of a model as a person writes it: ``stride=8ms``, ``delays=20ms/40ms/100ms``.

The name of a model's field says its unit (``_s``, ``_bps``, ``_ratio``), so that the key on the command line, its
quantity and the field cannot disagree. Knows no model.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from netlab.did_you_mean import did_you_mean
from netlab.errors import ProfileError
from netlab.traces.quantity import DURATION, NUMBER, RATE, RATIO, SWITCH, WORD, Quantity, shown

__all__ = ["SEPARATOR", "Parameter", "parameters_of", "read_parameters"]

SEPARATOR = "/"
"""Between the values of a list; a comma is between options elsewhere."""

_MOST_VALUES = 64
_UNITS = (("s_bps", RATE), ("_bps", RATE), ("_ratios", RATIO), ("_ratio", RATIO), ("_s", DURATION))


class Parameter(NamedTuple):
    """One parameter of a model.

    Attributes:
        key: What a person writes.
        field: The model's field.
        quantity: How a value is read and written.
        is_list: Several values, separated by ``/``.
        default: In SI units.
        about: What it means.
    """

    key: str
    field: str
    quantity: Quantity
    is_list: bool
    default: object
    about: str

    @property
    def default_text(self) -> str:
        """The default as a person writes it."""
        values = self.default if isinstance(self.default, tuple) else (self.default,)
        return SEPARATOR.join(self.quantity.write(value).strip('"') for value in values) or "none"

    def read(self, text: str) -> object:
        """Return the value that a text means.

        Raises:
            ValueError: It means none.
        """
        if not self.is_list:
            return self.quantity.read(text)
        parts = [] if text == "none" else text.split(SEPARATOR)
        if len(parts) > _MOST_VALUES:
            raise ValueError(f"{len(parts)} values: at most {_MOST_VALUES}")
        return tuple(self.quantity.read(part.strip()) for part in parts)


def parameters_of(model: type[Struct]) -> dict[str, Parameter]:
    """Return the parameters of a model by their keys."""
    hints = typing.get_type_hints(model, include_extras=True)
    found = (_parameter(field, hints[field.name]) for field in msgspec.structs.fields(model))
    return {parameter.key: parameter for parameter in found}


def read_parameters(model: type[Struct], texts: Mapping[str, str]) -> dict[str, object]:
    """Return the fields that texts by key mean.

    Raises:
        ProfileError: No such key, or no such value.
    """
    known = parameters_of(model)
    fields: dict[str, object] = {}
    for key, text in texts.items():
        if key not in known:
            hint = did_you_mean(key, known) or f"there are {', '.join(known)}"
            raise ProfileError(f"{shown(key)}: the model has no such parameter", hint=hint)
        try:
            fields[known[key].field] = known[key].read(text)
        except ValueError as error:
            raise ProfileError(f"{key}: {error}", hint=f"for example {key}={known[key].default_text}") from None
    return fields


def _parameter(field: msgspec.structs.FieldInfo, hint: Any) -> Parameter:
    kind, about = typing.get_args(hint)
    assert isinstance(about, Meta)
    key, quantity = field.name, NUMBER
    for suffix, unit in _UNITS:
        if field.name.endswith(suffix):
            # A list's key keeps its plural: rates_bps is rates, loss_ratios losses.
            key, quantity = field.name.removesuffix(suffix.removeprefix("s")), unit
            break
    if key.endswith("loss") and field.name.endswith("ratios"):
        key += "es"
    if kind is bool:
        quantity = SWITCH
    elif typing.get_origin(kind) is typing.Literal:
        quantity = WORD
    return Parameter(
        key=key,
        field=field.name,
        quantity=quantity,
        is_list=typing.get_origin(kind) is tuple,
        default=field.default,
        about=about.description or "",
    )
