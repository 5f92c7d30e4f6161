"""``netlab verify`` as far as no packet is sent: the model, what is refused, tables, documents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from measured_network import RATE_HZ, fitted_profile

from netlab.cli.main import main
from netlab.errors import LabError
from netlab.probe.probe_plan import ProbePlan
from netlab.traces.presets import parse_preset
from netlab.traces.toml_profile import write_profile
from netlab.traces.trace_file import read_trace, write_trace
from netlab.verification import everywhere
from netlab.verification.everywhere import Corner, Everywhere, comparison_lines
from netlab.verification.flow_order import FlowOrder
from netlab.verification.report import VerificationReport
from netlab.verification.report_text import report_lines
from netlab.verification.verify import verify_on_model

PLAN = ProbePlan(count=400)


def netlab(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def on_model(profile: str, seed: int = 7) -> VerificationReport:
    return verify_on_model(profile, parse_preset(profile), PLAN, seed)[1]


@pytest.mark.parametrize(
    "profile", ["wifi-normal", "measured", "delay=5ms,loss.mean=5%,loss.burst=3,duplicate=1%"]
)
def test_the_model_delivers_what_is_asked(profile: str) -> None:
    done = netlab("verify", profile, "--on", "model", "--count", "400")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == "pass: delivered as asked"
    assert done.stdout.count("lag-1") == 2, "a table each way"


def test_document_and_traces_are_written_and_agree(tmp_path: Path) -> None:
    output, traces = tmp_path / "result.json", tmp_path / "delivered"
    done = netlab(
        "verify", "wifi-degraded", "--on", "model", "--count", "300", "--rate", "50", "--size", "100B",
        "--seed", "5", "--output", str(output), "--traces", str(traces), "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    written = msgspec.json.decode(output.read_bytes(), type=VerificationReport)
    assert json.loads(output.read_bytes()) == json.loads(done.stdout)
    assert (written.seed, written.profile, written.plan.rate_hz) == (5, "wifi-degraded", 50.0)
    assert (written.machine["engine"], written.machine["clock"]) == ("model", "virtual")
    for direction in written.conformance.directions:
        trace = read_trace(traces / f"{direction.direction}.csv")
        assert (trace.n, int((trace.lost == 0).sum())) == (300, direction.arrived)
        assert direction.length_bytes == 100 + 8 + 20 + 14


def test_how_long_to_send_may_be_said_instead_of_how_many() -> None:
    done = netlab("verify", "delay=5ms", "--on", "model", "--rate", "50", "--for", "4s", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["plan"]["count"] == 200


def test_the_same_seed_gives_the_same_document() -> None:
    assert on_model("wifi-normal") == on_model("wifi-normal") != on_model("wifi-normal", seed=8)


REFUSED: list[tuple[Sequence[str], str]] = [
    (("nosuch", "--on", "model"), "unknown preset"),
    (
        ("wifi-normal", "--count", "0", "--on", "model"),
        "--count: 0: must be 1 .. 1,000,000\nhint: one packet is the least",
    ),
    (
        ("wifi-normal", "--rate", "1e9", "--on", "model"),
        "--rate: 1000000000.0: must be 0.1 .. 10,000\nhint: a rate at which one process can send",
    ),
    (("wifi-normal", "--for", "0s", "--on", "model"), "--for: 0.0: must be"),
    (("wifi-normal", "--for", "3s", "--count", "9", "--on", "model"), "--count and --for say the same thing"),
    (
        ("wifi-normal", "--size", "1B", "--on", "model"),
        "hint: a packet bears its number, and is one Ethernet frame",
    ),
    (("wifi-normal", "--size", "9000B", "--on", "model"), "--size: 9000: must be"),
    (("delay=5ms,slot.delay=10ms", "--on", "model"), "slot"),
    (("wifi-normal", "--on", "model", "--virtual-time"), "the model has no kernel"),
    (("wifi-normal", "--on", "model", "--check"), "the model has no kernel"),
    (("wifi-normal", "--all-engines", "--on", "guest"), "--all-engines runs on all of them"),
    (("wifi-normal", "--all-engines", "--virtual-time"), "--all-engines runs on all of them"),
    (("wifi-normal", "--all-engines", "--traces", "t"), "traces of its own"),
    (("wifi-normal", "--on", "model", "--output", "/nosuch/result.json"), "--output"),
    (("wifi-normal", "--on", "model", "--traces", "/proc/nosuch"), "--traces"),
    (("wifi-normal", "--on", "model", "--data", "/nosuch/wifi.csv"), "/nosuch/wifi.csv"),
]


@pytest.mark.parametrize(("words", "says"), REFUSED, ids=[" ".join(words)[:40] for words, _ in REFUSED])
def test_bad_input_is_refused_before_anything_is_measured(words: Sequence[str], says: str) -> None:
    done = netlab("verify", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr


def test_a_failure_is_told_in_the_table() -> None:
    report = on_model("delay=30ms,jitter=5ms")
    forward = report.conformance.directions[0]
    mean = next(one for one in forward.statistics if one.name == "mean")
    wrong = msgspec.structs.replace(mean, delivered=0.05, holds=False)
    statistics = [wrong if one is mean else one for one in forward.statistics]
    failed = msgspec.structs.replace(forward, statistics=statistics, holds=False)
    conformance = msgspec.structs.replace(
        report.conformance, directions=[failed, report.conformance.directions[1]], holds=False
    )
    lines = list(report_lines(msgspec.structs.replace(report, conformance=conformance)))
    assert lines[-1] == "FAIL: forward mean"
    assert [line.split()[-1] for line in lines if line.startswith("  mean")] == ["FAIL", "pass"]


@pytest.mark.parametrize("count", ["1", "29"])
def test_too_few_packets_say_nothing_of_the_link(count: str) -> None:
    done = netlab("verify", "loss=2%", "--on", "model", "--count", count)
    assert done.exit_code == 0
    last = f"too few packets to tell: {count}, and a verdict takes 30; nothing has failed"
    assert done.stdout.splitlines()[-1] == last
    assert f"{count} packets are too few to tell" in done.stderr


def test_corners_stand_side_by_side_and_the_missing_one_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    report = on_model("wifi-normal")
    found = Everywhere(
        corners=[
            Corner(name="host", report=None, missing="it lacks sch_netem"),
            Corner(name="model", report=report),
        ]
    )
    lines = list(comparison_lines(found))
    assert lines[0].split() == ["forward:", "asked", "model"]
    assert lines[-2:] == ["host: not here: it lacks sch_netem", "model: pass"]
    assert found.holds
    assert not Everywhere(corners=found.corners[:1]).holds, "nothing was measured"


def test_every_corner_is_run_with_what_the_command_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def note(name: str, arguments: list[str]) -> Corner:
        ran.append(arguments)
        return Corner(name=name, report=None, missing="a test")

    monkeypatch.setattr(everywhere, "_run", note)
    words = ["verify", "wifi-normal", "--all-engines", "--count", "9", "--json"]
    monkeypatch.setattr("sys.argv", ["netlab", *words])
    done = netlab(*words)
    assert done.exit_code == 1
    assert ran[0] == ["verify", "wifi-normal", "--count", "9", "--on", "host", "--json"]
    assert [one[4:-1] for one in ran[1:]] == [
        ["--on", "relay"], ["--on", "guest"], ["--virtual-time"], ["--on", "model"],
    ]  # fmt: skip
    assert len(json.loads(done.stdout)["corners"]) == 5


def test_where_traces_go_is_checked_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder in the place of one of the files; and nothing has been sent."""

    def measured(*_: object, **__: object) -> None:
        pytest.fail("it was measured")

    monkeypatch.setattr("netlab.verification.verify.verify_on_model", measured)
    (tmp_path / "traces" / "back.csv").mkdir(parents=True)
    done = netlab("verify", "wifi-normal", "--on", "model", "--traces", str(tmp_path / "traces"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "back.csv is not a plain file" in done.stderr


def test_a_schedule_is_measured_whole_where_waiting_costs_nothing() -> None:
    """300 s at 20 packets a second; a part of it only where a person says so, and then it is told."""
    done = netlab("verify", "cellular-lte", "--on", "model", "--rate", "20", "--json")
    report = msgspec.json.decode(done.stdout, type=VerificationReport)
    assert (done.exit_code, report.plan.count, report.pass_s) == (0, 6000, 300.0)
    done = netlab("verify", "cellular-lte", "--on", "model", "--rate", "20", "--count", "400")
    assert done.exit_code == 0
    assert "measured: 20 s of a pass of 300 s" in done.stdout
    assert "20 s of a pass of 300 s: nothing is said of the rest" in done.stderr


def test_a_fitted_profile_is_compared_with_its_data_at_its_own_rate(tmp_path: Path) -> None:
    pair, trace = fitted_profile()
    write_profile(pair, tmp_path / "fitted.toml")
    write_trace(trace, tmp_path / "data.csv")
    words = ("verify", str(tmp_path / "fitted.toml"), "--on", "model", "--data", str(tmp_path / "data.csv"))
    done = netlab(*words, "--json")
    report = msgspec.json.decode(done.stdout, type=VerificationReport)
    assert (done.exit_code, report.plan.rate_hz, report.warnings) == (0, RATE_HZ, pair.warnings())
    (like,) = report.likeness
    assert like.holds and like.path == "round-trip" and like.measured == trace.delays_s.size
    done = netlab(*words, "--rate", "25", "--count", "400")
    assert "25 packets a second, and the profile was fitted for 100" in done.stderr
    assert "a made-up network, round-trip: " in done.stdout and "the fit predicted" in done.stdout


def test_packets_that_the_link_does_not_take_are_said_to_be_too_large(tmp_path: Path) -> None:
    order = FlowOrder(
        direction="forward", address="10.0.0.1", folder=str(tmp_path), plan=ProbePlan(count=3, size_bytes=1400),
        quiet_s=0.5, shift_ns=0, token=1,
    )  # fmt: skip
    order.file("sent").touch()
    with pytest.raises(LabError, match="no packet could be sent forward") as caught:
        order.trace("test")
    assert "1428 bytes" in caught.value.hint and "MTU" in caught.value.hint and "--size" in caught.value.hint
