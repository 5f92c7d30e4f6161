"""What is asked of a link, direction by direction: a first state and, for a schedule, a track to play.

::

    "wifi-degraded" | ProfilePair | LinkProfile | Schedule | QdiscState | None
          `--plan_directions--> forward: first state [, track]     back: first state [, track]

Pure: makes nothing.
"""

from __future__ import annotations

import functools
from pathlib import Path

from msgspec import Struct

from netlab.errors import NetlabError, ProfileError, SpecError
from netlab.lab_spec import LabSpec
from netlab.namespaces.link import Direction
from netlab.namespaces.timeline import Track, schedule_track
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile, ProfilePair
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.schedule import Schedule
from netlab.traces.seed import link_seed

__all__ = ["DirectionPlan", "Impairment", "plan_directions", "read_profiles"]

Impairment = ProfilePair | LinkProfile | Schedule | QdiscState | str | None


class DirectionPlan(Struct, frozen=True, kw_only=True):
    """One direction of a link.

    Attributes:
        direction: ``forward`` or ``back``.
        first: What it is made with; None for no netem.
        track: What is played on it; None where nothing changes by itself.
    """

    direction: Direction
    first: LinkProfile | QdiscState | None
    track: Track | None


def read_profiles(spec: LabSpec, folder: Path) -> dict[str, Impairment]:
    """Parse the profile of every link of a spec.

    Args:
        spec: The lab.
        folder: What profile files are relative to.

    Returns:
        By name of the link.

    Raises:
        SpecError: One of them is none; names the link's key.
    """
    profiles: dict[str, Impairment] = {}
    for number, link in enumerate(spec.link):
        text = str(folder / link.profile) if link.profile.endswith(".toml") else link.profile
        try:
            profiles[link.full_name] = parse_preset(text) if text else None
        except NetlabError as error:
            raise SpecError(str(error), key=f"link[{number}].profile", hint=error.hint) from error
    return profiles


def plan_directions(impairment: Impairment, run_seed: int, link: str) -> tuple[DirectionPlan, DirectionPlan]:
    """Return what each direction of a link begins with and plays.

    Args:
        impairment: A pair; a profile, schedule or state for both directions; or what ``parse_preset``
            understands; None for a clean link.
        run_seed: Seed of the run.
        link: Name of the link.

    Raises:
        ProfileError: It is none of these.
    """
    if isinstance(impairment, str):
        impairment = parse_preset(impairment)
    if isinstance(impairment, ProfilePair):
        forward, back = impairment.forward, impairment.back
        return _plan("forward", forward, run_seed, link), _plan("back", back, run_seed, link)
    return _plan("forward", impairment, run_seed, link), _plan("back", impairment, run_seed, link)


def _plan(
    direction: Direction, asked: LinkProfile | Schedule | QdiscState | None, run_seed: int, link: str
) -> DirectionPlan:
    if isinstance(asked, Schedule):
        seed_of = functools.partial(link_seed, run_seed, link, direction)
        track = schedule_track(f"{link} {direction}", asked, seed_of)
        return DirectionPlan(direction=direction, first=track.state(0), track=track)
    if asked is not None and not isinstance(asked, LinkProfile | QdiscState):
        raise ProfileError(
            f"{type(asked).__name__} is no impairment of a link",
            hint="give a preset's name, a profile, a schedule or a pair of them",
        )
    return DirectionPlan(direction=direction, first=asked, track=None)
