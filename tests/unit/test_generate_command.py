"""``netlab trace generate``: files that a link takes, the list of models, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from netlab.cli.main import main
from netlab.traces.presets import parse_preset
from netlab.traces.synthetic.catalogue import MODELS


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["trace", "generate", *arguments])


@pytest.mark.parametrize("model", list(MODELS))
def test_what_it_writes_is_a_profile_and_the_same_each_time(tmp_path: Path, model: str) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    for path in (first, second):
        done = _run(model, "--seed", "3", "--duration", "20s", "-o", str(path))
        assert done.exit_code == 0, done.output
        assert f"{path}: {model}, seed 3:" in done.output
    assert first.read_bytes() == second.read_bytes()
    pair = parse_preset(str(first))
    assert pair.name == model and pair.forward.loops


def test_without_a_file_it_prints_the_profile(tmp_path: Path) -> None:
    done = _run("handover", "--once", "--duration", "30s", "--set", "peak=40ms", "--set", "slot=10s")
    assert done.exit_code == 0
    (tmp_path / "x.toml").write_text(done.output)
    assert not parse_preset(str(tmp_path / "x.toml")).forward.loops
    assert "peak=40ms" in done.output and "slot=10s" in done.output


def test_json_says_what_was_made() -> None:
    done = _run("jamming", "--json")
    document = json.loads(done.output)
    assert (document["model"], document["seed"], document["file"]) == ("jamming", 7, None)
    assert document["loss_ratio"] == pytest.approx(0.2)
    assert document["steps"]["forward"] == document["toml"].count("[[link.step]]")


def test_the_list_names_every_model_and_parameter() -> None:
    done = _run("--list")
    assert done.exit_code == 0
    for name, model in MODELS.items():
        assert f"{name}: {model.about}" in done.output
    assert "  slot=15s" in done.output and "length of a slot" in done.output
    listed = json.loads(_run("--list", "--json").output)
    assert [one["model"] for one in listed] == list(MODELS)
    assert all(parameter["about"] for one in listed for parameter in one["parameters"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name a model"),
        (["starlink"], "'starlink': no such model"),
        (["handover", "--set", "peak"], "'peak' is not KEY=VALUE"),
        (["handover", "--set", "peak=1ms", "--set", "peak=2ms"], "'peak' is given twice"),
        (["handover", "--set", "peek=1ms"], "no such parameter"),
        (["handover", "-o", "leo.csv"], "'leo.csv' is no name of a profile"),
        (["handover", "-o", "leo.csv"], "a profile file's name ends in .toml"),
        (["handover", "-o", "no/such/folder/leo.toml"], "name a file in a folder that is there"),
        (["random-walk", "--set", "jitter=2ms"], "reaches below zero from least = 0.005 s"),
        (["handover", "--duration", "60"], "has no unit"),
        (["random-walk", "--duration", "10h", "--step", "1ms"], "at most 100000"),
    ],
)
def test_bad_input_ends_with_status_2_and_a_line(arguments: list[str], words: str) -> None:
    done = _run(*arguments)
    assert done.exit_code == 2
    assert words in done.output
