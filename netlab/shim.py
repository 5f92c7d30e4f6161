"""run_shim: impair real traffic between two ports of this machine: what ``netlab shim`` does.

Roof: joins the shim, which knows no profile, with profiles, seeds and the Player.

::

    profile --first states--> Shim --frames--> until stopped --> ShimReport
            --schedules-----> Player
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import time
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from netlab.errors import NetlabError
from netlab.lab_impairment import DirectionPlan, plan_directions
from netlab.namespaces.player import Played, Player
from netlab.namespaces.relay.changes import change_relayed
from netlab.namespaces.relay.requests import LaneCounts
from netlab.namespaces.relay.shim import Shim
from netlab.namespaces.relay.shim_port import parse_port
from netlab.namespaces.relay.wiring import RelayWiring
from netlab.stop_signals import stop_on_signals
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import link_seed

__all__ = ["ShimReport", "run_shim"]

_NAME = "shim"


class ShimReport(Struct, frozen=True, kw_only=True):
    """What a shim has done so far.

    Attributes:
        ports: Names of both interfaces; forward is from the first to the second.
        profile: Name of what it was asked to do.
        seed: Of both directions.
        mtu: Of the link, in bytes.
        priority: The relay's place among processes: ``fifo``, ``nice`` or ``ordinary``.
        duration_s: How long frames have passed.
        forward: Counts of the first direction.
        back: Counts of the second.
    """

    ports: tuple[str, str]
    profile: str
    seed: int
    mtu: int
    priority: str
    duration_s: float
    forward: LaneCounts
    back: LaneCounts


def run_shim(
    ports: Sequence[str],
    profile: ProfilePair,
    *,
    seed: int = 0,
    force: bool = False,
    every_s: float = 1.0,
    show: Callable[[ShimReport], None],
    finish: Callable[[ShimReport], None],
    warn: Callable[[str], None],
) -> None:
    """Relay frames between two ports until SIGINT or SIGTERM.

    Args:
        ports: Two interfaces or ``tap:NAME``.
        profile: What each direction does; schedules are played from the start, and again if they loop.
        seed: Of what is lost and delayed.
        force: Take an interface that carries this machine's default route, too.
        every_s: How often ``show`` is called.
        show: Told what has been done so far.
        finish: Told once what was done in all, also where a port or the relay has vanished; nothing where no
            frame could pass.
        warn: Told what a person must know.

    Raises:
        SpecError: No shim can lie between these ports.
        ProfileError: The profile has slots, which the link model has not.
        PrivilegeError: The caller may not have packet sockets or TAPs.
        KernelError: An interface is not there, or a step of a schedule was refused.
        LabError: The relay has died.
    """
    first, second = (parse_port(text) for text in ports)
    plans = plan_directions(profile, _NAME)
    for text in RelayWiring().warnings():
        warn(text)
    bell = os.eventfd(0, os.EFD_CLOEXEC)
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, bell)
        stack.enter_context(stop_on_signals(lambda _: os.eventfd_write(bell, 1)))
        shim = stack.enter_context(Shim((first, second)).open(force=force))
        for plan in plans:
            if plan.first is not None:
                shim.directions[plan.direction].apply(_first_state(plan, seed))
        shim.join()
        player = _play(shim, plans, seed)
        if player is not None:
            stack.enter_context(player)
        report = functools.partial(_report, shim, profile.name, seed, time.monotonic())
        _watch(shim, player, report, show, finish, bell, every_s)


def _first_state(plan: DirectionPlan, seed: int) -> QdiscState:
    if isinstance(plan.first, LinkProfile):
        return plan.first.to_qdisc_state(link_seed(seed, _NAME, plan.direction, 0))
    assert plan.first is not None  # the caller's condition
    return plan.first


def _play(shim: Shim, plans: Sequence[DirectionPlan], seed: int) -> Player | None:
    """Return a Player of both directions' schedules; None where neither has one."""
    played = []
    for plan in plans:
        if plan.track is not None:
            # The first state had number 0.
            number_from = functools.partial(_step_seed, seed, plan)
            track = msgspec.structs.replace(plan.track, seed_of=number_from)
            played.append(Played(track, shim.directions[plan.direction]))
    if not played:
        return None
    return Player(played, functools.partial(change_relayed, shim.relay))


def _step_seed(seed: int, plan: DirectionPlan, step: int) -> int:
    return link_seed(seed, _NAME, plan.direction, 1 + step)


def _watch(
    shim: Shim,
    player: Player | None,
    report: Callable[[], ShimReport],
    show: Callable[[ShimReport], None],
    finish: Callable[[ShimReport], None],
    bell: int,
    every_s: float,
) -> None:
    """Show what is done until the bell rings or something fails; then say it for the last time."""
    waiting = select.poll()
    waiting.register(bell, select.POLLIN)
    latest = report()
    try:
        while not waiting.poll(every_s * 1e3):
            shim.check()
            if player is not None:
                player.check()
            latest = report()
            show(latest)
    finally:
        with contextlib.suppress(NetlabError):  # a dead relay counts no more: what it said last must do
            latest = report()
        finish(latest)


def _report(shim: Shim, profile: str, seed: int, begin_s: float) -> ShimReport:
    first, second = shim.ports
    return ShimReport(
        ports=(first.name, second.name),
        profile=profile,
        seed=seed,
        mtu=shim.mtu,
        priority=shim.relay.priority,
        duration_s=time.monotonic() - begin_s,
        forward=shim.directions["forward"].counters(),
        back=shim.directions["back"].counters(),
    )
