"""The document and the table of a verification: schedules in part, how they were played, allowances in words."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import pytest

from netlab.cli import verify as command
from netlab.clock_name import CLOCK_VARIABLE, REAL, VIRTUAL
from netlab.namespaces.play_log import PlayerCounts
from netlab.probe.probe_plan import ProbePlan
from netlab.traces.conformance.allowance import EXACT, Allowance
from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.likeness import Likeness
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.provenance import Provenance
from netlab.traces.schedule import Schedule, Step
from netlab.verification import verify
from netlab.verification.default_plan import MOST_COUNT, default_count, default_rate_hz, plan_warnings
from netlab.verification.report import VerificationReport, verify_measured
from netlab.verification.report_text import report_lines
from netlab.verification.stage import asked_of, measure_model
from netlab.verification.verify import verify_on_model


def stepped(duration_s: float = 30.0) -> ProfilePair:
    steps = (Step(0.0, LinkProfile(delay_s=0.01)), Step(duration_s / 3, LinkProfile(delay_s=0.03)))
    played = Schedule(steps, duration_s, loop=True)
    return ProfilePair("stepped", played, played)


def report_of(pair: ProfilePair, plan: ProbePlan, allowance: Allowance = EXACT) -> VerificationReport:
    asked = asked_of(pair)
    measured = measure_model(asked, plan, 7)
    counts = PlayerCounts(applied=38, superseded=2, failed=1, late_max_s=0.00031)
    return verify_measured(
        asked, measured, allowance, profile=pair.name, plan=plan, seed=7, wiring="model", changes=counts
    )


def test_a_part_of_a_schedule_is_told_as_a_part() -> None:
    """4 s of a pass of 30 s: it passes, and nobody can take it for the whole."""
    said: list[str] = []
    report = verify_on_model("stepped", stepped(), ProbePlan(count=200, rate_hz=50.0), 7, say=said.append)[1]
    assert report.holds and report.pass_s == 30.0
    (warning,) = report.warnings
    assert said == [warning]
    assert "4 s of a pass of 30 s" in warning and "--count 1500" in warning
    lines = list(report_lines(report))
    assert "measured: 4 s of a pass of 30 s" in lines
    assert msgspec.json.decode(msgspec.json.encode(report), type=VerificationReport) == report


def test_how_a_schedule_was_played_is_told() -> None:
    lines = list(report_lines(report_of(stepped(), ProbePlan(count=200, rate_hz=50.0))))
    assert "schedule: 38 steps put in force, 0.31 ms late at most; 2 superseded, 1 refused" in lines


def test_a_whole_pass_or_no_schedule_needs_no_warning() -> None:
    report = verify_on_model("stepped", stepped(4.0), ProbePlan(count=200, rate_hz=50.0), 7)[1]
    assert (report.pass_s, report.warnings) == (4.0, [])
    report = verify_on_model("wire", parse_preset("delay=5ms"), ProbePlan(count=50), 7)[1]
    assert (report.pass_s, report.warnings, report.likeness) == (None, [], [])
    assert not any(line.startswith(("measured:", "schedule:")) for line in report_lines(report))


def test_the_allowance_is_told_in_words() -> None:
    pair = parse_preset("delay=5ms")
    lines = list(report_lines(report_of(pair, ProbePlan(count=100), Allowance(later_s=1e-3, stragglers=0.02))))
    assert lines[1] == "allowed beside chance: every packet up to 1 ms later"
    assert "and 2 % of the packets however much" in lines[2]
    assert all("\n" not in line and len(line) < 120 for line in lines)
    p99 = next(line for line in lines if line.startswith("  p99"))
    assert p99.endswith("  unbounded  pass")  # and the bound below was kept
    lines = list(report_lines(report_of(pair, ProbePlan(count=100), Allowance(later_s=1e-5))))
    assert lines[1] == "allowed beside chance: every packet up to 0.01 ms later"
    assert "however much" not in lines[2]


@pytest.mark.parametrize(("clock", "advised"), [(REAL, True), (VIRTUAL, False)])
def test_virtual_time_is_advised_where_it_is_not_taken_yet(clock: str, advised: bool) -> None:
    """Where little can be seen of short delays, which is said on either clock."""
    report = report_of(parse_preset("delay=1ms"), ProbePlan(count=100))
    like = Likeness(
        source="wifi.txt, ping",
        path="round-trip",
        measured=300,
        delivered=100,
        median_s=0.002,
        allowed_s=0.002,
        ks=0.02,
        ks_beyond=0.0,
        w1_s=1e-5,
        expected_ks=0.03,
        expected_w1_s=1e-5,
        most_ks=0.05,
        most_w1_s=1e-3,
        predicted_ks=None,
        predicted_w1_s=None,
        holds=True,
    )
    conformance = msgspec.structs.replace(report.conformance, clock=clock)
    text = "\n".join(report_lines(msgspec.structs.replace(report, conformance=conformance, likeness=[like])))
    assert "2.000 ms of lateness are allowed beside a median of 2.000 ms: little can be seen" in text
    assert ("--virtual-time" in text, "real time;" in text) == (advised, advised)
    assert f"{clock} time, seed 7" in text


@pytest.mark.parametrize("clock", [REAL, VIRTUAL])
def test_how_long_it_takes_is_told_by_the_clock_it_takes_it_on(
    clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 s of packets; in virtual time nobody waits so long for them."""
    pair, plan, said = parse_preset("delay=5ms"), ProbePlan(count=2000), list[str]()
    engine = SimpleNamespace(reason="somewhere", wiring=None)
    monkeypatch.setenv(CLOCK_VARIABLE, clock)
    monkeypatch.setattr(command, "on_model", lambda ctx: False)
    monkeypatch.setattr(command, "the_engine", lambda ctx: engine)
    monkeypatch.setattr(command, "say", said.append)
    monkeypatch.setattr(verify, "verify_in_lab", lambda *_, **__: ({}, None))
    command._verify(None, "wire", pair, plan, 7, EXACT, [])  # type: ignore[arg-type]
    (told,) = said
    assert told.startswith("the lab runs somewhere; about 21 s")
    assert told.endswith(" s") == (clock == REAL)
    assert ("by its clock" in told) == (clock == VIRTUAL)


def test_what_a_schedule_asks_for_is_found_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a schedule of 36,000 steps it takes half a second."""
    made: list[object] = []
    whole = Schedule.to_qdisc_states

    def counted(self: Schedule, *rest: object, **named: object) -> object:
        made.append(self)
        return whole(self, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Schedule, "to_qdisc_states", counted)
    verify_on_model("stepped", stepped(), ProbePlan(count=100), 7)
    assert len(made) == 2, "one a direction"
    assert verify.asked_of is asked_of
    assert Asked.of(asked_of(stepped())["back"], 3.0).begin_s == 3.0


def test_how_much_is_sent_where_nobody_says() -> None:
    pair = stepped(300.0)
    assert default_count(pair, 100.0, virtual=True) == 30_000
    assert default_count(pair, 100.0, virtual=False) == 2000
    assert default_count(stepped(1e5), 100.0, virtual=True) == MOST_COUNT
    assert default_count(parse_preset("wifi-normal"), 100.0, virtual=True) == 2000
    assert default_rate_hz(pair) == 100.0
    fitted = msgspec.structs.replace(pair, provenance=Provenance(method="fit", packet_rate_hz=30.0))
    assert default_rate_hz(fitted) == 30.0
    assert plan_warnings(fitted, ProbePlan(count=9000, rate_hz=30.0)) == []
    (warning,) = plan_warnings(fitted, ProbePlan(count=30_000, rate_hz=100.0))
    assert "100 packets a second, and the profile was fitted for 30" in warning
