"""``netlab verify`` on netem, by both clocks: what is asked passes, a link changed behind its back fails.

Seeded links and fixed allowances; in real time wide ones, since the machine may be busy. n as stated.
"""

from __future__ import annotations

import pytest
from timely import timely

from netlab.clock_name import in_virtual_time
from netlab.lab import Lab
from netlab.namespaces.features import kernel_features
from netlab.probe.probe_plan import ProbePlan
from netlab.traces.conformance.allowance import Allowance, default_allowance
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.schedule import Schedule
from netlab.verification.report import VerificationReport, verify_measured
from netlab.verification.stage import LINK_NAME, asked_of, measure_lab, verification_lab
from netlab.verification.verify import verify_in_lab

SEED = 7


def plan() -> ProbePlan:
    """300 packets a second in real time; in virtual time they cost the same however far apart."""
    return ProbePlan(count=600, rate_hz=100.0 if in_virtual_time() else 300.0)


def allowance() -> Allowance:
    return default_allowance(virtual=True) if in_virtual_time() else Allowance(later_s=5e-3, stragglers=0.1)


@pytest.mark.parametrize(
    "profile",
    [
        "ethernet-clean",
        "wifi-normal",
        "wifi-degraded@oneway",
        "measured",
        "delay=20ms,jitter=4ms,loss.mean=5%,loss.burst=3,duplicate=2%",
        "delay=20ms,reorder=10%,rate=2mbit",
        "cellular-lte",
        "satellite-leo",
        "wifi-home",
        "wifi-jammed",
    ],
)
def test_what_is_asked_is_delivered(profile: str) -> None:
    """n = 600 each way; the seed is fixed where netem heeds it, so it passes always or never."""
    pair = parse_preset(profile)
    measured, report = timely(lambda: verify_in_lab(profile, pair, plan(), SEED, None, allowance()))
    assert report.holds, [(one.direction, one.failed) for one in report.conformance.directions]
    assert report.seeded == kernel_features().seed
    assert {one.trace.n for one in measured.values()} == {600}
    assert (report.changes is not None) == isinstance(pair.forward, Schedule)


def verify_changed(pair: ProfilePair, behind_its_back: ProfilePair) -> VerificationReport:
    """Ask for one pair, put the link into another, measure."""

    def change(lab: Lab) -> None:
        lab.links[LINK_NAME].apply(behind_its_back)

    with verification_lab(pair, SEED, None) as lab:
        change(lab)
        measured = measure_lab(lab, pair, plan())
    return verify_measured(
        asked_of(pair),
        measured,
        allowance(),
        profile="changed",
        plan=plan(),
        seed=SEED,
        wiring="host",
    )


@pytest.mark.parametrize(
    ("changed", "caught_by"),
    [
        ("delay=45ms,jitter=5ms,loss=5%,ordered=false", "mean"),
        ("delay=30ms,jitter=5ms,loss=20%,ordered=false", "loss"),
        ("delay=30ms,jitter=5ms,loss=5%,duplicate=10%,ordered=false", "duplicated"),
    ],
)
def test_a_link_changed_behind_its_back_is_found_out(changed: str, caught_by: str) -> None:
    """n = 600; each difference is more than 8 standard errors, allowance included."""
    asked = parse_preset("delay=30ms,jitter=5ms,loss=5%,ordered=false")
    report = verify_changed(asked, parse_preset(changed))
    for direction in report.conformance.directions:
        assert caught_by in direction.failed, direction


def test_a_dead_link_is_measured_too() -> None:
    report = verify_in_lab("dead", parse_preset("loss=100%"), plan(), SEED, None, allowance())[1]
    assert report.holds
    assert [one.arrived for one in report.conformance.directions] == [0, 0]


@pytest.mark.virtual_time("timers are on time there alone")
def test_what_netem_delivers_is_the_models_to_the_microsecond() -> None:
    """The same seed and packets as the model's: no loss differs, and no delay by more than a few clock steps."""
    from netlab.verification.verify import verify_on_model

    pair = parse_preset("wifi-normal")
    netem = verify_in_lab("wifi-normal", pair, plan(), SEED, None, allowance())[0]
    model = verify_on_model("wifi-normal", pair, plan(), SEED)[0]
    for direction in ("forward", "back"):
        here, there = netem[direction].trace, model[direction].trace
        assert (here.lost == there.lost).all()
        apart_s = abs(here.delays_s - there.delays_s)
        assert apart_s.max() < 20e-6
