"""read_toml: every reader of TOML text ends soon, whatever the text; a key's parts are told from other dots."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from netlab.errors import NetlabError
from netlab.lab_spec import read_lab_spec
from netlab.traces.network_distribution import NetworkDistribution
from netlab.traces.presets import parse_preset
from netlab.traces.toml_network import parse_network
from netlab.traces.toml_profile import parse_profile, read_profile
from netlab.traces.toml_text import MAX_KEY_PARTS, read_toml
from netlab.training.recipe import find_recipe

LONG = ".".join(["a"] * 100_000)
READERS: dict[str, Callable[[str], object]] = {
    "profile": read_profile,
    "preset": parse_preset,
    "text of a profile": lambda path: parse_profile(Path(path).read_text(), path),
    "network": parse_network,
    "lab": read_lab_spec,
    "recipe": find_recipe,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "text",
    [
        f"{LONG} = 1\n",
        f"[{LONG}]\nx = 1\n",
        f"[[{LONG}]]\nx = 1\n",
        f"x = {{ {LONG} = 1 }}\n",
        f"x = 1\n{LONG.replace('a', ' a ')} = 1\n",
        LONG.replace("a", '"a.b"') + " = 1\n",
        LONG.replace("a", "'a#'") + " = 1\n",
    ],
    ids=["key", "heading", "list", "inline", "spaced", "quoted", "literal"],
)
def test_a_key_of_very_many_parts_is_refused_in_no_time(reader: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(text)
    began_s = time.process_time()
    with pytest.raises(NetlabError, match=rf"long\.toml: has a key of more than {MAX_KEY_PARTS} parts \(at line"):
        READERS[reader](str(path))
    assert time.process_time() - began_s < 1.0


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "a = " + "{a=" * 100_000,
        "a = '" + '\\"' * 100_000,
        "a = " + "{a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=" * 100 + "1" + "}" * 100,
        "a = " + "[" * MAX_KEY_PARTS + "]" * MAX_KEY_PARTS,
    ],
    ids=["lists", "tables", "text", "keys of tables", "one too many"],
)
def test_what_is_nested_or_never_ends_is_refused_in_no_time(reader: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(text)
    began_s = time.process_time()
    with pytest.raises(NetlabError, match=r"deep\.toml: is n(ested too deeply|ot TOML)"):
        READERS[reader](str(path))
    assert time.process_time() - began_s < 1.0


DOTS = "." * 200
PARTS = ".".join(["b"] * MAX_KEY_PARTS)


@pytest.mark.parametrize(
    "text",
    [
        f'a = "{PARTS}.b"\n',
        f"a = '{PARTS}.b' # {DOTS}\n",
        f'a = """\n{DOTS}"" {DOTS}\n\\""" {DOTS}""""\n',
        f"a = '''\n{DOTS}'' {DOTS}\n'''''\n",
        f'a = ["{DOTS}", "\\"{DOTS}", """""", "", "{DOTS}"]\n',
        f"{PARTS} = 1\n[{PARTS[:-4]}.c]\n",
        f"a = [{', '.join(['1.5'] * 100)}]\n",
        f"a = {{ x = 1.5, y = {{ {PARTS[:-4]} = 2 }} }}\n",
        f"a = {'[' * (MAX_KEY_PARTS - 1)}{']' * (MAX_KEY_PARTS - 1)}\n",
    ],
    ids=["text", "literal", "long text", "long literal", "list", "key", "numbers", "inline", "lists"],
)
def test_other_dots_are_read(text: str) -> None:
    assert read_toml(text) == tomllib.loads(text)


@pytest.mark.parametrize(
    "before", ['a = "\\""\n', "a = '\\'\n", 'a = """x"""\n', "a = ''''x'''' # \"\n", "# '''\n"]
)
def test_a_key_is_found_behind_whatever_is_quoted(before: str) -> None:
    with pytest.raises(ValueError, match=r"\(at line 2\)"):
        read_toml(f"{before}{PARTS}.c = 1\n")


def test_what_is_read_is_what_it_was() -> None:
    assert isinstance(parse_network("random"), NetworkDistribution)
    assert read_toml('a.b = "c"') == {"a": {"b": "c"}}
