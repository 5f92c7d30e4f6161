"""What is asked of a link, direction by direction: a first state and, for a schedule, a track to play.

::

    "wifi-degraded" | ProfilePair | LinkProfile | Schedule | QdiscState | None
          `--plan_directions--> forward: first state [, track]     back: first state [, track]

Pure: makes nothing.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from netlab.errors import NetlabError, ProfileError, SpecError
from netlab.lab_spec import LabSpec, LinkSpec
from netlab.namespaces.timeline import Track, schedule_track
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.schedule import Schedule
from netlab.traces.seed import Direction

__all__ = ["CLEAN", "DirectionPlan", "Impairment", "plan_directions", "read_profiles"]

CLEAN = ProfilePair("clean", LinkProfile(), LinkProfile())
"""What a link without netem does."""

Impairment = ProfilePair | LinkProfile | Schedule | QdiscState | str | None


class DirectionPlan(Struct, frozen=True, kw_only=True):
    """One direction of a link.

    Attributes:
        direction: ``forward`` or ``back``.
        first: What it is made with, of a schedule its first step; None for no netem, which is also what a
            profile that asks for nothing gets.
        track: What is played on it, without seeds; None where nothing changes by itself.
    """

    direction: Direction
    first: LinkProfile | QdiscState | None
    track: Track | None


def read_profiles(spec: LabSpec, folder: Path, path: str = "") -> dict[str, Impairment]:
    """Parse the profile of every link of a spec, or read its trace.

    Args:
        spec: The lab.
        folder: What profile files and traces are relative to.
        path: The file the spec came from, for messages.

    Returns:
        By name of the link.

    Raises:
        SpecError: One of them is none; names the link's key.
    """
    profiles: dict[str, Impairment] = {}
    for number, link in enumerate(spec.link):
        key = "trace" if link.traces else "profile"
        try:
            profiles[link.full_name] = _read_trace(link, folder) if link.traces else _read_profile(link, folder)
        except NetlabError as error:
            raise SpecError(str(error), path, key=f"link[{number}].{key}", hint=error.hint) from error
    return profiles


def _read_profile(link: LinkSpec, folder: Path) -> ProfilePair | None:
    text = link.profile
    if text.startswith("trace="):
        hint = 'trace = "rtt.csv" is relative to this file, and takes trace_offset and the like'
        raise ProfileError("in a file a trace has a key of its own", hint)
    if text.endswith(".toml"):
        text = str(folder / text)
    return parse_preset(text) if text else None


def _read_trace(link: LinkSpec, folder: Path) -> ProfilePair:
    from netlab.traces.replay import parse_replay, replay_pair  # numpy's files and a fit: seldom needed

    return replay_pair(parse_replay(link.traces, link.trace_options), folder)


def plan_directions(impairment: Impairment, link: str) -> tuple[DirectionPlan, DirectionPlan]:
    """Return what each direction of a link begins with and plays.

    Args:
        impairment: A pair; a profile, schedule or state for both directions; or what ``parse_preset``
            understands; None for a clean link.
        link: Name of the link.

    Raises:
        ProfileError: It is none of these.
    """
    if isinstance(impairment, str):
        impairment = parse_preset(impairment)
    if isinstance(impairment, ProfilePair):
        forward, back = impairment.forward, impairment.back
        return _plan("forward", forward, link), _plan("back", back, link)
    return _plan("forward", impairment, link), _plan("back", impairment, link)


def _plan(direction: Direction, asked: LinkProfile | Schedule | QdiscState | None, link: str) -> DirectionPlan:
    if isinstance(asked, Schedule):
        track = schedule_track(f"{link} {direction}", asked)
        return DirectionPlan(direction=direction, first=asked.steps[0].profile, track=track)
    if isinstance(asked, LinkProfile) and _asks_for_nothing(asked):
        asked = None
    if asked is not None and not isinstance(asked, LinkProfile | QdiscState):
        raise ProfileError(
            f"{type(asked).__name__} is no impairment of a link",
            hint="give a preset's name, a profile, a schedule or a pair of them",
        )
    return DirectionPlan(direction=direction, first=asked, track=None)


def _asks_for_nothing(profile: LinkProfile) -> bool:
    """Tell that a direction does nothing to packets: neither a law without jitter nor the order matters then."""
    nothing = LinkProfile()
    fields = (field for field in profile.__struct_fields__ if field not in ("law", "ordered"))
    return all(getattr(profile, field) == getattr(nothing, field) for field in fields)
