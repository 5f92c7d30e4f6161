"""Profiles as TOML files: both directions of a link, with quantities as people type them.

::

    name = "lte"
    [provenance]                # where the figures come from, where that is known: toml_provenance.py
    [link]                      # both directions; or [forward] and [back]
    delay = "30ms"

    [forward]                   # a schedule instead of a profile
    duration = "60s"
    loop = true
    [[forward.step]]
    at = "0s"
    delay = "30ms"

A file is read whole into memory, so its size is bounded first. Knows the keys of a pair and of a schedule;
those of a link are in ``key.py``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from netlab.errors import ProfileError
from netlab.traces.key import LINK_KEYS, Key, read_fields, read_link, refuse_unknown, write_link
from netlab.traces.pair import ProfilePair, Reading
from netlab.traces.profile import LinkProfile
from netlab.traces.quantity import DURATION, NUMBER, SWITCH, WORD, shown
from netlab.traces.schedule import Schedule, Step
from netlab.traces.text_file import read_text_file
from netlab.traces.toml_provenance import provenance_lines, read_provenance
from netlab.traces.toml_text import read_toml
from netlab.whole_file import write_whole

__all__ = ["format_profile", "parse_profile", "read_profile", "write_profile"]

MAX_FILE_BYTES = 32 << 20
"""Two schedules of 100,000 steps, each with all that a trace gives it; a larger file is refused unread."""

PAIR_KEYS = ("name", "description", "reading", "provenance", "link", "forward", "back")
SCHEDULE_KEYS = {
    "duration": Key("duration", "duration_s", DURATION),
    "loop": Key("loop", "loop", SWITCH),
    "packet_rate_hz": Key("packet_rate_hz", "packet_rate_hz", NUMBER),
}
"""Keys of a direction that is a schedule, beside its steps."""

STEP_KEYS = ("at", *LINK_KEYS)
_AT = Key("at", "start_s", DURATION)


def read_profile(path: str | os.PathLike[str]) -> ProfilePair:
    """Return the pair of profiles that a TOML file describes.

    Raises:
        ProfileError: The file cannot be read, is too large, is not TOML, or describes no link.
    """
    path = Path(path)
    try:
        text = read_text_file(path, MAX_FILE_BYTES)
    except ValueError as error:
        raise ProfileError(f"{path}: {error}", hint="name a TOML file of one or two directions") from None
    return parse_profile(text, path=path)


def parse_profile(text: str, path: str | os.PathLike[str] = "") -> ProfilePair:
    """Return the pair of profiles that TOML text describes.

    Args:
        text: The TOML.
        path: Where it comes from, for messages, and for a pair without a name.

    Raises:
        ProfileError: The text is not TOML, or describes no link.
    """
    where = f"{os.fspath(path)}: " if path else ""
    try:
        document = read_toml(text)
    except ValueError as error:
        raise ProfileError(f"{where}{error}", hint='text goes in quotes: delay = "30ms"') from None
    if "hosts" in document:
        raise ProfileError(
            f"{where}this is a lab file, not a profile",
            hint="run it: python examples/run_lab_file.py FILE; its links name the profiles",
        )
    for name in document:
        if name not in PAIR_KEYS:
            if name in LINK_KEYS:
                raise ProfileError(
                    f"{where}{name}: stands outside of a direction",
                    hint="put [link] above it, or [forward] and [back]",
                )
            refuse_unknown(name, PAIR_KEYS, where)
    forward, back = _directions(document, where)
    provenance = None
    if "provenance" in document:
        provenance = read_provenance(document["provenance"], f"{where}provenance")
    try:
        return ProfilePair(
            name=_text(document, "name", Path(path).stem if path else "unnamed", where),
            forward=forward,
            back=back,
            reading=cast(Reading, _text(document, "reading", "oneway", where)),
            description=_text(document, "description", "", where),
            provenance=provenance,
        )
    except ProfileError as error:
        raise ProfileError(f"{where}{error.message}", hint=error.hint) from None


def write_profile(pair: ProfilePair, path: str | os.PathLike[str]) -> None:
    """Write a pair as a TOML file that reads back as the same pair; an older file stays until it is whole.

    Raises:
        ProfileError: The file cannot be written, or is too large to be read back.
    """
    path = Path(path)
    data = format_profile(pair).encode("utf-8")
    if len(data) > MAX_FILE_BYTES:
        raise ProfileError(f"{path}: would be larger than {MAX_FILE_BYTES >> 20} MiB, the most a profile may have")
    try:
        write_whole(path, data)
    except OSError as error:
        raise ProfileError(f"{path}: cannot be written: {error.strerror}", hint="check the folder") from None


def format_profile(pair: ProfilePair) -> str:
    """Return a pair as TOML; ``parse_profile`` gives the same pair back."""
    lines = [f"name = {WORD.write(pair.name)}"]
    if pair.description:
        lines.append(f"description = {WORD.write(pair.description)}")
    # Always, the default too: who finds a preset's figures in a file has to know how they were read.
    lines.append(f"reading = {WORD.write(pair.reading)}")
    if pair.provenance is not None:
        lines += provenance_lines(pair.provenance)
    if pair.forward == pair.back:
        lines += _direction_lines("link", pair.forward)
    else:
        lines += _direction_lines("forward", pair.forward)
        lines += _direction_lines("back", pair.back)
    return "\n".join(lines) + "\n"


def _text(document: Mapping[str, object], name: str, default: str, where: str) -> str:
    value = document.get(name, default)
    if not isinstance(value, str):
        raise ProfileError(f"{where}{name}: {shown(value)} is not text", hint=f'write {name} = "..."')
    return value


def _directions(
    document: Mapping[str, object], where: str
) -> tuple[LinkProfile | Schedule, LinkProfile | Schedule]:
    present = [name for name in ("link", "forward", "back") if name in document]
    if present == ["link"]:
        both = _read_direction(document["link"], f"{where}link")
        return both, both
    if present == ["forward", "back"]:
        return (
            _read_direction(document["forward"], f"{where}forward"),
            _read_direction(document["back"], f"{where}back"),
        )
    raise ProfileError(
        f"{where}has {' and '.join(f'[{name}]' for name in present) or 'no direction'}: a link needs [link], "
        "or both [forward] and [back]",
        hint="write [link] for the same in both directions; an empty [back] is a perfect one",
    )


def _read_direction(table: object, where: str) -> LinkProfile | Schedule:
    if not isinstance(table, Mapping):
        raise ProfileError(f"{where}: {shown(table)} is not a table", hint="write it as a heading, [link]")
    if "step" in table:
        return _read_schedule(table, where)
    for name in SCHEDULE_KEYS:
        if name in table:
            raise ProfileError(f"{where}.{name}: is given without steps", hint=f"add [[{_heading(where)}.step]]")
    return read_link(table, f"{where}.")


def _read_schedule(table: Mapping[str, object], where: str) -> Schedule:
    for name in table:
        if name in LINK_KEYS:
            raise ProfileError(
                f"{where}.{name}: stands beside steps; each step describes the whole link",
                hint=f"put {name} into each [[{_heading(where)}.step]]",
            )
        if name not in SCHEDULE_KEYS and name != "step":
            refuse_unknown(name, ("step", *SCHEDULE_KEYS), f"{where}.")
    steps = table["step"]
    if not isinstance(steps, list):
        raise ProfileError(
            f"{where}.step: is not a list", hint=f"write [[{_heading(where)}.step]], in two brackets"
        )
    fields = read_fields(
        SCHEDULE_KEYS, {name: table[name] for name in SCHEDULE_KEYS if name in table}, f"{where}."
    )
    if "duration_s" not in fields:
        raise ProfileError(f"{where}.duration: is missing; a schedule says how long its last step holds")
    read = tuple(_read_step(step, f"{where}.step[{index + 1}]") for index, step in enumerate(steps))
    try:
        return Schedule(steps=read, **fields)
    except ProfileError as error:
        raise ProfileError(f"{where}: {error.message}", hint=error.hint) from None


def _read_step(table: object, where: str) -> Step:
    if not isinstance(table, Mapping):
        raise ProfileError(f"{where}: {shown(table)} is not a table")
    if "at" not in table:
        raise ProfileError(f"{where}.at: is missing; each step says when it begins", hint='write at = "0s"')
    for name in table:
        if name not in STEP_KEYS:
            refuse_unknown(name, STEP_KEYS, f"{where}.")
    start = read_fields({"at": _AT}, {"at": table["at"]}, f"{where}.")["start_s"]
    profile = read_link({name: value for name, value in table.items() if name != "at"}, f"{where}.")
    return Step(cast(float, start), profile)


def _heading(where: str) -> str:
    """Return the direction's name for a hint, without the file's."""
    return where.rpartition(" ")[2]


def _direction_lines(heading: str, direction: LinkProfile | Schedule) -> list[str]:
    lines = ["", f"[{heading}]"]
    if isinstance(direction, LinkProfile):
        return lines + write_link(direction)
    lines.append(f"duration = {DURATION.write(direction.duration_s)}")
    if direction.loop:
        lines.append("loop = true")
    if direction.packet_rate_hz is not None:
        lines.append(f"packet_rate_hz = {NUMBER.write(direction.packet_rate_hz)}")
    for step in direction.steps:
        lines += [
            "",
            f"[[{heading}.step]]",
            f"at = {DURATION.write(step.start_s)}",
            *write_link(step.profile),
        ]
    return lines
