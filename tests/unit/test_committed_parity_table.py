"""The parity table below docs/results belongs to this repository, and pages name it."""

from __future__ import annotations

from functools import cache
from statistics import fmean

import msgspec
import pytest
from committed_results import (
    RESULTS,
    ROOT,
    are_close,
    as_written,
    command_of,
    first_difference,
    is_such_a_machine,
)

from netlab.modes.plan import RunPlan
from netlab.modes.request import RunRequest
from netlab.scoring.score import standard_error
from netlab.tables.parity_difference import by_episode
from netlab.tables.parity_page import parity_page
from netlab.tables.parity_plan import FULL
from netlab.tables.parity_rows import PLAYED, REAL_NETWORKS, VIRTUAL_NETWORKS
from netlab.tables.parity_run import parity_document
from netlab.tables.parity_table import ParityLine, ParityTable
from netlab.tables.parity_wrapper import play_in_wrapper

NAMING = [page.name for page in (ROOT / "docs").glob("*.md") if "results/parity.md" in page.read_text()]


@cache
def parity() -> ParityTable:
    return msgspec.json.decode((RESULTS / "parity.json").read_bytes(), type=ParityTable)


def test_paritys_page_is_that_of_its_document() -> None:
    assert "modes.md" in NAMING
    command = command_of("parity.json")
    assert command.startswith("netlab table parity -o docs/results") and "--quick" not in command
    assert not first_difference("parity.md", parity_page(parity(), command))
    assert not first_difference("parity.json", as_written(parity_document(parity(), command)))


def in_virtual_time() -> list[ParityLine]:
    return [line for line in parity().lines if "virtual" in line.engine]


def test_paritys_document_is_of_all_that_is_declared() -> None:
    declared = {(one.policy, one.actuator or "") for one in PLAYED}
    virtual = in_virtual_time()
    assert [(one.policy, one.actuator, one.network) for one in virtual] == [
        (one.policy, one.actuator or "", network) for network in VIRTUAL_NETWORKS for one in PLAYED
    ]
    for line in virtual:
        assert line.equivalence.n >= FULL.cells * FULL.cell_episodes
        assert line.seeds == tuple(range(2_000_000, 2_000_000 + len(line.seeds)))
    real = [line for line in parity().lines if line not in virtual]
    assert {one.network for one in real} == set(REAL_NETWORKS)
    assert {(one.policy, one.actuator) for one in real} == declared


@pytest.mark.parametrize(
    ("policy", "network"),
    [
        ("cartpole-baseline", "wifi-degraded"),
        ("cartpole-baseline", "wifi-degraded@oneway"),
        ("cartpole-paper", "wifi-degraded@oneway"),
    ],
)
def test_what_the_wrapper_plays_again_is_what_paritys_document_says(policy: str, network: str) -> None:
    (line,) = [
        one for one in in_virtual_time() if (one.policy, one.actuator, one.network) == (policy, "", network)
    ]
    kept = line.first_wrapper[:20]
    assert len(kept) == 20 and line.seeds[0] == 2_000_000
    plan = RunPlan.of(RunRequest(policy=policy, network=network, episodes=20, seed=2_000_000), "link")
    returns = [sum(tick.reward for tick in episode) for episode in by_episode(play_in_wrapper(plan))]
    if is_such_a_machine([parity().machine], parity().versions["numpy"]):
        assert tuple(returns) == kept
    else:
        error, kept_error = standard_error(returns), standard_error(kept)
        assert are_close(fmean(returns), error, fmean(kept), kept_error)
