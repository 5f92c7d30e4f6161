"""verify_in_lab, verify_on_model: a profile measured and judged, in one call: what ``netlab verify`` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from netlab.clock_name import VIRTUAL
from netlab.namespaces.wire import Wiring
from netlab.probe.probe_plan import ProbePlan
from netlab.traces.conformance.allowance import EXACT, Allowance
from netlab.traces.pair import ProfilePair
from netlab.traces.seed import Direction
from netlab.traces.trace import Trace
from netlab.verification.default_plan import plan_warnings
from netlab.verification.measurement import MeasuredFlow
from netlab.verification.report import VerificationReport, verify_measured
from netlab.verification.stage import asked_of, measure_lab, measure_model, verification_lab
from netlab.verification.tail import Tail

__all__ = ["verify_in_lab", "verify_on_model"]

Verified = tuple[dict[Direction, MeasuredFlow], VerificationReport]


def verify_in_lab(
    profile: str,
    pair: ProfilePair,
    plan: ProbePlan,
    seed: int,
    wiring: Wiring | None,
    allowance: Allowance,
    *,
    data: Sequence[Trace] = (),
    watch: Callable[[float], None] = lambda share: None,
    say: Callable[[str], None] = lambda text: None,
) -> Verified:
    """Make a lab with this link, send flows both ways, judge what was delivered.

    Args:
        profile: What was asked, as it was typed.
        pair: What it means.
        plan: What is sent each way.
        seed: Of the link and of the simulations.
        wiring: What carries the packets; this kernel's netem for None.
        allowance: What is allowed beside chance.
        data: What was measured of the network that the profile is to be like, to compare with.
        watch: Told which share of the time has passed.
        say: Told what a person must know.

    Raises:
        ProfileError: What was asked cannot be judged; nothing has been made then.
        SpecError: It takes too long; likewise.
        NetlabError: The lab cannot be made, or not measured.
    """
    asked = asked_of(pair)
    Tail.of(asked.values(), plan)  # refused before there is a lab
    about_plan = plan_warnings(pair, plan)
    for text in about_plan:
        say(text)
    with verification_lab(pair, seed, wiring) as lab:
        for text in lab.warnings:
            say(text)
        measured = measure_lab(lab, pair, plan, asked=asked, watch=watch)
        changes = None if lab.player is None else lab.player.counts
        name, seeded, warnings = lab.wiring.name, lab.seeded, lab.warnings
    say("measured; simulating what was to be expected")
    report = verify_measured(
        asked,
        measured,
        allowance,
        profile=profile,
        plan=plan,
        seed=seed,
        wiring=name,
        seeded=seeded,
        changes=changes,
        warnings=[*pair.warnings(), *about_plan, *warnings],
        data=data,
        provenance=pair.provenance,
    )
    return measured, report


def verify_on_model(
    profile: str,
    pair: ProfilePair,
    plan: ProbePlan,
    seed: int,
    *,
    data: Sequence[Trace] = (),
    say: Callable[[str], None] = lambda text: None,
) -> Verified:
    """Judge what the model delivers, with the seeds that a lab's link would have; nothing is allowed for.

    Arguments as for ``verify_in_lab``.

    Raises:
        ProfileError: What was asked cannot be judged.
    """
    asked = asked_of(pair)
    about_plan = plan_warnings(pair, plan)
    for text in about_plan:
        say(text)
    measured = measure_model(asked, plan, seed)
    report = verify_measured(
        asked,
        measured,
        EXACT,
        profile=profile,
        plan=plan,
        seed=seed,
        wiring="model",
        clock=VIRTUAL,
        warnings=[*pair.warnings(), *about_plan],
        data=data,
        provenance=pair.provenance,
    )
    return measured, report
