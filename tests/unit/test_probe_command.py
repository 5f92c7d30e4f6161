"""The options of ``netlab probe serve`` and ``run``, and what is said to a person."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from probe_network import Fate, ProbeNetwork

from netlab.cli.main import main
from netlab.cli.probe_text import print_summary
from netlab.probe.probe_plan import ProbePlan
from netlab.probe.probe_result import find_result
from netlab.probe.probe_summary import summarise
from netlab.probe.prober import Measured
from netlab.probe.prober_link import size_error
from netlab.traces.trace_file import read_trace

PEER = "127.0.0.1:7448"


def measured(plan: ProbePlan) -> Measured:
    """What a simulated path gives: 5 ms there, 7 ms back, every fourth probe lost."""
    fates = [Fate((5_000_000,) if row % 4 else (), ((7_000_000,),)) for row in range(plan.count)]
    network = ProbeNetwork(plan, fates)
    network.fetch_log()
    result = find_result(network.record, one_way=plan.one_way, one_clock=True, source="a test")
    return Measured(result, summarise(result, plan, PEER, ["a note"]))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[ProbePlan, dict[str, object]]]:
    calls: list[tuple[ProbePlan, dict[str, object]]] = []

    def answer(plan: ProbePlan, peer: object, key: object, **options: object) -> Measured:
        calls.append((plan, {"peer": str(peer), "key": key, **options}))
        return measured(plan)

    monkeypatch.setattr("netlab.probe.prober.probe_path", answer)
    return calls


def run(*words: object, code: int = 0) -> str:
    done = CliRunner().invoke(main, ["probe", *(str(word) for word in words)])
    assert done.exit_code == code, done.output
    return done.output


def test_the_options_make_the_plan(asked: list[tuple[ProbePlan, dict[str, object]]]) -> None:
    given = "--rate 50 --size 300B --for 4s --wait 500ms --poisson 7 --one-clock --port 5000"
    run("run", PEER, *given.split())
    plan, options = asked[0]
    assert plan == ProbePlan(rate_hz=50.0, size_bytes=300, count=200, wait_s=0.5, poisson_seed=7)
    assert options["peer"] == PEER
    assert options["one_clock"] is True
    assert options["local_port"] == 5000


def test_the_defaults_are_ten_seconds_at_100_hz_there_and_back(
    asked: list[tuple[ProbePlan, dict[str, object]]],
) -> None:
    run("run", PEER)
    assert asked[0][0] == ProbePlan(rate_hz=100.0, size_bytes=200, count=1000, wait_s=2.0)
    assert asked[0][1]["one_clock"] is False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rate", "0"), "--rate: 0.0: must be"),
        (("--rate", "nan"), "--rate: nan"),
        (("--size", "20B"), "--size: 20: must be"),
        (("--size", "1500B"), "--size: 1500: must be"),
        (("--size", "200"), "unit"),
        (("--count", "0"), "--count: 0: must be 1 .. 1,000,000"),
        (("--for", "10h", "--rate", "100"), "--for: 36000 s at 100 probes a second"),
        (("--poisson", "-1"), "--poisson: -1"),
        (("--count", "5", "--for", "5s"), "one of them"),
        (("--for", "0s"), "--for: 0.0"),
        (("--wait", "5min"), "--wait: 300.0"),
        (("-o", "/nowhere/at/all"), "--output"),
        (("--json-file", "/nowhere/at/all.json"), "--json-file"),
        (("--key-file", "/nowhere/key"), "key file"),
        (("-o", "same", "--json-file", "same.forward.csv"), "already"),
        (("--virtual-time",), "alone in there"),
    ],
)
def test_bad_input_ends_before_anything_is_sent(
    asked: list[tuple[ProbePlan, dict[str, object]]], words: tuple[str, ...], said: str
) -> None:
    code = 1 if said == "key file" else 2
    assert said in run("run", PEER, *words, code=code)
    assert not asked


def test_a_peer_without_a_port_is_refused() -> None:
    assert "host:port" in run("run", "desktop", code=2)


def test_serving_off_loopback_without_a_key_is_refused_with_the_way_out() -> None:
    output = run("serve", "--bind", "0.0.0.0:0", code=1)
    assert "without a key" in output
    assert "netlab key new" in output


def test_three_files_or_one(asked: list[tuple[ProbePlan, dict[str, object]]], tmp_path: Path) -> None:
    run("run", PEER, "--count", 40, "-o", tmp_path / "both")
    run("run", PEER, "--count", 40, "--one-way", "-o", tmp_path / "one")
    assert {path.name for path in tmp_path.iterdir()} == {
        "both.csv", "both.forward.csv", "both.back.csv", "one.forward.csv",
    }  # fmt: skip
    forward = read_trace(tmp_path / "both.forward.csv")
    assert forward.loss_ratio == 0.25
    assert np.allclose(forward.delays_s, 0.005)
    assert read_trace(tmp_path / "both.back.csv").n == 30


def test_what_a_person_reads(capsys: pytest.CaptureFixture[str]) -> None:
    print_summary(measured(ProbePlan(count=40)).summary)
    shown = capsys.readouterr()
    assert "40 probes of 200 bytes to 127.0.0.1:7448, 100.0 a second" in shown.out
    # Wilson: 10 of 40 is 14.19 .. 40.19 %; every fourth is no run, so that nothing widens it.
    assert "forward     lost 10 of 40 = 25.00% (14.19 .. 40.19%), 0 duplicates, 0 reordered, 0 late" in shown.out
    assert "mean 5ms sd 0s min 5ms p1 5ms p5 5ms p25 5ms p50 5ms p75 5ms p95 5ms p99 5ms" in shown.out
    assert "one-clock" in shown.out
    assert "a note" in shown.err


def test_nothing_measured_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = ProbePlan(count=5)
    network = ProbeNetwork(plan, [Fate((), ())] * 5)
    result = find_result(network.record, one_way=False, one_clock=True, source="a test")
    answer = Measured(result, summarise(result, plan, PEER, []))
    monkeypatch.setattr("netlab.probe.prober.probe_path", lambda *arguments, **options: answer)
    assert "nothing has arrived" in run("run", PEER, "--count", 5, code=1)


def test_probes_that_do_not_fit_the_network_are_refused_by_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> Measured:
        raise size_error(1472, 1452)

    monkeypatch.setattr("netlab.probe.prober.probe_path", refuse)
    output = run("run", "[::1]:7448", "--size", "1472B", code=2)
    assert "--size: 1472: must be at most 1452" in output
    assert "1452 over IPv6" in output
