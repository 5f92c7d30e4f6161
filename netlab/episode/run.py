"""EpisodeRun: episodes of a lab's spec, ready to be played on any corner, and what came of them.

::

    LabSpec --EpisodePlan.of--> plan --> play_in_lab      services in hosts, packets through netem or a relay
                                     `-> play_on_model    the same state machines in one process, no packets
                                                `--> EpisodeRun(result, ticks, packets)

Both corners take every number from the plan, so that they differ in nothing that a person wrote.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.agents.policy import RECIPES, Recipe, find_policy
from netlab.envs.registry import find_task
from netlab.envs.result import RunResult
from netlab.envs.tick_log import TickRecord
from netlab.episode.spec import EpisodeSpec
from netlab.errors import ProfileError, SpecError
from netlab.lab_impairment import CLEAN, read_profiles
from netlab.lab_spec import LabSpec, LinkSpec
from netlab.messages import horizon_number
from netlab.settled_horizon import settled_horizon
from netlab.traces.packets.packet_log import PacketLog
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.seed import Direction

__all__ = ["EpisodePlan", "EpisodeRun", "placed_policy", "read_ticks"]

_POLICY_FILE = ".safetensors"
_SETTLE_S = 0.3
_TABLE_REACH = 4
"""A delay table's 16-bit entries reach four jitters from the mean."""


class EpisodePlan(Struct, frozen=True, kw_only=True):
    """Episodes to be played.

    Attributes:
        lab: The lab they are played in.
        path: The file its spec came from.
        episode: What is played.
        link: The link between environment and policy.
        pair: What that link does; None for a clean one.
        horizon_ticks: D by the one rule for it (``settled_horizon``); ``ADAPTIVE_HORIZON``: the agent chooses it.
        recipe: What controls it.
        seed: Of link and episodes.
    """

    lab: LabSpec
    path: str
    episode: EpisodeSpec
    recipe: Recipe
    link: LinkSpec
    pair: ProfilePair | None
    horizon_ticks: int
    seed: int

    @classmethod
    def of(cls, lab: LabSpec, path: str, seed: int | None = None, recipe: Recipe | None = None) -> EpisodePlan:
        """Return the plan of a spec that has an episode.

        Args:
            lab: The spec, checked.
            path: The file it came from: profile and policy files are relative to that file's folder.
            seed: In place of the spec's.
            recipe: Of its policy, where that has been looked up before: a file is read once.

        Raises:
            SpecError: It has none, or one of its profiles is none.
            ProfileError: One direction loses everything, or no horizon fits the link.
        """
        episode = lab.episode
        if episode is None:
            hint = "add an [episode] table (docs/four-corners.md)"
            raise SpecError("there is no episode to play", path, "episode", hint)
        with _placed(path, "task"):
            find_task(episode.task)
        with _placed(path, "policy"):
            recipe = recipe or find_policy(placed_policy(episode.policy, Path(path).parent))
        link = next(one for one in lab.link if set(one.ends) == {episode.edge, episode.agent})
        pair = read_profiles(lab, Path(path).parent, path)[link.full_name]
        assert pair is None or isinstance(pair, ProfilePair)  # what parse_preset returns
        if pair is not None and pair.loss_ratio_mean >= 1.0:
            raise ProfileError(f"link {link.full_name}: one direction loses everything: no agent could be reached")
        return cls(
            lab=lab,
            path=path,
            episode=episode,
            link=link,
            pair=pair,
            horizon_ticks=_horizon(episode, recipe, pair),
            recipe=recipe,
            seed=lab.seed if seed is None else seed,
        )

    @property
    def policy(self) -> str:
        """What controls it: a name, or the absolute path of a policy file."""
        return placed_policy(self.episode.policy, Path(self.path).parent)

    @property
    def rate_hz(self) -> float:
        """Ticks a second."""
        return _rate_hz(self.episode)

    @property
    def outward(self) -> Direction:
        """The direction in which observations travel."""
        return "forward" if self.link.ends[0] == self.episode.edge else "back"

    @property
    def settling_s(self) -> float:
        """How long after the last tick a packet may still be under way: the longest delay, and a little for us."""
        if self.pair is None:
            return _SETTLE_S
        ways = (self.pair.forward, self.pair.back)
        return _SETTLE_S + max(_longest_delay_s(part.profile) for way in ways for part in way.segments())


class EpisodeRun(Struct, frozen=True, kw_only=True):
    """What came of a plan on one corner.

    Attributes:
        result: What the environment's service reports.
        ticks: Every tick, in order.
        packets: Every packet of the lab from the start of the first tick to the edge's goodbye.
    """

    result: RunResult
    ticks: tuple[TickRecord, ...]
    packets: PacketLog


def placed_policy(policy: str, folder: Path) -> str:
    """Return a policy's name as it is, and the path of a file as an absolute one: services stand elsewhere.

    Args:
        policy: Name or path.
        folder: What the path is relative to.
    """
    is_name = policy in RECIPES or not policy.endswith(_POLICY_FILE)
    return policy if is_name else str((folder / policy).absolute())


@contextlib.contextmanager
def _placed(path: str, field: str) -> Iterator[None]:
    """Have an error of what an episode's field names say where that field stands."""
    try:
        yield
    except SpecError as error:
        problem = error.message.removeprefix(f"{error.key}: ")
        raise SpecError(problem, path, f"episode.{field}", error.hint) from error


def _longest_delay_s(profile: LinkProfile) -> float:
    """Return the longest delay a packet can be given; waiting for a rate comes on top of it."""
    state = profile.to_qdisc_state(None)
    slot, slot_ns = state.slot, 0
    if slot is not None:
        slot_ns = max(slot.max_delay_ns, slot.dist_delay_ns + _TABLE_REACH * slot.dist_jitter_ns)
    return (state.latency_ns + _TABLE_REACH * state.jitter_ns + slot_ns) * 1e-9


def _rate_hz(episode: EpisodeSpec) -> float:
    return find_task(episode.task).rate_hz if episode.rate_hz is None else episode.rate_hz


def _horizon(episode: EpisodeSpec, recipe: Recipe, pair: ProfilePair | None) -> int:
    if not ACTUATOR_TRAITS[episode.actuator].has_horizon:
        return 1
    return settled_horizon(horizon_number(episode.horizon), recipe.horizon_ticks, pair or CLEAN, _rate_hz(episode))


def read_ticks(path: Path) -> tuple[TickRecord, ...]:
    """Return the records of a tick log."""
    return tuple(msgspec.json.Decoder(TickRecord).decode_lines(path.read_bytes()))
