"""``netlab trace fit`` and ``schedule``: a file in, a profile out, and what there is to be known of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from netlab.cli.trace import trace as trace_group
from netlab.traces.schedule import Schedule
from netlab.traces.toml_profile import read_profile
from netlab.traces.trace import ClockVerdict, Trace, TracedPath
from netlab.traces.trace_file import write_trace


@pytest.fixture
def ping(tmp_path):
    """Return a trace file of 2,000 round trips 20 ms apart: bursts of loss, 60 ms and more."""
    rng = np.random.default_rng(1)
    lost = np.zeros(2000, dtype=np.int8)
    for begin in range(50, 2000, 200):
        lost[begin : begin + 15] = 1
    delay_s = 0.06 + rng.exponential(0.002, 2000)
    delay_s[lost == 1] = np.nan
    path = tmp_path / "home.csv"
    write_trace(
        Trace.of(
            np.arange(2000) * 0.02, path=TracedPath.ROUND_TRIP, clocks=ClockVerdict.ONE_CLOCK, delay_s=delay_s,
            lost=lost, source="ping.txt, ping",
        ),
        path,
    )  # fmt: skip
    return path


def run(*arguments: object):
    return CliRunner().invoke(trace_group, [str(argument) for argument in arguments])


def test_a_fit_writes_a_profile_and_says_what_it_is(ping, tmp_path):
    output = tmp_path / "home.toml"
    done = run("fit", ping, "-o", output)
    assert done.exit_code == 0, done.output
    for words in (
        "fitted to 2000 samples, for 50 packets a second",
        "round-trip: ping.txt, ping, 2000 rows, clocks one-clock",
        "measured  round-trip: 62",
        "delivers  round-trip: 62",
        "(predicted, to the data it was made from)",
        "memory    round-trip: lag-1 ",
        "caution   fitted for a flow of 50 packets/s: at another rate bursts of loss last another time",
        "loss      forward: 3.82%, of the round trip 7.50%",
        "bursts    forward: bad for ",
        "assumed   the round trip split in two equal",
        "caution   the loss chain counts packets",
    ):
        assert words in done.stdout, words
    assert f"next: netlab verify {output} --data {ping}" in done.stderr
    pair = read_profile(output)
    assert pair.name == "home" and pair.provenance.origins[0].source == "ping.txt, ping"
    assert pair.forward.loss.loss_ratio_mean == pytest.approx(1.0 - (1.0 - 0.075) ** 0.5, abs=1e-4)


def test_the_same_as_json(ping, tmp_path):
    output = tmp_path / "home.toml"
    document = json.loads(run("fit", ping, "-o", output, "--json", "--split", "1:0", "--name", "kitchen").stdout)
    assert (document["name"], document["file"]) == ("kitchen", str(output))
    assert document["directions"]["forward"]["loss"]["lost"] == 150
    assert document["loss_ratio"]["back"] == 0.0
    assert document["agreements"][0]["path"] == "round-trip"
    assert document["provenance"]["origins"][0]["predicted_w1_s"] == read_profile(output).provenance.predicted_w1_s


def test_a_schedule_has_the_outages_when_they_were(ping, tmp_path):
    output = tmp_path / "home.toml"
    done = run("schedule", ping, "--step", "500ms", "--outage", "200ms", "--loop", "-o", output)
    assert done.exit_code == 0, done.output
    assert "steps of 500ms and outages" in done.stdout and "delivers  round-trip: 6" in done.stdout
    pair = read_profile(output)
    assert "memory    round-trip: lag-1 " in done.stdout and ", predicted " in done.stdout
    assert isinstance(pair.forward, Schedule) and pair.forward.loop and pair.forward.duration_s == 40.0
    outages = [segment.length_s for segment in pair.forward.segments() if segment.profile.loss == 1.0]
    # 15 packets of 20 ms, less the way there of 31 ms: who was lost on the way back was sent before.
    assert len(outages) == 10 and np.mean(outages) == pytest.approx(0.3 - 0.031, abs=0.001)
    document = json.loads(run("schedule", ping, "-o", output, "--json").stdout)
    assert document["agreements"][0]["ks"] < 0.1


def test_two_files_are_the_two_directions(tmp_path):
    for path in (TracedPath.FORWARD, TracedPath.BACK):
        write_trace(
            Trace.of(np.arange(9.0), path=path, clocks=ClockVerdict.IN_STEP, delay_s=np.full(9, 0.01)),
            tmp_path / f"{path.value}.csv",
        )
    files = tmp_path / "forward.csv", tmp_path / "back.csv"
    assert run("fit", *files, "-o", tmp_path / "a.toml").exit_code == 0
    assert [one.path for one in read_profile(tmp_path / "a.toml").provenance.origins] == ["forward", "back"]
    same = run("fit", files[0], files[0], "-o", tmp_path / "b.toml")
    assert same.exit_code == 2 and "is of the path forward, and so is" in same.stderr
    assert not (tmp_path / "b.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fit", "PING", "-o", "a.csv"), "is no name of a profile"),
        (("fit", "PING", "-o", "none/a.toml"), "cannot write"),
        (("fit", "PING", "-o", "a.toml", "--split", "half"), "must be FORWARD:BACK"),
        (("fit", "PING", "-o", "a.toml", "--base-delay", "20ms"), "absolute already"),
        (("fit", "PING", "-o", "a.toml", "--packet-rate", "0"), "Invalid value for '--packet-rate'"),
        (("fit", "none.csv", "-o", "a.toml"), "none.csv"),
        (("schedule", "PING", "-o", "a.toml", "--step", "0ms"), "step_s"),
        (("schedule", "PING", "-o", "a.toml", "--step", "100"), "100"),
        (("fit", "PING"), "Missing option '-o'"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_written(ping, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    done = run(*(ping if argument == "PING" else argument for argument in arguments))
    assert done.exit_code == 2
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == [ping]


def test_a_trace_that_would_be_overwritten_is_refused(ping, tmp_path):
    toml = tmp_path / "ping.toml"
    toml.write_bytes(ping.read_bytes())
    done = run("fit", toml, "-o", toml)
    assert done.exit_code == 2 and "already" in done.stderr


def written(tmp_path, name: str, **columns) -> object:
    """Write a trace of 100 ms between rows that does not say where it comes from, and return its file."""
    columns = {"path": TracedPath.ROUND_TRIP, "clocks": ClockVerdict.ONE_CLOCK, "interval_s": 0.1, **columns}
    interval_s = columns.pop("interval_s")
    n = len(next(value for value in columns.values() if isinstance(value, np.ndarray)))
    write_trace(Trace.of(np.arange(n) * interval_s, **columns), tmp_path / name)
    return tmp_path / name


def test_delays_hours_apart_are_cut_and_counted(tmp_path):
    hours = written(tmp_path, "hours.csv", delay_s=np.where(np.arange(100) % 2, 3600.0, 7200.0))
    done = run("fit", hours, "-o", tmp_path / "hours.toml")
    assert done.exit_code == 0, done.output
    assert "assumed   50 delays were cut to 3.62e+03 s, as far as netem's tables reach" in done.stdout
    assert "caution   round-trip: the mean delivered is 3.6" in done.stdout and "where 5.4e+06 ms" in done.stdout


@pytest.mark.parametrize("interval_s", [0.02, 0.1])
def test_a_mean_or_a_tail_that_is_another_is_a_caution(tmp_path, interval_s):
    delay_s = np.full(2000, 0.02) + np.arange(2000) % 7 * 1e-3
    delay_s[::100] = 30.0
    tail = written(tmp_path, "tail.csv", delay_s=delay_s, interval_s=interval_s)
    fitted = run("fit", tail, "-o", tmp_path / "fit.toml").stdout
    assert "caution   round-trip: the mean delivered is " in fitted and "where 322." in fitted
    kept = run("schedule", tail, "-o", tmp_path / "kept.toml").stdout
    if interval_s < 0.1:  # the steps' spread is cut at 2 s
        assert "caution   round-trip: 99 % of the packets are delivered within " in kept
        assert "a shorter step keeps more of it" in kept
        assert "assumed   both ways: in 20 steps the delay spread by more than 2 s: cut to that" in kept
    else:
        assert "caution" not in kept


def test_a_shorter_step_is_no_advice_where_steps_are_the_packets_own(tmp_path):
    rng = np.random.default_rng(1)
    wild = written(tmp_path, "wild.csv", delay_s=rng.uniform(0.05, 0.5, 400), path=TracedPath.FORWARD)
    rate = ("--packet-rate", 200)
    assert "shorter step" not in run("schedule", wild, "--step", "100ms", *rate, "-o", tmp_path / "a.toml").stdout


def test_a_trace_without_a_source_is_called_by_its_file(tmp_path):
    zero = written(tmp_path, "zero.csv", rate_bps=np.zeros(20), path=TracedPath.FORWARD)
    assert "netlab: zero.csv: carried 0 bits" in run("fit", zero, "-o", tmp_path / "a.toml").stderr
    apart = written(
        tmp_path, "apart.csv", delay_s=np.full(9, 0.01), path=TracedPath.FORWARD,
        clocks=ClockVerdict.VARIATION_ONLY,
    )  # fmt: skip
    assert "netlab: apart.csv: its clocks are out of step" in run("fit", apart, "-o", tmp_path / "a.toml").stderr
    twice = run("fit", apart, zero, "-o", tmp_path / "a.toml").stderr
    assert "netlab: zero.csv: is of the path forward, and so is apart.csv" in twice


def test_one_of_a_thing_is_no_plural_and_no_deviation_is_none(tmp_path):
    one = written(tmp_path, "one.csv", delay_s=np.full(1, 0.02))
    fitted = run("fit", one, "-o", tmp_path / "a.toml").stdout
    assert "fitted to 1 sample, for" in fitted and ", 1 row, clocks" in fitted
    assert "1 step of 100ms" in run("schedule", one, "-o", tmp_path / "b.toml").stdout
    flat = written(tmp_path, "flat.csv", delay_s=np.full(50, 0.02))
    fitted = run("fit", flat, "-o", tmp_path / "c.toml").stdout
    assert "measured  round-trip: 20 ms +- 0 ms" in fitted and "e-1" not in fitted


def test_so_few_runs_by_chance_have_a_unit(tmp_path):
    lost = np.zeros(200, dtype=np.int8)
    lost[::20] = 1
    lone = written(tmp_path, "lone.csv", lost=lost)
    said = run("fit", lone, "-o", tmp_path / "a.toml").stdout
    assert "(so few runs, or fewer, come by chance in 100 % of such traces)" in said


def test_a_schedule_that_ends_dead_is_a_caution(tmp_path):
    lost = np.zeros(50, dtype=np.int8)
    lost[40:] = 1
    ends = written(tmp_path, "ends.csv", delay_s=np.where(lost, np.nan, 0.02), lost=lost, path=TracedPath.FORWARD)
    assert "the link is dead for ever" in run("schedule", ends, "-o", tmp_path / "a.toml").stdout
    assert "caution" not in run("schedule", ends, "--loop", "-o", tmp_path / "b.toml").stdout


def test_more_steps_than_a_file_can_be_used_with_are_refused(tmp_path):
    rng = np.random.default_rng(1)
    long = written(tmp_path, "long.csv", delay_s=rng.uniform(0.02, 0.05, 20_100))
    done = run("schedule", long, "-o", tmp_path / "long.toml")
    assert done.exit_code == 2 and not (tmp_path / "long.toml").exists()
    assert "steps in the file: at most 20000" in done.stderr and "hint: --step 101ms, or a part" in done.stderr
    assert run("schedule", long, "--step", "101ms", "-o", tmp_path / "long.toml").exit_code == 0


def test_delays_longer_than_a_links_are_cut_in_a_fit_and_refused_in_a_schedule_by_the_traces_name(tmp_path):
    delay_s = np.where(np.arange(100) % 2, 3602.0, 3604.0)
    hours = written(tmp_path, "hours.csv", delay_s=delay_s, path=TracedPath.FORWARD)
    fitted = run("fit", hours, "-o", tmp_path / "a.toml")
    assert "assumed   forward: 100.00% of the fitted delays cut to 3.6e+03 s" in fitted.stdout, fitted.output
    kept = run("schedule", hours, "-o", tmp_path / "b.toml")
    assert kept.exit_code == 2
    assert "netlab: hours.csv: a mean delay of 3604 s in a step: a link's is at most 3600 s" in kept.stderr
    assert "hint: check the unit of its delays" in kept.stderr
