"""What decides figures is in the keys of cells: which code counts, and which does not."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import netlab
from netlab.tables.code_digest import code_digest
from netlab.tables.deciding_versions import CANNOT_DECIDE, DECIDES_ALL_THE_SAME, deciding_versions

KEYS = {"netlab.tables.cell", "netlab.tables.code_digest", "netlab.tables.deciding_versions"}
"""Make keys, and no figures."""


def digest_without(*modules: str) -> str:
    """Return the digest as it is now, or would be if a module were not there."""
    code_digest.cache_clear()
    but = tuple(one for one in DECIDES_ALL_THE_SAME if one not in modules)
    return code_digest("netlab", without=(*CANNOT_DECIDE, *modules), but=but)


@pytest.mark.parametrize(
    "module",
    [
        "netlab.agents.policy",
        "netlab.cli.run",
        "netlab.control.remote",
        "netlab.envs.cartpole",
        "netlab.lab_network",
        "netlab.messages",
        "netlab.namespaces.netem_codec",
        "netlab.scoring.scorer",
        "netlab.service_run",
        "netlab.settled_horizon",
        "netlab.start_gate",
        "netlab.tables.calf_cell",
        "netlab.tables.parity_difference",
        "netlab.tables.parity_wrapper",
        "netlab.traces.data.ping_series",
        "netlab.network_words",
        "netlab.wire.frame_length",
    ],
)
def test_what_plays_counts(module: str) -> None:
    assert digest_without(module) != digest_without(), f"there is no {module}, or it does not count"


@pytest.mark.parametrize("module", ["netlab.bench.parity", "netlab.cli.verify", "netlab.tables.parity_page"])
def test_what_shows_does_not(module: str) -> None:
    assert importlib.util.find_spec(module) is not None
    assert digest_without(module) == digest_without()


@pytest.mark.parametrize("module", [one for one in DECIDES_ALL_THE_SAME if one.startswith("netlab.tables.")])
def test_what_plays_uses_nothing_of_tables_and_figures_that_does_not_count(module: str) -> None:
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    used = {node.module or "" for node in ast.walk(ast.parse(Path(spec.origin).read_text()))
            if isinstance(node, ast.ImportFrom)}  # fmt: skip
    shown = {name for name in used if name.startswith(("netlab.tables", "netlab.bench"))}
    assert shown <= {*DECIDES_ALL_THE_SAME, *KEYS}


def test_versions_are_those_that_run() -> None:
    deciding_versions.cache_clear()
    versions = deciding_versions()
    assert versions["code"] == digest_without()
    assert versions.keys() == {"netlab", "numpy", "gymnasium", "minigrid", "python", "code"}
    assert (versions["netlab"], versions["numpy"]) == (netlab.__version__, np.__version__)
    assert len(versions["code"]) == 64 and all(versions.values())
