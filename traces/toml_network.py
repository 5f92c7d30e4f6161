"""Distributions of networks as TOML files, and the one parser of what a person may write for them.

::

    clean_ratio = "20%"         # what makes a file a distribution
    [each]                      # ranges, each way drawn by itself; [both]: one draw for both ways;
    delay = ["0ms", "100ms"]    # or [forward] and [back] with ranges of their own; or choices:

    [[choice]]
    network = "wifi-degraded@oneway"
    weight = 2

Knows the keys of a distribution; those of a profile are in ``toml_profile.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from netlab.did_you_mean import closest
from netlab.errors import ProfileError, SpecError, TraceError
from netlab.traces.network_distribution import (
    CLEAN,
    MAX_CHOICES,
    RANDOM,
    RANDOM_DELAY,
    RANDOM_JITTER,
    RANDOM_LOSS,
    Choice,
    LinkRanges,
    NetworkDistribution,
    Range,
)
from netlab.traces.presets import PRESETS, parse_preset
from netlab.traces.quantity import DURATION, NUMBER, RATIO, WORD, Quantity, shown
from netlab.traces.text_file import read_text_file
from netlab.traces.toml_profile import MAX_FILE_BYTES, parse_profile
from netlab.traces.toml_text import read_toml

__all__ = ["BUILT_IN", "is_distribution", "parse_distribution", "parse_network"]

BUILT_IN = {one.name: one for one in (RANDOM, RANDOM_DELAY, RANDOM_JITTER, RANDOM_LOSS, CLEAN)}
"""Distributions that have a name."""

MARK = "clean_ratio"
"""The key that every distribution has and no profile."""

_WAYS = ("each", "both", "forward", "back")
_KEYS = ("name", "description", MARK, *_WAYS, "choice")
_CHOICE_KEYS = ("network", "weight")
MAX_TEXT = 4096


class _Key(NamedTuple):
    """A key of ranges, the field it fills, how its value is read, and one that would be right."""

    field: str
    read: Callable[[object], object]
    example: str


def _range_of(quantity: Quantity) -> Callable[[object], Range]:
    """Return what reads ``[low, high]``, or one value for both."""

    def read(value: object) -> Range:
        if isinstance(value, list) and len(value) != 2:
            raise ValueError(
                f"{shown(value)} has {len(value)} values: a range has two, the least and the greatest"
            )
        low, high = (quantity.read(end) for end in (value if isinstance(value, list) else (value, value)))
        if not isinstance(low, float) or not isinstance(high, float):
            raise ValueError(f"{shown(value)} is not a range of numbers")
        return Range(low, high)

    return read


_RANGE_KEYS = {
    "delay": _Key("delay_s", _range_of(DURATION), 'delay = ["0ms", "100ms"]'),
    "jitter": _Key("jitter_s", _range_of(DURATION), 'jitter = ["0ms", "50ms"]'),
    "law": _Key("law", WORD.read, 'law = "normal"'),
    "loss": _Key("loss_ratio", _range_of(RATIO), 'loss = ["0%", "15%"]'),
    "burst_ratio": _Key("burst_ratio", RATIO.read, 'burst_ratio = "50%"'),
    "burst": _Key("burst_packets", _range_of(NUMBER), "burst = [2, 8]"),
    "ordered_ratio": _Key("ordered_ratio", RATIO.read, 'ordered_ratio = "30%"'),
}


def parse_network(text: str) -> NetworkDistribution:
    """Return the distribution, or the one network of all episodes, that a person wrote.

    Args:
        text: A name of ``BUILT_IN``, such as ``random``; a path ending in ``.toml``, of a distribution or a
            profile; or whatever ``parse_preset`` takes.

    Raises:
        SpecError: The file is a distribution that is not one.
        ProfileError: No such preset, file or key; or a value that is not one.
        TraceError: ``trace=`` names what is no trace.
    """
    text = text.strip()
    if text in BUILT_IN:
        return BUILT_IN[text]
    if not text.endswith(".toml") or len(text) > MAX_TEXT:
        try:
            return NetworkDistribution.of_pair(parse_preset(text))
        except ProfileError as error:
            if "unknown preset" in error.message:
                meant = closest(text.lower(), (*BUILT_IN, *PRESETS))
                hint = f"{error.hint}; or a distribution: {', '.join(BUILT_IN)}, or the file of one"
                message = f"{text[:80]!r}: unknown network" + (f"; did you mean {meant!r}?" if meant else "")
                raise ProfileError(message, hint=hint) from None
            raise
    content = _read(Path(text))
    if _is_one(content.document):
        return _distribution(content.document, text)
    return NetworkDistribution.of_pair(parse_profile(content.text, path=text))


def is_distribution(text: str) -> bool:
    """Return whether a person's words are a distribution of networks; what cannot be read is none.

    Args:
        text: As ``parse_network`` takes it.
    """
    text = text.strip()
    if text in BUILT_IN or not text.endswith(".toml") or len(text) > MAX_TEXT:
        return text in BUILT_IN
    try:
        return _is_one(_read(Path(text)).document)
    except SpecError:
        return False


def _is_one(document: Mapping[str, object]) -> bool:
    """Return whether a file's content is meant as a distribution."""
    return any(key in document for key in (MARK, "each", "both", "choice"))


def parse_distribution(text: str, path: str | os.PathLike[str] = "") -> NetworkDistribution:
    """Return the distribution that TOML text describes.

    Args:
        text: The TOML.
        path: Where it comes from: for messages, for a distribution without a name, and for the paths in it, which
            are from its folder.

    Raises:
        SpecError: The text is not TOML, or describes no distribution.
    """
    return _distribution(_document(text, path), path)


def _distribution(document: Mapping[str, object], path: str | os.PathLike[str]) -> NetworkDistribution:
    """Return the distribution that a file's content describes."""
    for name in document:
        if name not in _KEYS:
            _refuse_unknown(name, _KEYS, path, name)
    if MARK not in document:
        raise SpecError(
            "is missing; a distribution says what share of its episodes is clean",
            path,
            MARK,
            hint=f'write {MARK} = "20%": without clean episodes the score on a clean network falls',
        )
    fields: dict[str, Any] = {
        "clean_ratio": _read_value(RATIO.read, document[MARK], path, MARK, f'{MARK} = "20%"'),
        "name": _text(document, "name", Path(path).stem or "distribution", path),
        "description": _text(document, "description", "", path),
    }
    fields |= _ways(document, path)
    if "choice" in document:
        fields["choices"] = _choices(document["choice"], path)
    try:
        return NetworkDistribution(**fields)
    except ProfileError as error:
        raise SpecError(error.message, path, hint=error.hint) from None


def _ways(document: Mapping[str, object], path: str | os.PathLike[str]) -> dict[str, LinkRanges]:
    """Return the ranges of each way."""
    present = [name for name in _WAYS if name in document]
    ranges = {name: _ranges(document[name], path, name) for name in present}
    if not present:
        return {}
    if present == ["each"]:
        return {"forward": ranges["each"], "back": ranges["each"]}
    if present == ["both"]:
        return {"forward": ranges["both"]}
    if present == ["forward", "back"]:
        return ranges
    raise SpecError(
        f"has {' and '.join(f'[{name}]' for name in present)}: ranges are in [each], in [both], or in "
        "[forward] and [back]",
        path,
        hint="[each] draws each way by itself, [both] draws once for both ways",
    )


def _ranges(table: object, path: str | os.PathLike[str], key: str) -> LinkRanges:
    if not isinstance(table, Mapping):
        raise SpecError(f"{shown(table)} is not a table", path, key, hint=f"write it as a heading, [{key}]")
    fields: dict[str, Any] = {}
    for name, value in table.items():
        if name not in _RANGE_KEYS:
            _refuse_unknown(name, tuple(_RANGE_KEYS), path, f"{key}.{name}")
        known = _RANGE_KEYS[name]
        fields[known.field] = _read_value(known.read, value, path, f"{key}.{name}", known.example)
    try:
        return LinkRanges(**fields)
    except ProfileError as error:
        raise SpecError(error.message, path, key, hint=error.hint) from None


def _choices(tables: object, path: str | os.PathLike[str]) -> tuple[Choice, ...]:
    if not isinstance(tables, list):
        raise SpecError("is not a list", path, "choice", hint="write [[choice]], in two brackets")
    if len(tables) > MAX_CHOICES:  # before any file is read for one
        raise SpecError(f"{len(tables)} choices: at most {MAX_CHOICES}", path, "choice")
    return tuple(_choice(table, path, f"choice[{number}]") for number, table in enumerate(tables, 1))


def _choice(table: object, path: str | os.PathLike[str], key: str) -> Choice:
    if not isinstance(table, Mapping) or "network" not in table:
        raise SpecError("names no network", path, key, hint='write network = "wifi-degraded@oneway"')
    for name in table:
        if name not in _CHOICE_KEYS:
            _refuse_unknown(name, _CHOICE_KEYS, path, f"{key}.{name}")
    network = _text(table, "network", "", path, f"{key}.")
    weight = _read_value(NUMBER.read, table.get("weight", 1.0), path, f"{key}.weight", "weight = 2")
    if network.endswith(".toml"):
        network = str(Path(path).parent / network)
    try:
        return Choice(parse_preset(network), weight)
    except (ProfileError, TraceError) as error:
        raise SpecError(error.message, path, f"{key}.network", hint=error.hint) from None


class _Content(NamedTuple):
    """A file's text, and what it says."""

    text: str
    document: dict[str, Any]


def _read(path: Path) -> _Content:
    """Read a file that is a distribution or a profile."""
    try:
        text = read_text_file(path, MAX_FILE_BYTES)
    except ValueError as error:
        raise SpecError(str(error), path, hint="name the TOML file of a distribution or a profile") from None
    return _Content(text, _document(text, path))


def _document(text: str, path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        return read_toml(text)
    except ValueError as error:
        raise SpecError(str(error), path, hint='text goes in quotes: clean_ratio = "20%"') from None


def _read_value(
    read: Callable[[object], object], value: object, path: str | os.PathLike[str], key: str, example: str
) -> Any:
    try:
        return read(value)
    except ValueError as error:
        raise SpecError(str(error), path, key, hint=f"for example {example}") from None


def _text(
    table: Mapping[str, object], name: str, default: str, path: str | os.PathLike[str], prefix: str = ""
) -> str:
    value = table.get(name, default)
    if not isinstance(value, str) or not value.isprintable() or len(value) > 200:
        raise SpecError(
            f"{shown(value)} is not one line of at most 200 characters", path, f"{prefix}{name}",
            hint=f'write {name} = "..."',
        )  # fmt: skip
    return value


def _refuse_unknown(name: str, known: tuple[str, ...], path: str | os.PathLike[str], key: str) -> NoReturn:
    close = closest(name.lower(), known)
    meant = f"; did you mean {close!r}?" if close else ""
    raise SpecError(f"unknown key{meant}", path, key[:80], hint=f"known keys: {', '.join(known)}")
