"""``netlab env run``: files that cannot be written are refused before the run, and never cost its result."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from netlab.cli.main import main
from netlab.control.counters import AgeSummary, EdgeCounters
from netlab.control.histogram import Histogram
from netlab.envs import run as env_run
from netlab.envs.config import EnvConfig
from netlab.envs.result import DurationSummary, RunResult
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
    def write_document(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("netlab.documents.write_document", write_document)
    result = env_run_with("--json", "--output", str(tmp_path / "r.json"))
    assert json.loads(result.stdout)["policy"] == "linear"
    assert result.exit_code == 1
    assert "No space left" in result.stderr
    assert "--output" in result.stderr
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
