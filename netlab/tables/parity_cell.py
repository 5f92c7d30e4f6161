"""ParityCell: some episodes of one policy, played by services in a lab and by the wrapper for learning.

::

    ParityCell --netlab run --mode lab--> ticks --.
               --VirtualNetwork---------> ticks ---+--> ParityEpisodes: returns of both, where they part, and why
               --the model's packets----> how close a race was (``parity_race.py``)
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.episode.model import play_on_model
from netlab.episode.run import read_ticks
from netlab.errors import LabError, SpecError
from netlab.messages import ADAPTIVE_HORIZON, MAX_ACTIONS, ActuatorName
from netlab.modes.corner import episode_plan
from netlab.modes.plan import RunPlan
from netlab.modes.report import RunReport
from netlab.modes.request import RunRequest
from netlab.service_run import netlab_command
from netlab.tables.cell import cell_key
from netlab.tables.deciding_versions import deciding_versions
from netlab.tables.parity_difference import FirstDifference, by_episode, first_differences, of_log
from netlab.tables.parity_engines import ENGINES, kernel_of
from netlab.tables.parity_race import CLOSE_US, answers_ns, nearest_pair_us, nearest_tick_us, observations_ns
from netlab.tables.parity_wrapper import EpisodeTick, play_in_wrapper
from netlab.told_error import told_error

__all__ = ["ParityCell", "ParityEpisodes", "Parting"]


class Parting(Struct, frozen=True):
    """Where an episode is played in two ways, and from which tick on.

    Attributes:
        episode: Number of the episode in its run.
        tick: The first tick that differs.
        what: What differs there: ``tick``, ``source``, ``age``, ``action``, ``reward`` or ``end``.
        nearest_us: How close an arrival was to the beginning of that tick, of a neighbour, or of one whose
            observation decided what is played there, on the model; None where nothing arrived near them.
        pair_us: How close to one another two observations reached the policy in the ticks before, on the model;
            None where fewer than two did.
    """

    episode: int
    tick: int
    what: str
    nearest_us: float | None
    pair_us: float | None = None

    @property
    def is_race_with_tick(self) -> bool:
        """Whether an answer arrived so close to a tick that it may have been in time on one side alone."""
        return self.nearest_us is not None and self.nearest_us <= CLOSE_US

    @property
    def is_race(self) -> bool:
        """Whether it is that, or two observations came so close that one side may have sent an answer more."""
        return self.is_race_with_tick or (self.pair_us is not None and self.pair_us <= CLOSE_US)


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
        policy_sha256: Of its file; empty of one that is code.
        network: In words; empty for a clean link.
        engine: One of ``ENGINES``.
        kernel: Identity of the kernel that carries the services' packets.
        actuator: In place of what the policy's card says.
        options: Numbers that change the task, by name.
        seed: Of the run.
        episodes: How many.
    """

    policy: str
    policy_sha256: str = ""
    network: str
    engine: str
    kernel: str
    actuator: ActuatorName | None = None
    options: dict[str, float] = {}
    seed: int
    episodes: int

    @property
    def key(self) -> str:
        """SHA-256 of all that decides the result: a file's path is not in it, its contents are; see ``Cell``."""
        placed = msgspec.structs.replace(self, policy="") if self.policy_sha256 else self
        return cell_key("parity", placed, deciding_versions())

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
            NetlabError: They cannot be played here, or policy or kernel are not what they were.
        """
        began_s = time.monotonic()
        plan = self._plan()
        report, services = self._play_services()
        self._require_same(plan, report)
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

    def _require_same(self, plan: RunPlan, report: RunReport) -> None:
        """Refuse what came of another policy, or of another kernel, than the key says."""
        hint = "run the same command again"
        if {plan.recipe.sha256, report.policy_sha256} != {self.policy_sha256}:
            raise SpecError(f"{self.policy} has changed", key="policy", hint=hint)
        kernel = kernel_of(report.run.machine)
        if kernel != self.kernel:
            raise SpecError(f"it was {kernel}, not {self.kernel}", key=f"kernel of {self.engine}", hint=hint)

    def _play_services(self) -> tuple[RunReport, list[EpisodeTick]]:
        """Play in a lab, by the command that people use."""
        with tempfile.TemporaryDirectory(prefix="netlab-parity-") as folder:
            ticks = Path(folder) / "ticks.jsonl"
            done = subprocess.run(self._command(ticks), capture_output=True, check=False, stdin=subprocess.DEVNULL)
            if done.returncode:
                told = told_error(done.stderr)
                raise LabError(f"netlab run ended with status {done.returncode}: {told.message}", hint=told.hint)
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
    sent_ns = [one.sent_ns for one in records if one.direction == "forward"]
    observed_ns, answered_ns = observations_ns(records), answers_ns(records)
    begins_ns, first = {}, 0
    for episode in by_episode(wrapper):
        begins_ns[episode[0].episode] = sent_ns[first]
        first += len(episode)
    period_ns, reach_ticks = 1e9 / plan.task.rate_hz, _reach_ticks(plan)
    return tuple(
        Parting(
            one.episode,
            one.tick,
            one.what,
            nearest_tick_us(answered_ns, begins_ns[one.episode], period_ns, one.tick, reach_ticks),
            nearest_pair_us(observed_ns, begins_ns[one.episode], period_ns, one.tick, reach_ticks),
        )
        for one in found
    )


def _reach_ticks(plan: RunPlan) -> int:
    """Return how many ticks after it was observed something can show in what is played, at the latest.

    What arrived in time is in the observation of that tick, and the decision on that is for D ticks later.
    """
    if not ACTUATOR_TRAITS[plan.actuator].has_horizon:
        return 0
    return MAX_ACTIONS if plan.horizon_ticks == ADAPTIVE_HORIZON else plan.horizon_ticks
