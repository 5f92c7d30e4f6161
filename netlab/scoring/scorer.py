"""Scorer: how well a policy does on a network, in the model: from what a person asks for to a Score.

::

    policy --find_entrant--> Entrant --.
    words --find_network--> network ---+--> Course --play--> returns [E] --> Score
    Overrides --settle_control---------'
"""

from __future__ import annotations

import functools
import os
import platform
import time
from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct

import netlab
from netlab.agents.policy_file import PolicyFile
from netlab.envs.bound import check_types, take_numpy_numbers, whole_within
from netlab.envs.registry import find_task
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.seeds import run_seed
from netlab.errors import SpecError
from netlab.lab_impairment import CLEAN
from netlab.machine import machine
from netlab.messages import (
    MAX_SEED,
    ActuatorName,
    FallbackName,
    HorizonWord,
    TaskDescription,
    horizon_number,
    horizon_word,
)
from netlab.network_words import NO_NETWORK, as_network, find_network
from netlab.scoring.course import Course, describe
from netlab.scoring.entrant import Entrant, find_entrant
from netlab.scoring.network_figures import NetworkFigures
from netlab.scoring.score import PlayedEpisodes, Score, standard_error
from netlab.settled_control import AskedControl, settle_control
from netlab.traces.network_distribution import NetworkDistribution

__all__ = ["MAX_EPISODES", "Overrides", "score"]

MAX_EPISODES = 100_000

_POOL_SEED = MAX_SEED
"""Of the networks that are drawn for scores: one pool for all of them, which training meets with no other seed."""


class Overrides(Struct, frozen=True, kw_only=True):
    """How a policy is to be played other than its file says; None leaves it as it is there.

    Attributes:
        actuator: What plays its actions.
        horizon: D of ``scheduled`` or ``planned``.
        fallback: What a tick without an action plays.
    """

    actuator: ActuatorName | None = None
    horizon: HorizonWord | None = None
    fallback: FallbackName | None = None

    def __post_init__(self) -> None:
        take_numpy_numbers(self)

    def apply(
        self, entrant: Entrant, network: NetworkDistribution | None, task: TaskDescription
    ) -> NetworkOptions:
        """Return how a policy is played on a network with these in force.

        Args:
            entrant: The policy.
            network: As ``find_network`` returns it.
            task: What it controls.

        Raises:
            SpecError: A value is none that they can have, or they contradict one another.
            ProfileError: D is to be fitted to the network, and none fits.
        """
        check_types(self, "overrides", "docs/control.md has the actuators, D of each, and the fallbacks")
        asked = AskedControl(
            actuator=self.actuator, horizon_ticks=horizon_number(self.horizon), fallback=self.fallback
        )
        settled = settle_control(entrant, asked, CLEAN if network is None else network.fixed, task.rate_hz)
        control = NetworkOptions(
            actuator=settled.actuator,
            horizon=horizon_word(settled.horizon_ticks),
            fallback=settled.fallback,
            features=entrant.features,
        )
        control.check()
        return control


def score(
    policy: PolicyFile | str | os.PathLike[str],
    network: str = NO_NETWORK,
    *,
    episodes: int = 100,
    seed: int = 0,
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    options: Mapping[str, int | float] = {},
    report: Callable[[int], None] = lambda ended: None,
) -> Score:
    """Play episodes of a policy on a network in the model, and add them up.

    Args:
        policy: A policy file, its path, or the name of a policy.
        network: In words: a preset, a file, a distribution; ``none`` for no network.
        episodes: How many.
        seed: Episode i is the first one of the run with the seed ``seed + i``; after the last seed comes 0.
        overrides: How it is to be played other than its file says.
        options: Numbers that change the task, by name, for example ``push_n``.
        report: Told how many episodes have ended.

    Raises:
        NetlabError: There is no such policy, network or option, or they do not go together.
    """
    episodes = whole_within("episodes", episodes, 1, MAX_EPISODES)
    seed = run_seed(seed)
    for key, value, kind, rule, hint in (
        ("network", network, str, "must be text", f"a preset's name, a file, or {NO_NETWORK!r} for no network"),
        ("overrides", overrides, Overrides, "must be Overrides", "Overrides(horizon=9), or left out"),
        ("options", options, Mapping, "must be numbers by name", "a dict such as {'push_n': 3}, or left out"),
    ):
        if not isinstance(value, kind):
            raise SpecError(f"{type(value).__name__}: {rule}", key=key, hint=hint)
    entrant = find_entrant(policy)
    found = find_network(network)
    task = describe(entrant.task, entrant.rate_hz, options)
    entrant.check(task)
    control = overrides.apply(entrant, found, task)
    course = Course(
        task=entrant.task,
        rate_hz=entrant.rate_hz,
        options=options,
        network=as_network(found, _POOL_SEED),
        control=control,
    )
    seeds = tuple(one % (MAX_SEED + 1) for one in range(seed, seed + episodes))
    began_s = time.perf_counter()
    if entrant.file is not None and course.has_rows:
        played = course.play_rows(entrant.file, seeds, report)
    else:
        played = course.play_singly(functools.partial(entrant.make, task), seeds, report)
    return _added_up(
        entrant,
        course,
        played,
        network=network,
        figures=NetworkFigures.of(found, task.rate_hz),
        seeds=seeds,
        seconds=time.perf_counter() - began_s,
    )


def _added_up(
    entrant: Entrant,
    course: Course,
    played: PlayedEpisodes,
    *,
    network: str,
    figures: NetworkFigures,
    seeds: tuple[int, ...],
    seconds: float,
) -> Score:
    successes = played.terminated if find_task(entrant.task).has_goal else None
    return Score(
        policy=entrant.name,
        policy_sha256=entrant.recipe.sha256,
        card=None if entrant.file is None else entrant.file.card,
        task=entrant.task,
        task_options=dict(course.options),
        network=network,
        figures=figures,
        control=course.control,
        seeds=seeds,
        returns=played.returns,
        ticks=played.ticks,
        successes=successes,
        mean=float(np.mean(played.returns)),
        standard_error=standard_error(played.returns),
        minimum=min(played.returns),
        success_ratio=None if successes is None else sum(successes) / len(successes),
        seconds=seconds,
        versions={"netlab": netlab.__version__, "numpy": np.__version__, "python": platform.python_version()},
        machine=machine("model", "model"),
    )
