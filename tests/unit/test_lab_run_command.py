"""``netlab lab run --on model`` and ``netlab lab compare``: the corner that needs no kernel at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from netlab.cli.main import main
from netlab.traces.packets.packet_log import PacketLog

EXAMPLE = Path(__file__).parents[2] / "examples" / "cartpole.toml"


def run(*words: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["lab", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


def play(folder: Path, name: str, *more: str, spec: Path = EXAMPLE) -> dict[str, Path]:
    files = {option: folder / f"{name}.{option}" for option in ("output", "packets", "ticks")}
    options = [word for option, path in files.items() for word in (f"--{option}", str(path))]
    status, _, stderr = run("run", spec, "--on", "model", *options, *more)
    assert status == 0, stderr
    return files


def write(folder: Path, episode: str, profile: str = "wifi-degraded@oneway", host: str = "") -> Path:
    path = folder / "lab.toml"
    path.write_text(
        f'seed = 2\n[hosts.edge]\n{host}\n[hosts.agent]\n[[link]]\nends = ["edge", "agent"]\n'
        f'profile = "{profile}"\n[episode]\nedge = "edge"\nagent = "agent"\n{episode}\n'
    )
    return path


def test_the_example_plays_on_the_model(tmp_path: Path) -> None:
    files = play(tmp_path, "a")
    report = json.loads(files["output"].read_text())
    assert (report["engine"], report["clock"], report["seed"]) == ("model", "virtual", 7)
    assert report["run"]["complete"] and len(report["ticks"]) == report["run"]["counters"]["ticks"]
    log = PacketLog.decode(files["packets"].read_bytes())
    outward = [one for one in log.records if one.direction == "forward"]
    assert len(outward) == len(report["ticks"]) + 1  # an observation a tick, and the goodbye
    # 10 % loss: 501 packets, within 4 standard deviations (sd 6.7).
    assert 50 - 27 <= sum(one.fate == "lost" for one in outward) <= 50 + 27


def test_two_plays_of_one_seed_are_one_computation(tmp_path: Path) -> None:
    first, second = play(tmp_path, "a"), play(tmp_path, "b")
    for option in ("packets", "ticks"):
        assert first[option].read_bytes() == second[option].read_bytes()
    status, stdout, _ = run("compare", first["output"], second["output"])
    assert status == 0
    assert "none differs" in stdout and "0 fates differ" in stdout


def test_another_seed_is_another_experiment(tmp_path: Path) -> None:
    first, second = play(tmp_path, "a"), play(tmp_path, "b", "--seed", "8")
    assert first["packets"].read_bytes() != second["packets"].read_bytes()
    status, _, stderr = run("compare", first["output"], second["output"])
    assert status == 2
    assert "seed" in stderr and "two experiments" in stderr


def test_compare_tells_where_two_plays_part(tmp_path: Path) -> None:
    first, second = play(tmp_path, "a")["output"], tmp_path / "b.output"
    report = json.loads(first.read_text())
    report["ticks"][41]["action"] = None
    fate = report["packets"][10]["fate"]
    report["packets"][10]["fate"] = "lost" if fate == "delivered" else "delivered"
    second.write_text(json.dumps(report))
    status, stdout, _ = run("compare", first, second, "--json")
    found = json.loads(stdout)
    assert (status, found["first_tick"], found["ticks_differ"], found["first_action"]) == (1, 41, 1, 41)
    assert sum(one["fates"] for one in found["packets"]) == 1


def test_a_schedule_plays_on_the_model(tmp_path: Path) -> None:
    (tmp_path / "outage.toml").write_text(
        '[link]\nduration = "2s"\nloop = true\npacket_rate_hz = 50\n[[link.step]]\nat = "0s"\ndelay = "10ms"\n'
        '[[link.step]]\nat = "1s"\nloss = "100%"\n'
    )
    spec = write(tmp_path, 'policy = "linear-predict"', "outage.toml")
    log = PacketLog.decode(play(tmp_path, "a", spec=spec)["packets"].read_bytes())
    lost = [one.sent_ns for one in log.records if one.fate == "lost"]
    assert lost
    assert all(one % 2_000_000_000 >= 1_000_000_000 for one in lost)
    delivered = [one.sent_ns for one in log.records if one.fate == "delivered"]
    assert all(one % 2_000_000_000 < 1_000_000_000 for one in delivered)


@pytest.mark.parametrize(
    ("episode", "profile", "host", "words"),
    [
        ('transport = "stream"', "wifi-normal", "", ("episode.transport", "no TCP")),
        ("", "wifi-normal", 'command = ["true"]', ("hosts.edge.command", "runs no programs")),
        ('policy = "linera"', "wifi-normal", "", ("linera", "did you mean 'linear'")),
        ('task = "CartPol-v1"', "wifi-normal", "", ("CartPol-v1", "did you mean")),
        ("", "wifi-norml", "", ("link[0].profile", "wifi-norml")),
    ],
)
def test_what_the_model_cannot_play_is_refused(
    tmp_path: Path, episode: str, profile: str, host: str, words: tuple[str, str]
) -> None:
    status, _, stderr = run("run", write(tmp_path, episode, profile, host), "--on", "model")
    assert status == 2
    for word in words:
        assert word in stderr


def test_without_an_episode_the_model_says_why_not(tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_text('[hosts.a]\ncommand = ["true"]\n')
    status, _, stderr = run("run", path, "--on", "model")
    assert status == 2 and "the model runs none" in stderr
    status, _, stderr = run("run", path, "--on", "model", "--output", tmp_path / "x.json")
    assert status == 2 and "--output" in stderr


@pytest.mark.parametrize("option", ["--virtual-time", "--check"])
def test_the_model_has_no_kernel_whose_time_could_be_virtual(option: str) -> None:
    status, _, stderr = run("run", EXAMPLE, "--on", "model", option)
    assert status == 2 and option in stderr


def test_what_is_no_report_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}")
    status, _, stderr = run("compare", path, path)
    assert status == 2 and "x.json" in stderr and "is no report" in stderr
    status, _, stderr = run("compare", tmp_path / "gone.json", path)
    assert status == 2 and "cannot be read" in stderr


def test_an_option_changes_the_task_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    quiet = play(tmp_path, "quiet", spec=write(tmp_path, "", "wifi-normal"))
    pushed = play(tmp_path, "pushed", spec=write(tmp_path, "options = { push_n = 8.0 }", "wifi-normal"))
    assert quiet["ticks"].read_bytes() != pushed["ticks"].read_bytes()
    status, _, stderr = run("run", write(tmp_path, "options = { pushn = 8.0 }"), "--on", "model")
    assert status == 2 and "pushn" in stderr and "push_n" in stderr


def test_media_are_none_of_the_models(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    text = path.read_text().replace("[[link]]", '[media.air]\nrate = "10mbit"\n[[link]]\nmedium = "air"')
    path.write_text(text)
    status, _, stderr = run("run", path, "--on", "model")
    assert status == 2
    assert "media.air" in stderr and "no media" in stderr and "--on guest" in stderr


def test_the_models_results_claim_no_deadlines(tmp_path: Path) -> None:
    report = json.loads(play(tmp_path, "a")["output"].read_text())
    here = report["run"]["machine"]
    assert (here["engine"], here["clock"]) == ("model", "virtual")
    assert "deadlines" in here["not_claimable"]


@pytest.mark.parametrize(
    ("profile", "least_s", "most_s"),
    [("delay=2s,jitter=500ms", 4.0, 4.5), ("ethernet-clean", 0.3, 0.5)],
)
def test_packets_may_settle_as_long_as_their_link_can_hold_them(
    tmp_path: Path, profile: str, least_s: float, most_s: float
) -> None:
    from netlab.episode.run import EpisodePlan
    from netlab.lab_spec import read_lab_spec

    path = write(tmp_path, "horizon = 200", profile)
    assert least_s <= EpisodePlan.of(read_lab_spec(path), str(path)).settling_s <= most_s


def test_an_incomplete_packet_log_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from netlab.cli.packet_file import write_packets

    write_packets(tmp_path / "p.txt", PacketLog.of({"incomplete": "3 frames were missed"}, []))
    assert "p.txt is incomplete: 3 frames were missed" in capsys.readouterr().err


def test_a_spec_with_nothing_to_do_is_an_error_on_every_corner(tmp_path: Path) -> None:
    spec = tmp_path / "lab.toml"
    spec.write_text('[hosts.a]\n[hosts.b]\n[[link]]\nends = ["a", "b"]\n')
    for corner in ("model", "host"):
        status, _, stderr = run("run", spec, "--on", corner)
        assert status == 2
        assert "there is nothing to run: no episode and no command" in stderr


def test_one_file_named_twice_is_refused(tmp_path: Path) -> None:
    spec = write(tmp_path, "", host='command = ["true"]\noutput = "printed.txt"')
    text = spec.read_text()
    one = tmp_path / "one"
    for words, complaint in (
        (["--output", one, "--packets", one], "--packets: "),
        (["--output", one, "--ticks", tmp_path / "." / "one"], "--ticks: "),
        (["--output", spec], "is SPEC already"),
        (["--packets", tmp_path / "printed.txt"], "is hosts.edge.output already"),
    ):
        status, _, stderr = run("run", spec, "--on", "model", *words)
        assert (status, complaint in stderr) == (2, True), stderr
    assert spec.read_text() == text
