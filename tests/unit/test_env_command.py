"""``netlab env run``: what it prints and exits with; files that cannot be written never cost a result."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner

from netlab.cli.main import main
from netlab.control.counters import AgeSummary, EdgeCounters
from netlab.control.histogram import Histogram
from netlab.envs import run as env_run
from netlab.envs.config import EnvConfig
from netlab.envs.result import DurationSummary, EpisodeResult, RunResult
from netlab.envs.service import Progress

NOTHING = DurationSummary.of(Histogram())
RESULT = RunResult(
    netlab="0", policy="linear", task="CartPole-v1", rate_hz=50.0, actuator="newest", horizon_ticks=1,
    fallback="neutral", seed=0, complete=True, stopped_by="", episodes=(), counters=EdgeCounters(),
    ages=AgeSummary.of(Histogram()), latency=NOTHING, lateness=NOTHING, deadline_misses=0, skipped_ticks=0,
    disconnected_ticks=0, connections=1, send_dropped=0, last_loss="",
)  # fmt: skip
PROGRESS = Progress(episode=0, episodes=1, ticks=1, return_so_far=1.0, returns=(), connected=True)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[EnvConfig]:
    """Every run that began; each ends at once with ``RESULT``."""
    begun: list[EnvConfig] = []

    def run_env_service(config: EnvConfig, *, progress: object, **_: object) -> RunResult:
        begun.append(config)
        assert callable(progress)
        for _number in range(3):
            progress(PROGRESS)
        return RESULT

    monkeypatch.setattr(env_run, "run_env_service", run_env_service)
    return begun


def env_run_with(*words: str) -> click.testing.Result:
    return CliRunner().invoke(main, ["env", "run", "--agent", "127.0.0.1:9", *words])


def test_a_command_without_options_asks_for_what_the_table_has(runs: list[EnvConfig]) -> None:
    assert env_run_with().exit_code == 0
    assert runs == [EnvConfig(address="127.0.0.1:9")]


def test_options_of_the_task_are_numbers_by_name(runs: list[EnvConfig]) -> None:
    assert env_run_with("--option", "push_n=3", "--option", "other=1e-3").exit_code == 0
    assert runs[-1].options == {"push_n": 3.0, "other": 0.001}
    for wrong in ("push_n", "push_n=", "push_n=far"):
        result = env_run_with("--option", wrong)
        assert result.exit_code == 2 and "NAME=NUMBER" in result.stderr


@pytest.mark.parametrize("option", ["--output", "--progress-file", "--tick-log"])
def test_a_file_that_cannot_be_written_is_refused_before_the_run(
    option: str, tmp_path: Path, runs: list[EnvConfig]
) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "none" / "x", tmp_path / "file" / "x", Path("/proc/x"), Path("/dev/null"), tmp_path):
        result = env_run_with(option, str(path))
        assert result.exit_code == 2, (path, result.output, result.exception)
        assert option in result.stderr
        assert "Traceback" not in result.output
    assert runs == []


def test_what_can_be_written_is_and_nothing_else_is_left(tmp_path: Path, runs: list[EnvConfig]) -> None:
    words = ("--output", str(tmp_path / "r.json"), "--progress-file", str(tmp_path / "p.jsonl"))
    assert env_run_with(*words).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.jsonl", "r.json"]
    assert json.loads((tmp_path / "r.json").read_bytes())["policy"] == "linear"
    assert len((tmp_path / "p.jsonl").read_bytes().splitlines()) == 3


def test_a_disk_that_fills_up_within_the_run_costs_neither_the_run_nor_the_printed_result(
    tmp_path: Path, runs: list[EnvConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = env_run_with("--json", "--output", str(tmp_path / "r.json"))
    assert json.loads(result.stdout)["policy"] == "linear"
    assert result.exit_code == 1
    assert "No space left" in result.stderr
    assert f"cannot write {tmp_path / 'r.json'}" in result.stderr and "hint: make room" in result.stderr
    assert "Traceback" not in result.output


def test_progress_lines_end_with_the_disk_and_the_run_goes_on(runs: list[EnvConfig]) -> None:
    from netlab.cli.env import ProgressLines

    lines = ProgressLines(Path("/dev/full"))
    for _ in range(3):
        lines(PROGRESS)
    assert lines._is_broken


def test_a_closed_stdout_does_not_keep_the_result_from_its_file(
    tmp_path: Path, runs: list[EnvConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    def echo_json(document: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("netlab.cli.env.echo_json", echo_json)
    env_run_with("--json", "--output", str(tmp_path / "r.json"))
    assert (tmp_path / "r.json").exists()


def episode(return_: float, *, complete: bool = True) -> EpisodeResult:
    return EpisodeResult(
        episode=0, seed=0, complete=complete, return_=return_, ticks=500, counters=EdgeCounters(),
        ages=AgeSummary.of(Histogram()), latency=NOTHING, deadline_misses=0, skipped_ticks=0,
        disconnected_ticks=0,
    )  # fmt: skip


def print_run(monkeypatch: pytest.MonkeyPatch, **changes: object) -> click.testing.Result:
    """Return what the command makes of this result."""
    changed = msgspec.structs.replace(RESULT, **changes)
    monkeypatch.setattr(env_run, "run_env_service", lambda config, **_: changed)
    return env_run_with()


@pytest.mark.parametrize(
    ("stopped_by", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("", 1), ("all too late", 1), ("alarm", 1)]
)
def test_a_stopped_run_exits_as_a_shell_expects(
    stopped_by: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = {"complete": False, "stopped_by": stopped_by}
    assert print_run(monkeypatch, episodes=(episode(3.0, complete=False),), **stopped).exit_code == status


def test_a_run_without_any_episode_says_just_that(monkeypatch: pytest.MonkeyPatch) -> None:
    result = print_run(monkeypatch, complete=False, stopped_by="SIGINT")
    assert result.stdout == "interrupted: no episode was played\n"
    assert result.exit_code == 130


@pytest.mark.parametrize(
    ("episodes", "line"),
    [
        ((episode(500.0),), "return          500.0   (1 episode)"),
        ((episode(500.0), episode(400.0)), "return          450.0 +- 50.0   (2 episodes)"),
        ((episode(9.0, complete=False),), "return          none: no episode came to its end"),
    ],
)
def test_the_return_has_an_error_only_where_there_is_one(
    episodes: tuple[EpisodeResult, ...], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = print_run(monkeypatch, episodes=episodes)
    assert result.stdout.splitlines()[0] == line
    assert "nan" not in result.stdout


@pytest.mark.parametrize(("late", "is_asked"), [(5, False), (6, True)])
def test_many_late_ticks_ask_whether_the_machine_is_busy(
    late: int, is_asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    counters = EdgeCounters()
    counters.ticks = 500
    result = print_run(monkeypatch, episodes=(episode(1.0),), counters=counters, deadline_misses=late)
    assert ("(is the machine busy? End what runs beside it" in result.stdout) is is_asked


@pytest.mark.parametrize(("missing", "note"), [(0, ""), (1, "(1 tick without"), (53, "(53 ticks without agent)")])
def test_an_episodes_line_counts_its_ticks_without_agent(
    missing: int, note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from netlab.cli.env_text import ProgressText

    ended = {"returns": (100.0,), "connected": False, "disconnected_ticks": missing}
    ProgressText()(msgspec.structs.replace(PROGRESS, **ended))
    text = capsys.readouterr().err
    assert note in text
    assert ("(" in text) is bool(missing)
    assert "no agent" not in text


def test_a_line_that_stderr_does_not_take_costs_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from netlab.cli.env_text import say_line

    tried: list[str] = []

    def echo(line: str, *, err: bool) -> None:
        tried.append(line)
        raise BrokenPipeError

    monkeypatch.setattr("netlab.cli.env_text.click.echo", echo)
    say_line("agent lost")
    assert tried == ["agent lost"]


@pytest.mark.parametrize("words", [("agent", "serve"), ("env", "run", "--agent", "127.0.0.1:9")])
def test_a_service_is_not_put_into_a_guest_of_its_own(
    words: tuple[str, ...], runs: list[EnvConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NETLAB_GUEST", raising=False)
    begun = lambda *_, **__: pytest.fail("a guest would have begun")  # noqa: E731
    monkeypatch.setattr("netlab.engine_choice.choose_engine", begun)
    result = CliRunner().invoke(main, [*words, "--on", "guest"])
    assert result.exit_code == 2, result.output
    assert "--on guest" in result.stderr
    assert "netlab demo" in result.stderr
    assert runs == []


def test_within_a_guest_a_service_runs_where_it_is(runs: list[EnvConfig], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETLAB_GUEST", "6.12 sha256:0")
    assert env_run_with().exit_code == 0
    assert env_run_with("--on", "guest").exit_code == 0
    assert len(runs) == 2
