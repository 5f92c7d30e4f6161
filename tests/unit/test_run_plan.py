"""RunPlan: what a request leaves open, the policy's file says, and what that leaves open, the network."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from saved_linear import AHEAD_TICKS, LINK, QUICK_HZ, write_linear

from netlab.episode.corner import ModelCorner
from netlab.errors import NetlabError, ProfileError, SpecError
from netlab.messages import ADAPTIVE_HORIZON
from netlab.modes.corner import CornerMode
from netlab.modes.local import LocalMode
from netlab.modes.mode import Mode
from netlab.modes.plan import RunPlan
from netlab.modes.remote import RemoteMode
from netlab.modes.report import RunReport
from netlab.modes.request import RunRequest
from netlab.scoring.listed_policy import ListedPolicy

LOCAL: Mode = LocalMode()
MODEL: Mode = CornerMode("model", ModelCorner())
REMOTE: Mode = RemoteMode("127.0.0.1:9", "")


def plan(mode: Mode, policy: str, **asked) -> RunPlan:
    return RunPlan.of(RunRequest(policy=policy, **asked), mode.between)


@pytest.fixture
def saved(tmp_path: Path) -> str:
    path = tmp_path / "saved.safetensors"
    write_linear(path)
    return str(path)


@pytest.mark.parametrize("mode", [LOCAL, MODEL, REMOTE])
def test_a_file_says_task_rate_actuator_and_horizon(saved: str, mode: Mode) -> None:
    made = plan(mode, saved)
    assert (made.name, made.policy) == ("saved-linear", saved)
    assert (made.task.name, made.task.rate_hz) == ("CartPole-v1", QUICK_HZ)
    assert (made.actuator, made.horizon_ticks, made.fallback) == ("scheduled", AHEAD_TICKS, "neutral")


def test_a_request_beats_the_file(saved: str) -> None:
    made = plan(MODEL, saved, horizon_ticks=3, fallback="hold")
    assert (made.actuator, made.horizon_ticks, made.fallback) == ("scheduled", 3, "hold")
    assert plan(MODEL, saved, horizon_ticks=ADAPTIVE_HORIZON).horizon_ticks == ADAPTIVE_HORIZON
    newest = plan(MODEL, saved, actuator="newest")
    assert (newest.actuator, newest.horizon_ticks) == ("newest", 1), "the D of scheduled is not newest's"


@pytest.mark.parametrize(
    ("mode", "network", "horizon"), [(LOCAL, "", 1), (MODEL, "wifi-normal", 4), (REMOTE, "", ADAPTIVE_HORIZON)]
)
def test_a_file_without_a_number_is_fitted_where_the_network_is_known_and_adapts_elsewhere(
    tmp_path: Path, mode: Mode, network: str, horizon: int
) -> None:
    path = tmp_path / "adaptive.safetensors"
    write_linear(path, rate_hz=50.0, horizon_ticks=None)
    assert plan(mode, str(path), network=network).horizon_ticks == horizon


@pytest.mark.parametrize(("mode", "network"), [(LOCAL, ""), (MODEL, "wifi-normal"), (REMOTE, "")])
def test_a_file_that_says_adaptive_adapts_everywhere(tmp_path: Path, mode: Mode, network: str) -> None:
    path = tmp_path / "adaptive.safetensors"
    write_linear(path, rate_hz=50.0, horizon_ticks="adaptive")
    assert plan(mode, str(path), network=network).horizon_ticks == ADAPTIVE_HORIZON
    assert plan(mode, str(path), network=network, horizon_ticks=5).horizon_ticks == 5
    assert plan(mode, str(path), network=network, actuator="newest").horizon_ticks == 1
    assert ListedPolicy.of(str(path)).horizon_ticks == "adaptive"


@pytest.mark.parametrize(
    ("mode", "network", "horizon"),
    [(LOCAL, "", 1), (MODEL, "", 1), (MODEL, "wifi-degraded", 10), (REMOTE, "", ADAPTIVE_HORIZON)],
)
def test_a_name_says_no_horizon_and_gets_the_links(mode: Mode, network: str, horizon: int) -> None:
    made = plan(mode, "linear-predict", network=network)
    assert (made.actuator, made.horizon_ticks, made.task.rate_hz) == ("scheduled", horizon, 50.0)


def test_a_file_says_the_fallback_too(tmp_path: Path) -> None:
    path = tmp_path / "holds.safetensors"
    write_linear(path, actuator="newest", horizon_ticks=None, fallback="hold")
    assert plan(MODEL, str(path)).fallback == "hold"
    assert plan(MODEL, str(path), fallback="neutral").fallback == "neutral"
    assert plan(MODEL, str(path), actuator="stop-and-wait").fallback == "neutral", "it takes no other"
    assert plan(MODEL, "linear").fallback == "neutral"


def test_a_name_that_predicts_nothing_plays_the_newest() -> None:
    assert (plan(MODEL, "linear").actuator, plan(MODEL, "linear").horizon_ticks) == ("newest", 1)
    # A file that plays the newest says no D for scheduled either.
    assert plan(MODEL, "linear", actuator="scheduled", network="wifi-normal").horizon_ticks == 4


def test_a_file_made_for_newest_gets_the_links_horizon_when_scheduled(tmp_path: Path) -> None:
    path = tmp_path / "newest.safetensors"
    write_linear(path, rate_hz=50.0, actuator="newest", horizon_ticks=None)
    assert plan(MODEL, str(path)).actuator == "newest"
    assert plan(MODEL, str(path), actuator="scheduled", network="wifi-normal").horizon_ticks == 4


def test_a_path_becomes_absolute_and_a_name_stays(
    saved: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert plan(LOCAL, "saved.safetensors").policy == saved
    assert plan(LOCAL, "linear").policy == "linear"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"policy": "lineer"}, ("no policy is called 'lineer'", "did you mean 'linear'")),
        ({"policy": "gone.safetensors"}, ("gone.safetensors", "cannot be read")),
        ({"policy": "linear", "task": "CartPol"}, ("no task is called 'CartPol'", "CartPole-v1")),
        ({"policy": "linear", "task": "netlab/Reacher-v0"}, ("--task", "cannot serve", "it is for CartPole-v1")),
        ({"policy": "linear", "options": {"pushn": 1.0}}, ("pushn", "push_n")),
        ({"policy": "linear", "network": "wifi-norml"}, ("wifi-norml", "wifi-normal")),
        ({"policy": "linear", "network": "loss=100%"}, ("loses everything", "outages")),
        ({"policy": "linear", "network": "trace=a.csv"}, ("--network", "a trace is no network")),
        ({"policy": "linear", "horizon_ticks": 3}, ("--horizon", "no horizon", "--actuator scheduled")),
        (
            {"policy": "linear", "actuator": "stop-and-wait", "fallback": "hold"},
            ("--fallback", "decision once", "--fallback neutral"),
        ),
    ],
)
def test_what_is_not_there_or_contradicts_itself_is_named(asked: dict, words: tuple[str, ...]) -> None:
    with pytest.raises((SpecError, ProfileError)) as caught:
        plan(MODEL, **asked)
    error: NetlabError = caught.value
    for word in words:
        assert word in f"{error} | {error.hint}"


def test_a_file_for_another_task_is_refused_before_anything_runs(saved: str) -> None:
    with pytest.raises(SpecError, match="which it was made for") as caught:
        plan(MODEL, saved, task="netlab/Reacher-v0")
    assert caught.value.key == "--task"


def test_a_shipped_policy_is_a_name_like_any_other() -> None:
    made = plan(MODEL, "cartpole-predictor-2", network="wifi-normal")
    assert (made.name, made.policy) == ("cartpole-predictor-2", "cartpole-predictor-2")
    assert made.card is not None and made.card.training is not None and made.card.training.seed == 2
    assert (made.actuator, made.horizon_ticks) == ("scheduled", made.card.horizon_ticks)


def test_a_file_is_read_once_and_the_report_has_the_hash_of_what_was_played(
    saved: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the file has changed before the episodes end."""
    read: list[str] = []

    def counted(path: str, **limits: object) -> bytes:
        read.append(str(path))
        return Path(path).read_bytes()

    monkeypatch.setattr("netlab.agents.policy_file.read_file", counted)
    made, before = plan(LOCAL, saved), hashlib.sha256(Path(saved).read_bytes()).hexdigest()
    write_linear(Path(saved), gains=(0.0, 0.0, 0.0, 0.0))
    report = RunReport.of(LOCAL, made, LOCAL.play(made, None, lambda line: None))
    assert read == [saved]
    assert report.policy_sha256 == report.run.policy_sha256 == before
    assert report.run.returns == [500.0]


def test_a_network_of_a_plan_is_parsed_once_and_kept(saved: str) -> None:
    pair = plan(MODEL, saved, network=LINK).pair
    assert pair is not None and pair.loss_ratio_mean == pytest.approx(0.02)
    assert plan(MODEL, saved).pair is None
