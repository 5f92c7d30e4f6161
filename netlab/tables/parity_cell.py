"""ParityCell: some episodes of one policy, played by services in a lab and by the wrapper for learning.

::

    ParityCell --netlab run --mode lab--> ticks --.
               --VirtualNetwork---------> ticks ---+--> ParityEpisodes: returns of both, where they part, and why
               --the model's packets----> how close an arrival was to a tick's beginning
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

import msgspec
from msgspec import Struct

import netlab
from netlab.agents.policy import find_policy
from netlab.episode.model import play_on_model
from netlab.episode.run import read_ticks
from netlab.errors import LabError
from netlab.messages import ActuatorName
from netlab.modes.corner import episode_plan
from netlab.modes.plan import RunPlan
from netlab.modes.report import RunReport
from netlab.modes.request import RunRequest
from netlab.service_run import netlab_command
from netlab.tables.cell import cell_key
from netlab.tables.code_digest import code_digest
from netlab.tables.parity_difference import FirstDifference, by_episode, first_differences, of_log
from netlab.tables.parity_wrapper import EpisodeTick, play_in_wrapper
from netlab.traces.packets.packet_log import PacketRecord

__all__ = ["ENGINES", "VIRTUAL", "ParityCell", "ParityEpisodes", "Parting"]

VIRTUAL = "guest, virtual time"
ENGINES = {
    VIRTUAL: ("--virtual-time",),
    "guest, real time": ("--on", "guest"),
    "relay, real time": ("--on", "relay"),
    "host, real time": ("--on", "host"),
}
"""What the services' packets go through, and how that is asked for."""

_DECIDING = (
    "netlab.agents",
    "netlab.control",
    "netlab.envs",
    "netlab.episode",
    "netlab.modes",
    "netlab.namespaces",
    "netlab.traces",
    "netlab.wire",
)
"""Packages whose code decides what an episode does."""


class Parting(Struct, frozen=True):
    """Where an episode is played in two ways, and from which tick on.

    Attributes:
        episode: Number of the episode in its run.
        tick: The first tick that differs.
        what: What differs there: ``source``, ``age``, ``action``, ``reward`` or ``end``.
        nearest_us: How close an arrival was to the beginning of that tick, or of a neighbour, on the model; None
            where nothing arrived near them.
    """

    episode: int
    tick: int
    what: str
    nearest_us: float | None


class ParityEpisodes(Struct, frozen=True, kw_only=True):
    """What came of a cell.

    Attributes:
        services: Return of each episode in the lab.
        wrapper: Return of each in the wrapper.
        ticks: Ticks that the services played.
        partings: Of the episodes that are not the same tick by tick.
        early: Which packets took draws that were meant for an episode's, in words: those cannot agree then.
        machine: Where the services ran.
        seconds: How long it took.
    """

    services: tuple[float, ...]
    wrapper: tuple[float, ...]
    ticks: int
    partings: tuple[Parting, ...]
    early: str
    machine: dict[str, object]
    seconds: float


class ParityCell(Struct, frozen=True, kw_only=True):
    """Episodes of one run.

    Attributes:
        policy: Name or file.
        network: In words; empty for a clean link.
        engine: One of ``ENGINES``.
        actuator: In place of what the policy's card says.
        options: Numbers that change the task, by name.
        seed: Of the run.
        episodes: How many.
    """

    policy: str
    network: str
    engine: str
    actuator: ActuatorName | None = None
    options: dict[str, float] = {}
    seed: int
    episodes: int

    @property
    def key(self) -> str:
        """SHA-256 of all that decides the result; see ``Cell``."""
        return cell_key(
            "parity", self, find_policy(self.policy).sha256, netlab.__version__, code_digest(*_DECIDING)
        )

    @property
    def title(self) -> str:
        """What it is, in a line; see ``Cell``."""
        actuator = f", {self.actuator}" if self.actuator else ""
        return f"{self.policy}{actuator} on {self.network}, {self.engine}, run {self.seed}"

    def compute(self) -> bytes:
        """Play, and return ``ParityEpisodes`` as JSON; see ``Cell``.

        Raises:
            NetlabError: They cannot be played here.
        """
        return msgspec.json.encode(self.play())

    def play(self) -> ParityEpisodes:
        """Play them both ways.

        Raises:
            NetlabError: They cannot be played here.
        """
        began_s = time.monotonic()
        plan = self._plan()
        report, services = self._play_services()
        wrapper = play_in_wrapper(plan)
        found = first_differences(wrapper, services)
        return ParityEpisodes(
            services=_returns(services),
            wrapper=_returns(wrapper),
            ticks=len(services),
            partings=_partings(plan, found, wrapper),
            early=report.early,
            machine=dict(report.run.machine),
            seconds=time.monotonic() - began_s,
        )

    def _plan(self) -> RunPlan:
        request = RunRequest(
            policy=self.policy,
            network=self.network,
            actuator=self.actuator,
            options=self.options,
            episodes=self.episodes,
            seed=self.seed,
        )
        return RunPlan.of(request, "link")

    def _play_services(self) -> tuple[RunReport, list[EpisodeTick]]:
        """Play in a lab, by the command that people use."""
        with tempfile.TemporaryDirectory(prefix="netlab-parity-") as folder:
            ticks = Path(folder) / "ticks.jsonl"
            done = subprocess.run(self._command(ticks), capture_output=True, check=False, stdin=subprocess.DEVNULL)
            if done.returncode:
                words = done.stderr.decode("utf-8", "replace").strip().splitlines()
                raise LabError(f"{self.policy} on {self.network or 'a clean link'}: {words[-1] if words else '?'}")
            report = msgspec.json.decode(done.stdout, type=RunReport)
            return report, of_log(read_ticks(ticks))

    def _command(self, ticks: Path) -> list[str]:
        return netlab_command(
            "run", self.policy,
            "--mode", "lab",
            *ENGINES[self.engine],
            *(("--network", self.network) if self.network else ()),
            *(("--actuator", self.actuator) if self.actuator else ()),
            *(word for name, number in self.options.items() for word in ("--option", f"{name}={number!r}")),
            "--episodes", self.episodes,
            "--seed", self.seed,
            "--ticks", ticks,
            "--json",
        )  # fmt: skip


def _returns(ticks: list[EpisodeTick]) -> tuple[float, ...]:
    return tuple(sum(tick.reward for tick in episode) for episode in by_episode(ticks))


def _partings(plan: RunPlan, found: list[FirstDifference], wrapper: list[EpisodeTick]) -> tuple[Parting, ...]:
    """Return where episodes part, with how close arrivals were there, by the packets of the model."""
    if not found:
        return ()
    records = [one for one in play_on_model(episode_plan(plan)).packets.records if not one.is_further_copy]
    observed_ns = [one.sent_ns for one in records if one.direction == "forward"]
    first, firsts = 0, []
    for episode in by_episode(wrapper):
        firsts.append(first)
        first += len(episode)
    period_ns = 1e9 / plan.task.rate_hz
    return tuple(
        Parting(
            one.episode,
            one.tick,
            one.what,
            _nearest_us(records, observed_ns[firsts[one.episode]] + round(one.tick * period_ns), period_ns),
        )
        for one in found
    )


def _nearest_us(records: list[PacketRecord], tick_ns: int, period_ns: float) -> float | None:
    """Return how close an arrival was to the beginning of a tick, or of its neighbours."""
    arrivals = [one.delivered_ns for one in records if one.delivered_ns is not None]
    moments = [tick_ns + round(step * period_ns) for step in (-1, 0, 1)]
    near = [
        abs(arrival - moment) for arrival in arrivals for moment in moments if abs(arrival - moment) < period_ns
    ]
    return min(near) / 1e3 if near else None
