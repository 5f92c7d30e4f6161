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
