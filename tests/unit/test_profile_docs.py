"""The pages on profiles say what is true: every example in them parses, every key is in them, the example runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from netlab.traces.horizon import horizon_ticks
from netlab.traces.key import CHAIN_KEYS, FOUR_STATE_KEYS, LINK_KEYS, MEAN_KEYS, SLOT_KEYS
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import PRESETS, parse_preset
from netlab.traces.toml_profile import PAIR_KEYS, SCHEDULE_KEYS, parse_profile, read_profile

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "profiles.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table after a heading."""
    after = PAGE[PAGE.index(heading) :].splitlines()
    start = next(index for index, line in enumerate(after) if line.startswith("|"))
    table = []
    for line in after[start + 2 :]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    return table


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_every_key_has_a_row_with_an_example_that_parses_and_uses_it():
    table = rows("## Keys")
    assert [code(row[0])[0] for row in table] == list(LINK_KEYS)
    for row in table:
        (key,) = code(row[0])
        if key == "delay_table":  # a list: in files only, and in one below
            continue
        (example,) = code(row[3])
        assert key in {part.partition("=")[0].partition(".")[0] for part in example.split(",")}
        assert isinstance(parse_preset(example), ProfilePair)
        assert row[1] and row[2]


def test_every_key_of_a_chain_has_a_row_with_an_example():
    table = rows("### Losses in bursts")
    named = [key for row in table for key in code(row[0])]
    assert sorted(named) == sorted({*CHAIN_KEYS, *MEAN_KEYS, *FOUR_STATE_KEYS})
    for row in table:
        assert isinstance(parse_preset(code(row[2])[0]), ProfilePair)


def test_every_other_key_is_mentioned():
    for key in (*SLOT_KEYS, *SCHEDULE_KEYS, "link", "forward", "back", "name", "description", "provenance", "at"):
        assert re.search(rf"\b{key}\b", PAGE), key
    assert set(PAIR_KEYS) - {"reading"} <= {"name", "description", "provenance", "link", "forward", "back"}


@pytest.mark.parametrize("block", blocks("toml"))
def test_files_shown_parse(block):
    assert parse_profile(block).name in ("home wifi", "tunnel")


def test_there_are_files_shown():
    assert len(blocks("toml")) == 2
    assert "delay_table" in blocks("toml")[0]


@pytest.mark.parametrize("block", blocks("python"))
def test_python_shown_runs(block):
    exec(compile(block, "docs/profiles.md", "exec"), {})


def test_presets_are_all_there():
    assert [code(row[0])[0] for row in rows("## Presets")] == list(PRESETS)


def test_horizons_shown_are_the_computed_ones():
    for link, _, shown in rows("### Play-out horizon"):
        ticks = sum(int(part) for part in shown.split("+"))
        assert horizon_ticks(parse_preset(code(link)[0]), 0.02) == ticks


def test_forms_shown_parse():
    for form, _ in rows("# Link profiles"):
        for text in code(form):
            if not text.endswith(".toml"):
                assert isinstance(parse_preset(text), ProfilePair)


def test_the_example_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["profile_to_toml.py", str(tmp_path / "lte.toml")])
    runpy.run_path(str(ROOT / "examples" / "profile_to_toml.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "play-out horizon at 50 Hz:" in printed and "delivered at 50/s" in printed
    assert read_profile(tmp_path / "lte.toml").name == "lte"
