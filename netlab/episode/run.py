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

from netlab.agents.policy import RECIPES, find_policy
from netlab.envs.registry import find_task
from netlab.envs.result import RunResult
from netlab.envs.service import ALL_PLAYED
from netlab.envs.tick_log import TickRecord
from netlab.episode.spec import EpisodeSpec
from netlab.errors import ProfileError, SpecError
from netlab.lab_impairment import CLEAN, read_profiles
from netlab.lab_spec import LabSpec, LinkSpec
from netlab.messages import ADAPTIVE_HORIZON, Goodbye
from netlab.traces.horizon import horizon_ticks
from netlab.traces.packets.packet_log import PacketLog
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.seed import Direction
from netlab.wire.frame_length import frame_bytes

__all__ = ["EpisodePlan", "EpisodeRun", "placed_policy", "read_ticks", "until_goodbye"]

_POLICY_FILE = ".safetensors"
_SETTLE_S = 0.3
_TABLE_REACH = 4
"""A delay table's 16-bit entries reach four jitters from the mean."""
_GOODBYE_BYTES = frame_bytes(Goodbye(reason=ALL_PLAYED))


class EpisodePlan(Struct, frozen=True, kw_only=True):
    """Episodes to be played.

    Attributes:
        lab: The lab they are played in.
        path: The file its spec came from.
        episode: What is played.
        link: The link between environment and policy.
        pair: What that link does; None for a clean one.
        horizon_ticks: D: as asked for (``ADAPTIVE_HORIZON``: the agent chooses it), else fitted to the link.
        seed: Of link and episodes.
    """

    lab: LabSpec
    path: str
    episode: EpisodeSpec
    link: LinkSpec
    pair: ProfilePair | None
    horizon_ticks: int
    seed: int

    @classmethod
    def of(cls, lab: LabSpec, path: str, seed: int | None = None) -> EpisodePlan:
        """Return the plan of a spec that has an episode.

        Args:
            lab: The spec, checked.
            path: The file it came from: profile and policy files are relative to that file's folder.
            seed: In place of the spec's.

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
            find_policy(placed_policy(episode.policy, Path(path).parent))
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
            horizon_ticks=_horizon(episode, pair),
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


def _horizon(episode: EpisodeSpec, pair: ProfilePair | None) -> int:
    if episode.actuator != "scheduled":
        return 1
    if episode.horizon == "adaptive":
        return ADAPTIVE_HORIZON
    return episode.horizon or horizon_ticks(pair or CLEAN, 1.0 / _rate_hz(episode))


def read_ticks(path: Path) -> tuple[TickRecord, ...]:
    """Return the records of a tick log."""
    return tuple(msgspec.json.Decoder(TickRecord).decode_lines(path.read_bytes()))


def until_goodbye(log: PacketLog, plan: EpisodePlan, ticks: int) -> PacketLog:
    """Return a log without what was sent after the edge's goodbye: an edge that is gone is no part of an episode.

    Answers that are still under way then meet a closed port, and how a kernel complains of that, and how often,
    is its own affair. A packet that was sent before the first observation has taken a draw that was meant for
    another one: the header then says so. TCP's packets are left as they are: one is no message.

    Args:
        log: The packets of the lab.
        plan: What was played.
        ticks: How many observations were sent: one a tick, then the goodbye.
    """
    ours = [one for one in log.records if one.link == plan.link.full_name and not one.is_further_copy]
    outward = [one for one in ours if one.direction == plan.outward]
    goodbye = next((n for n in range(ticks, len(outward)) if outward[n].length_bytes == _GOODBYE_BYTES), None)
    if goodbye is None or plan.episode.transport != "datagram":
        return log
    early = goodbye - ticks
    first_ns, end_ns = outward[early].sent_ns, outward[goodbye].sent_ns
    early += sum(one.direction != plan.outward and one.sent_ns < first_ns for one in ours)
    header = log.header | ({"early": f"packets sent before the first observation: {early}"} if early else {})
    return PacketLog.of(header, [record for record in log.records if record.sent_ns <= end_ns])
