"""What the cells of CALF's tables play: the declared list, word for word, and episodes as one score has them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from netlab.agents.policy import find_policy
from netlab.scoring.scorer import Overrides, score
from netlab.tables.calf_cell import CHOOSING_SEEDS, FIRST_SEED, CalfCell
from netlab.tables.calf_plan import QUICK, TableSize, plan_calf
from netlab.tables.calf_result import CalfResult
from netlab.tables.calf_rows import SECTIONS
from netlab.tables.parity_plan import FIRST_SEED as PARITY_SEED

CARTPOLE, DOORKEY = "CartPole-v1", "MiniGrid-DoorKey-8x8-v0"
ALL = (
    "none",
    "ethernet-clean@rtt",
    "ethernet-clean@oneway",
    "wifi-normal@rtt",
    "wifi-normal@oneway",
    "wifi-degraded@rtt",
    "wifi-degraded@oneway",
)
NEUTRAL = Overrides(actuator="newest", fallback="neutral")
HOLD = Overrides(actuator="newest", fallback="hold")
WAIT = Overrides(actuator="stop-and-wait")
AS_IT_IS = Overrides()

CARTPOLE_ROWS = {
    "baseline, neutral": ("cartpole-baseline", NEUTRAL),
    "baseline, hold": ("cartpole-baseline", HOLD),
    "paper's method": ("cartpole-paper", AS_IT_IS),
    "scheduled, model-free": ("cartpole-scheduled", AS_IT_IS),
    "scheduled, learned model": ("cartpole-predictor", AS_IT_IS),
    "scheduled, exact physics": ("linear-predict", AS_IT_IS),
    "linear": ("linear", AS_IT_IS),
}
DOORKEY_ROWS = {
    "baseline, no-op": ("doorkey-baseline", NEUTRAL),
    "baseline, hold": ("doorkey-baseline", HOLD),
    "network-aware": ("doorkey-aware", AS_IT_IS),
    "baseline, stop-and-wait": ("doorkey-baseline", WAIT),
}
ABLATION_ROWS = {
    "none": ("cartpole-paper-none", AS_IT_IS),
    "delay": ("cartpole-paper-delay", AS_IT_IS),
    "jitter": ("cartpole-paper-jitter", AS_IT_IS),
    "loss": ("cartpole-paper-loss", AS_IT_IS),
    "full": ("cartpole-paper", AS_IT_IS),
}
DECLARED = {
    "cartpole": (CARTPOLE, {}, ALL, CARTPOLE_ROWS),
    "doorkey-640": (DOORKEY, {"limit_ticks": 640}, ALL, DOORKEY_ROWS),
    "doorkey-160": (DOORKEY, {"limit_ticks": 160}, ALL, DOORKEY_ROWS),
    "ablation": (CARTPOLE, {}, ("none", "wifi-degraded@rtt", "wifi-degraded@oneway"), ABLATION_ROWS),
}


def test_these_rows_are_declared_and_no_others() -> None:
    assert {
        section.name: (
            section.task,
            section.options,
            section.networks,
            {row.name: (row.policy, row.overrides) for row in section.rows},
        )
        for section in SECTIONS
    } == DECLARED


def wanted(episodes: int, seeds: int) -> Iterator[tuple[str, str, CalfCell]]:
    for section, (task, options, networks, rows) in DECLARED.items():
        for row, (policy, overrides) in rows.items():
            for seed in range(1, seeds + 1) if not policy.startswith("linear") else [None]:
                name = policy if seed is None else f"{policy}-{seed}"
                sha256 = find_policy(name).sha256
                for network in networks:
                    yield (
                        section,
                        row,
                        CalfCell(
                            policy=name,
                            policy_sha256=sha256,
                            training_seed=seed,
                            task=task,
                            options=options,
                            network=network,
                            overrides=overrides,
                            episodes=episodes,
                            first_seed=1_000_000,
                        ),
                    )


def test_each_training_seed_of_a_row_is_played_on_each_network_as_declared() -> None:
    planned = plan_calf(TableSize())
    assert [(one.section, one.row, one.cell) for one in planned.cells] == list(wanted(100, 5))
    assert len(planned.distinct) == 529 and planned.missing == ()
    quick = plan_calf(QUICK)
    assert [(one.section, one.row, one.cell) for one in quick.cells] == list(wanted(10, 2))


def test_no_seed_is_for_choosing_or_of_the_other_table() -> None:
    assert (CHOOSING_SEEDS, FIRST_SEED, PARITY_SEED) == (10_000, 1_000_000, 2_000_000)
    for cell in plan_calf(TableSize()).distinct.values():
        assert cell.first_seed >= 10_000 and cell.first_seed + cell.episodes <= 2_000_000


def played(cell: CalfCell) -> CalfResult:
    return msgspec.structs.replace(msgspec.json.decode(cell.compute(), type=CalfResult), seconds=0.0)


@pytest.mark.parametrize(
    ("section", "row", "policy", "network", "overrides", "options"),
    [
        ("cartpole", "baseline, neutral", "cartpole-baseline-1", "wifi-degraded@oneway", NEUTRAL, {}),
        ("cartpole", "baseline, hold", "cartpole-baseline-1", "wifi-degraded@rtt", HOLD, {}),
        ("cartpole", "paper's method", "cartpole-paper-1", "wifi-degraded@oneway", AS_IT_IS, {}),
        ("cartpole", "scheduled, model-free", "cartpole-scheduled-1", "wifi-normal@oneway", AS_IT_IS, {}),
        ("cartpole", "linear", "linear", "wifi-degraded@oneway", AS_IT_IS, {}),
        ("ablation", "loss", "cartpole-paper-loss-1", "wifi-degraded@rtt", AS_IT_IS, {}),
        ("doorkey-160", "baseline, hold", "doorkey-baseline-1", "none", HOLD, {"limit_ticks": 160}),
        ("doorkey-160", "network-aware", "doorkey-aware-1", "wifi-degraded@oneway", AS_IT_IS,
         {"limit_ticks": 160}),
        ("doorkey-160", "baseline, stop-and-wait", "doorkey-baseline-1", "wifi-normal@rtt", WAIT,
         {"limit_ticks": 160}),
        ("doorkey-640", "baseline, no-op", "doorkey-baseline-1", "wifi-normal@oneway", NEUTRAL,
         {"limit_ticks": 640}),
    ],
)  # fmt: skip
def test_a_cell_is_what_one_score_with_its_words_says(
    section: str, row: str, policy: str, network: str, overrides: Overrides, options: dict[str, int]
) -> None:
    (cell,) = [
        one.cell
        for one in plan_calf(TableSize(episodes=4, training_seeds=1)).cells
        if (one.section, one.row, one.cell.network) == (section, row, network)
    ]
    one = score(policy, network, episodes=4, seed=1_000_000, overrides=overrides, options=options)
    assert one.seeds == (1_000_000, 1_000_001, 1_000_002, 1_000_003) and one.task_options == options
    assert played(cell) == msgspec.structs.replace(CalfResult.of(one), seconds=0.0)


def test_each_word_of_a_cell_decides_what_is_played() -> None:
    """Code, which no training changes: other seeds, another reading, another fallback, pushes show."""
    pole = CalfCell(policy="linear", task=CARTPOLE, network="wifi-degraded@oneway", episodes=4)
    assert pole.first_seed == 1_000_000
    returns = [played(pole).returns]
    for other in (
        {"first_seed": 1_000_004},
        {"network": "wifi-degraded@rtt"},
        {"overrides": HOLD},
        {"options": {"push_n": 3.0}},
    ):
        returns.append(played(msgspec.structs.replace(pole, **other)).returns)
    assert len(set(returns)) == 5
