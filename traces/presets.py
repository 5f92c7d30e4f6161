"""Presets: networks with a name, and the one parser of what a person may write for a link.

::

    "wifi-degraded@oneway"             a preset, its figures each way
    "runs/lte.toml"                    a file
    "delay=30ms,jitter=10ms,loss=2%"   a profile, each direction
    "trace=wifi.csv,offset=10s"        a trace, played
                  |
             parse_preset --> ProfilePair(forward, back)

The three networks of arXiv 2603.12543 are given there as "80 +- 40 ms" without saying whether that is the
round trip or one way. Both are offered: ``@rtt`` (also the plain name) gives each direction half the mean and
1/sqrt(2) of the deviation, ``@oneway`` the whole of both. The loss ratio holds in each direction either way.
Packets may overtake one another, as the paper says they do. Presets that are schedules have one reading: what
each direction does over time.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import math
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, cast

from netlab.did_you_mean import did_you_mean
from netlab.errors import ProfileError
from netlab.traces.key import read_link
from netlab.traces.pair import MAX_NAME, READINGS, ProfilePair, Reading
from netlab.traces.profile import LinkProfile
from netlab.traces.provenance import Origin, Provenance
from netlab.traces.series import read_series, series_schedule
from netlab.traces.toml_profile import read_profile
from netlab.traces.trace import ClockVerdict, TracedPath

__all__ = ["PRESETS", "parse_preset"]

MAX_TEXT = 4096
MEASURED = "measured"
SERIES_FILE = "ping_series.dat"


class _Figures(NamedTuple):
    """A network as it is published: a normal delay and an independent loss."""

    mean_s: float
    sd_s: float
    loss_ratio: float
    description: str


_FIGURES = {
    "ethernet-clean": _Figures(0.002, 0.0, 0.0, "wired: 2 ms, no loss (arXiv 2603.12543)"),
    "wifi-normal": _Figures(0.030, 0.010, 0.02, "Wi-Fi on a good day: 30 +- 10 ms, 2 % loss (arXiv 2603.12543)"),
    "wifi-degraded": _Figures(0.080, 0.040, 0.10, "Wi-Fi on a bad day: 80 +- 40 ms, 10 % loss (arXiv 2603.12543)"),
}

_READ_AS: Mapping[Reading, str] = {
    "rtt": "the paper's figures are the round trip's: half the mean, 1/sqrt(2) of the deviation each way",
    "oneway": "the paper's figures are each direction's: the whole mean and deviation each way",
}

_MODELLED = ("cellular-lte", "satellite-leo", "wifi-home", "wifi-jammed")
_NAMES = (*_FIGURES, MEASURED, *_MODELLED)


class _Presets(Mapping[str, ProfilePair]):
    """The presets under their plain names; each is made when it is asked for, so listing reads no file."""

    def __getitem__(self, name: str) -> ProfilePair:
        if name not in _NAMES:
            raise KeyError(name)
        return _preset(name, "rtt")

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


PRESETS: Mapping[str, ProfilePair] = _Presets()


def parse_preset(text: str) -> ProfilePair:
    """Return the link that ``NAME[@rtt|@oneway]``, a path ending in ``.toml``, a trace or inline options mean.

    Raises:
        ProfileError: No such preset, file or key; or a value that is not one.
        TraceError: ``trace=`` names what is no trace.
    """
    text = text.strip()
    if "," in text and not text.startswith("trace="):
        _refuse_changed_preset(text)
    if "@" in text and not text.startswith("trace=") and ("=" in text or ".toml@" in text):
        raise ProfileError(
            f"{text[:80]!r}: a reading belongs to a preset; files and options say what each direction does",
            hint="leave the @ and what follows out",
        )
    if len(text) > MAX_TEXT:
        raise ProfileError(
            f"a profile of {len(text)} characters: at most {MAX_TEXT}", hint="put it into a TOML file"
        )
    if text.startswith("trace="):
        return _trace(text)
    if text.endswith(".toml"):
        return read_profile(text)
    if "=" in text:
        return _inline(text)
    name, at, reading = text.partition("@")
    if name not in PRESETS:
        if os.sep in text or "." in text or os.path.isfile(text):  # noqa: PTH113 - Path's raises at a long name
            raise ProfileError(
                f"{text[:80]!r} looks like a file: a profile file's name ends in .toml",
                hint=f"write or rename it so; a trace is replayed by trace={text[:80]}, and made a "
                "profile by netlab trace fit",
            )
        meant = did_you_mean(name.lower(), PRESETS)
        raise ProfileError(
            f"{text[:80]!r}: unknown preset{'; ' if meant else ''}{meant}",
            hint=f"write one of {', '.join(PRESETS)} (@rtt or @oneway), a path ending in .toml, "
            "or options such as delay=30ms,jitter=10ms,loss=2%",
        )
    if at and reading not in READINGS:
        raise ProfileError(
            f"{text!r}: unknown reading {reading!r}",
            hint=f"write {name}@rtt (the figures are the round trip's) or {name}@oneway (each direction's)",
        )
    return _preset(name, cast(Reading, reading or "rtt"))


def _refuse_changed_preset(text: str) -> None:
    """Refuse ``wifi-degraded,loss=5%``, and say how to have it."""
    for part in text.split(","):
        name = part.strip().partition("@")[0]
        if name in PRESETS:
            raise ProfileError(
                f"{text[:80]!r}: a preset takes no options",
                hint=f"netlab profile show {part.strip()[:60]} > mine.toml, change mine.toml and give it instead",
            )


@lru_cache(maxsize=16)
def _preset(name: str, reading: Reading) -> ProfilePair:
    if name not in _FIGURES and reading != "rtt":
        raise ProfileError(
            f"{name}@{reading}: round trips are halved over the directions, never doubled",
            hint=f"write {name}",
        )
    if name == MEASURED:
        return _measured()
    if name in _MODELLED:
        from netlab.traces.preset_models import modelled_preset  # generators: for these names alone

        return modelled_preset(name)
    figures = _FIGURES[name]
    halved = reading == "rtt"
    direction = LinkProfile(
        delay_s=figures.mean_s / 2.0 if halved else figures.mean_s,
        jitter_s=figures.sd_s / math.sqrt(2.0) if halved else figures.sd_s,
        law="normal",
        loss=figures.loss_ratio,
        ordered=False,
    )
    return ProfilePair(name, direction, direction, reading, figures.description, _published(reading))


def _published(reading: Reading) -> Provenance:
    """Return where the figures of the paper's networks come from, and how they were read."""
    return Provenance(
        method="published figures: arXiv 2603.12543 (CALF)",
        assumptions=(
            _READ_AS[reading],
            "each packet by itself, without bursts or memory; the loss ratio holds in each direction",
        ),
    )


def _measured() -> ProfilePair:
    resource = importlib.resources.files("netlab.traces") / "data" / SERIES_FILE
    with importlib.resources.as_file(resource) as path:
        series = read_series(path)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    forward, back = series_schedule(series)
    description = f"{len(series.rtt_s)} measured ping round trips, half each way, one a 100 ms step (NIST Net)"
    origin = Origin(
        source=f"traces/data/{SERIES_FILE}: ping round trips of NIST Net's series, by iproute2's experimental.dat",
        sha256=sha256,
        path=TracedPath.ROUND_TRIP.value,
        clocks=ClockVerdict.ONE_CLOCK.value,
        n=len(series.rtt_s),
    )
    provenance = Provenance(
        method="replay of a measured series: a sample a step of 100 ms",
        origins=(origin,),
        assumptions=(
            "pings 100 ms apart: the file does not say how often they were sent",
            "half of each round trip each way",
        ),
    )
    return ProfilePair(MEASURED, forward, back, "rtt", description, provenance)


def _trace(text: str) -> ProfilePair:
    """Return the link that plays a trace: ``trace=FILE[+FILE],offset=10s,loop=true``."""
    from netlab.traces.replay import parse_replay, replay_pair  # numpy's files and a fit: seldom needed

    options: dict[str, object] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise ProfileError(
                f"{part.strip()[:60]!r} is not KEY=VALUE", hint="for example trace=wifi.csv,offset=10s,loop=true"
            )
        if key in options:
            raise ProfileError(f"{key[:60]}: is given twice", hint="keep one of them")
        options[key] = value
    files = str(options.pop("trace")).split("+")
    return replay_pair(parse_replay([name.strip() for name in files], options))


def _inline(text: str) -> ProfilePair:
    where = "inline profile: "
    mapping: dict[str, object] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name or not value:
            raise ProfileError(
                f"{where}{part.strip()[:60]!r} is not KEY=VALUE",
                hint="for example delay=30ms,jitter=10ms,loss=2%",
            )
        _put(mapping, name.split("."), value, where)
    direction = read_link(mapping, where)
    name = text if len(text) <= MAX_NAME and text.isprintable() else "inline"
    return ProfilePair(name, direction, direction, "oneway")


def _put(mapping: dict[str, object], path: list[str], value: str, where: str) -> None:
    """Set ``loss.mean`` within the table ``loss``, as TOML's dotted keys do."""
    for depth, name in enumerate(path[:-1]):
        inner = mapping.setdefault(name, {})
        if not isinstance(inner, dict):
            table, key = ".".join(path[: depth + 1]), ".".join(path)
            burst = f"write loss.mean={inner},loss.burst={value}"
            raise ProfileError(
                f"{where}{key}: {table} has a value already",
                hint=burst if key == "loss.burst" else f"leave {table}={inner} out, or {key}",
            )
        mapping = inner
    if path[-1] in mapping:
        raise ProfileError(f"{where}{'.'.join(path)}: is given twice", hint="keep one of them")
    mapping[path[-1]] = value
