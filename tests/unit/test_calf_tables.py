"""The tables beside CALF's: keys, what is declared, arithmetic, gaps, findings, the page."""

from __future__ import annotations

import json
import math
import random
import statistics

import msgspec
import pytest
from calf_results import cell, plan, result, results

from netlab.agents.policy import RECIPES
from netlab.agents.shipped_policies import shipped_names, shipped_path
from netlab.envs.registry import TASKS
from netlab.errors import SpecError
from netlab.network_words import find_network
from netlab.scoring.score import gap
from netlab.scoring.scorer import Overrides
from netlab.tables import calf_cell
from netlab.tables.calf_cell import CHOOSING_SEEDS, FIRST_SEED, CalfCell
from netlab.tables.calf_findings import Verdict, by_chance, compare, findings
from netlab.tables.calf_page import calf_page
from netlab.tables.calf_plan import QUICK, TableSize, plan_calf
from netlab.tables.calf_rows import ABLATION, CLEAN, DEGRADED, PAPER, PAPER_GAP_RATIO, SECTIONS, Group
from netlab.tables.calf_run import calf_document
from netlab.tables.calf_table import (
    NO_GAP,
    Entry,
    GapRatio,
    SeedScore,
    calf_table,
    gap_estimate,
    gap_ratio,
    paper_gap_ratio,
)
from netlab.tables.intervals import Estimate
from netlab.training.recipe import shipped_recipes

OTHERS = {
    "policy": "linear-predict",
    "policy_sha256": "ab",
    "training_seed": 2,
    "task": "another",
    "options": {"limit_ticks": 160},
    "network": "none",
    "overrides": Overrides(fallback="hold"),
    "episodes": 3,
    "first_seed": FIRST_SEED + 1,
}


@pytest.mark.parametrize("name", CalfCell.__struct_fields__)
def test_every_field_is_in_the_key(name: str) -> None:
    assert cell(**{name: OTHERS[name]}).key != cell().key


@pytest.mark.parametrize("name", Overrides.__struct_fields__)
def test_every_override_is_in_the_key(name: str) -> None:
    value = {"actuator": "scheduled", "horizon": 5, "fallback": "hold"}[name]
    assert cell(overrides=Overrides(**{name: value})).key != cell().key


def test_a_key_is_always_the_same_and_a_files_place_is_not_in_it() -> None:
    assert cell().key == cell().key
    here, there = (cell(policy=f"{place}/a-1.safetensors", policy_sha256="ab") for place in ("here", "there"))
    assert here.key == there.key != cell(policy="here/a-1.safetensors", policy_sha256="ac").key


@pytest.mark.parametrize("name", ["netlab", "numpy", "gymnasium", "minigrid", "python", "code"])
def test_every_version_that_decides_is_in_the_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, versions = cell().key, calf_cell.deciding_versions()
    monkeypatch.setattr(calf_cell, "deciding_versions", lambda: versions | {name: "another"})
    assert cell().key != before


@pytest.mark.parametrize("seed", [0, CHOOSING_SEEDS - 1])
def test_seeds_for_choosing_are_refused(seed: int) -> None:
    with pytest.raises(SpecError, match="are for choosing"):
        cell(first_seed=seed)
    assert cell().first_seed == FIRST_SEED >= CHOOSING_SEEDS


def test_what_is_declared_is_there() -> None:
    names = {*shipped_names(), *RECIPES, *shipped_recipes()}
    for section in SECTIONS:
        assert section.task in TASKS
        assert len({row.name for row in section.rows}) == len(section.rows)
        assert section.networks[0] == CLEAN and set(DEGRADED) <= set(section.networks)
        for network in section.networks:
            find_network(network)
        for row in section.rows:
            assert row.policy in names
            assert row.is_code == (row.policy in RECIPES)
    assert {row.group for section in SECTIONS for row in section.rows} == set(Group)
    assert [row.name for row in ABLATION.rows] == ["none", "delay", "jitter", "loss", "full"]
    for figures in PAPER.values():
        for networks in figures.values():
            assert networks.keys() <= {CLEAN, "ethernet-clean", "wifi-normal", "wifi-degraded"}


def test_the_plan_has_every_shipped_seed_and_names_what_is_missing() -> None:
    full = plan_calf(TableSize())
    seeds = {one.cell.training_seed for one in full.cells if one.row == "paper's method"}
    assert seeds == {1, 2, 3, 4, 5}
    of_row = [one for one in full.cells if (one.section, one.row) == ("cartpole", "paper's method")]
    assert len(of_row) == 5 * 7
    # The ablation's last row is the paper's method again: played once.
    again = [one.key for one in full.cells if (one.section, one.row) == ("ablation", "full")]
    assert len(again) == 5 * 3 and set(again) <= {one.key for one in of_row}
    assert len(full.distinct) == len({one.key for one in full.cells}) < len(full.cells)
    for policy in full.missing:
        assert shipped_path(policy) is None and policy in shipped_recipes()


def test_quick_is_small() -> None:
    """About 130 episodes a second on two cores: a minute has room for these."""
    cells = plan_calf(QUICK).distinct.values()
    assert len(cells) < 300 and sum(one.episodes for one in cells) < 3000
    assert len({one.training_seed for one in cells}) == 3  # two seeds, and code


def test_files_of_a_folder_come_first_and_must_be_what_their_names_say(tmp_path) -> None:
    data = shipped_path("cartpole-paper-2").read_bytes()
    (tmp_path / "cartpole-paper-2.safetensors").write_bytes(data)
    size = TableSize(episodes=2, training_seeds=2)
    planned = plan_calf(size, tmp_path)
    ours = [one.cell for one in planned.cells if one.row == "paper's method"]
    assert {one.policy for one in ours} == {"cartpole-paper-1", str(tmp_path / "cartpole-paper-2.safetensors")}
    assert set(planned.distinct) == set(plan_calf(size).distinct)  # the same bytes, the same figures
    (tmp_path / "cartpole-paper-1.safetensors").write_bytes(data)
    with pytest.raises(SpecError, match="was trained with seed 2"):
        plan_calf(size, tmp_path)
    (tmp_path / "cartpole-paper-1.safetensors").write_bytes(shipped_path("doorkey-aware-1").read_bytes())
    with pytest.raises(SpecError, match="controls MiniGrid"):
        plan_calf(size, tmp_path)
    (tmp_path / "cartpole-paper-1.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(SpecError, match=r"cartpole-paper-1\.safetensors"):
        plan_calf(size, tmp_path)


def scores(row: str, one: CalfCell) -> float:
    """Say what an episode scores: the baselines lose most, the paper's method less, what is scheduled nothing."""
    top = 100.0 if "DoorKey" in one.task else 500.0
    if one.network not in DEGRADED:
        return top
    lost = {"baseline, neutral": 0.8, "baseline, hold": 0.9, "none": 0.8, "loss": 0.7, "delay": 0.6, "jitter": 0.3}
    share = 1.0 - lost.get(row, 0.2 if row in ("paper's method", "full") else 0.0)
    return top * share - (one.training_seed or 0) if share < 1.0 and top > 100.0 else top * (share > 0.5)


def test_figures_are_over_episodes_then_over_training_seeds() -> None:
    planned = plan(seeds=3, episodes=4)
    table = calf_table(planned, results(planned, scores))
    entry = table.entry("cartpole", "paper's method", DEGRADED[0])
    assert [seed.mean for seed in entry.seeds] == [399.0, 398.0, 397.0]
    assert (entry.median, entry.mean, entry.least, entry.greatest, entry.sd) == (398.0, 398.0, 397.0, 399.0, 1.0)
    assert entry.standard_error == pytest.approx(1.0 / math.sqrt(3)) and entry.episodes == 4
    assert table.entry("cartpole", "linear", CLEAN).seeds[0].training_seed is None
    assert table.entry("cartpole", "no such row", CLEAN) is None
    assert table.computing_s == 1.5 * len(planned.distinct) and table.cells == len(planned.distinct)
    assert len(table.machines) == 1


def test_success_counts_as_percent() -> None:
    assert result((0.9, 0.0, 0.5, 0.7), has_goal=True).points == (100.0, 0.0, 100.0, 100.0)
    assert result((12.0, 500.0)).points == (12.0, 500.0)


def test_gaps_and_ratios() -> None:
    assert gap(378.0, 476.0) == pytest.approx(0.2059, abs=1e-4)
    assert gap(1.0, 0.0) is gap(1.0, -3.0) is None
    assert gap_ratio(0.8, 0.2) == pytest.approx(4.0)
    assert gap_ratio(0.8, 0.0) is gap_ratio(0.8, -0.1) is gap_ratio(0.0, 0.2) is gap_ratio(0.8, NO_GAP / 2) is None
    # The paper states 3.95 and 3.13; of DoorKey its own figures give another number.
    assert paper_gap_ratio("CartPole-v1") == pytest.approx(PAPER_GAP_RATIO["CartPole-v1"], abs=0.01)
    assert round(paper_gap_ratio("MiniGrid-DoorKey-8x8-v0"), 2) == 3.16


def test_a_table_has_a_ratio_for_each_row_that_is_no_baseline() -> None:
    planned = plan()
    table = calf_table(planned, results(planned, scores))
    ours = [one for one in table.ratios if (one.section, one.row) == ("cartpole", "paper's method")]
    assert [(one.network, one.baseline) for one in ours] == [
        (network, f"baseline, {fallback}") for network in DEGRADED for fallback in ("neutral", "hold")
    ]
    assert ours[0].ratio == pytest.approx((1 - 98 / 500) / (1 - 398 / 500))
    (first, *_) = [one for one in table.ratios if one.row == "scheduled, model-free"]
    assert (first.ratio, first.gap) == (None, 0.0)
    assert not [one for one in table.ratios if one.row == "linear"]


def entry(*means: float, error: float | None = None) -> Entry:
    """Return a row on a network, in which training seeds scored these means."""
    seeds = tuple(
        SeedScore(training_seed=seed, policy_sha256="", mean=mean, standard_error=error, least=mean)
        for seed, mean in enumerate(means)
    )
    return Entry(
        section="",
        row="",
        network="",
        seeds=seeds,
        episodes=100,
        median=statistics.median(means),
        mean=statistics.fmean(means),
        sd=statistics.stdev(means) if len(means) > 1 else None,
        least=min(means),
        greatest=max(means),
    )


def test_two_errors_of_five_seeds_are_no_difference_yet() -> None:
    """Of five training seeds Student's quantile is 2.31 (8 degrees of freedom), or 2.78 where one row is sure."""
    five = (96.0, 98.0, 100.0, 102.0, 104.0)  # a mean of 100, its standard error 1.414
    for times, other, verdict in (
        (2.2, five, Verdict.NOT_SEEN),
        (2.4, five, Verdict.REPRODUCED),
        (2.6, (100.0,) * 5, Verdict.NOT_SEEN),
        (2.9, (100.0,) * 5, Verdict.REPRODUCED),
    ):
        lower, higher = entry(*other), entry(*five)
        by = times * math.hypot(higher.standard_error, lower.standard_error)
        higher = entry(*(mean + by for mean in five))
        assert compare(higher, lower) is verdict
        assert compare(lower, higher) is (
            Verdict.NOT_SEEN if verdict is Verdict.NOT_SEEN else Verdict.NOT_REPRODUCED
        )
    # Of one training seed the error is over its 100 episodes: 2 of it are enough.
    assert compare(entry(102.9, error=1.0), entry(100.0, error=1.0)) is Verdict.REPRODUCED
    assert compare(entry(102.7, error=1.0), entry(100.0, error=1.0)) is Verdict.NOT_SEEN


def test_a_gap_is_of_pairs_of_one_training_seed() -> None:
    clean = (400.0, 500.0, 600.0)
    even = gap_estimate(entry(200.0, 250.0, 300.0), entry(*clean))
    assert even == Estimate(0.5, pytest.approx(0.0, abs=1e-12), 2)
    other = gap_estimate(entry(300.0, 250.0, 200.0), entry(*clean))
    assert other == Estimate(0.5, pytest.approx(100.0 / math.sqrt(3) / 500.0), 2)
    one = gap_estimate(entry(250.0, error=3.0), entry(500.0, error=8.0))
    assert one == Estimate(0.5, pytest.approx(5.0 / 500.0), 99)
    assert gap_estimate(entry(1.0, 2.0), entry(0.0, 0.0)) is None


def ratio_verdict(own: tuple[float, ...], baseline: tuple[float, ...]) -> tuple[GapRatio, str, str]:
    """Return what becomes of the claimed ratio, 3.95, where five training seeds have these gaps in percent."""
    planned = plan(seeds=5, sections=SECTIONS[:1])

    def score(row: str, one: CalfCell) -> float:
        gaps = {"paper's method": own, "baseline, neutral": baseline}.get(row)
        if gaps is None or one.network == CLEAN:
            return 500.0
        return 500.0 - 5.0 * gaps[(one.training_seed or 1) - 1]

    table = calf_table(planned, results(planned, score))
    (ratio,) = [
        one
        for one in table.ratios
        if (one.section, one.row, one.baseline, one.network)
        == ("cartpole", "paper's method", "baseline, neutral", DEGRADED[0])
    ]
    (found,) = [
        one
        for one in findings(table)
        if one.where == f"CartPole-v1, {DEGRADED[0]}" and "narrower" in one.claim and "neutral" in one.figures
    ]
    return ratio, found.verdict, found.figures


def test_a_ratio_is_judged_by_its_interval() -> None:
    surely = (80.0, 81.0, 79.0, 80.5, 79.5)
    ratio, verdict, figures = ratio_verdict((10.0, 10.5, 9.5, 10.2, 9.8), surely)
    assert verdict is Verdict.REPRODUCED and ratio.ratio == pytest.approx(8.0)
    assert 3.95 < ratio.low < 8.0 < ratio.high
    assert f"10.0% ± {ratio.gap_reach:.1%} against 80.0% ± {ratio.baseline_reach:.1%}" in figures
    assert f"8.00 times ({ratio.low:.2f} .. {ratio.high:.2f})" in figures
    assert ratio_verdict((40.0, 41.0, 39.0, 40.5, 39.5), surely)[1] is Verdict.NOT_REPRODUCED
    for gaps in ((10.0, 19.0, 12.0, 25.0, 14.0), (20.0, 30.0, 15.0, 25.0, 22.0)):  # 5 times, and 3.6
        ratio, verdict, _ = ratio_verdict(gaps, surely)
        assert verdict is Verdict.UNDECIDED and ratio.low < 3.95 < ratio.high


def test_a_ratio_to_a_gap_that_may_be_none_has_a_least_alone() -> None:
    surely = (80.0, 81.0, 79.0, 80.5, 79.5)
    ratio, verdict, figures = ratio_verdict((0.0, 1.0, 0.0, 2.0, 0.0), surely)
    assert verdict is Verdict.REPRODUCED and ratio.high is None and 3.95 < ratio.low < ratio.ratio
    assert f"({ratio.low:.2f} or more)" in figures
    ratio, verdict, figures = ratio_verdict((0.0,) * 5, surely)
    assert verdict is Verdict.REPRODUCED and ratio.low is ratio.high is None and "no gap left" in figures
    ratio, verdict, _ = ratio_verdict((0.0, 60.0, 0.0, 0.0, 30.0), surely)
    assert verdict is Verdict.UNDECIDED and ratio.high is None and ratio.low < 3.95


def test_a_baseline_whose_gap_may_be_none_shows_nothing() -> None:
    """Nothing is left of ours, and of theirs there was hardly anything: 0.6 % on average, of one seed in five."""
    ratio, verdict, figures = ratio_verdict((0.0,) * 5, (0.0, 0.0, 3.0, 0.0, 0.0))
    assert ratio.baseline_gap == pytest.approx(0.006) and not ratio.has_baseline_gap and ratio.low is None
    assert verdict is Verdict.NOT_SEEN and "the baseline has no gap that is told from none" in figures


def test_as_many_claims_are_found_by_chance_as_the_page_says() -> None:
    """40 tables of rows that score alike but for chance. Claims share rows, so their number is told to a third."""
    rng, planned = random.Random(5), plan(seeds=5)
    found = []
    for _ in range(40):
        table = calf_table(planned, results(planned, lambda row, one: rng.gauss(50.0, 5.0)))
        found += [one for one in findings(table) if "CartPole" in one.where and "narrower" not in one.claim]
    reproduced = sum(one.verdict is Verdict.REPRODUCED for one in found)
    opposite = sum(one.verdict is Verdict.NOT_REPRODUCED for one in found)
    assert by_chance(found) == pytest.approx(0.025 * len(found)) and len(found) > 500
    assert abs(reproduced + opposite - 2 * by_chance(found)) < 0.35 * 2 * by_chance(found)


def verdicts(score) -> dict[tuple[str, str], Verdict]:
    planned = plan()
    table = calf_table(planned, results(planned, score))
    return {(one.where, one.claim): one.verdict for one in findings(table)}


def test_findings_follow_the_figures() -> None:
    place = f"CartPole-v1, {DEGRADED[0]}"
    better = "trained on networks, a policy does better on Wi-Fi-Degraded than one trained without"
    ablation = f"{ABLATION.title}, {DEGRADED[0]}"
    jitter, loss = (
        f"{part} matters more than delay: trained on it alone a policy does better on Wi-Fi-Degraded"
        for part in ("jitter", "loss")
    )
    found = verdicts(scores)
    assert found[place, better] is Verdict.REPRODUCED
    assert found[ablation, jitter] is Verdict.REPRODUCED
    assert found[ablation, loss] is Verdict.NOT_REPRODUCED

    def turned(row: str, one: CalfCell) -> float:
        return 500.0 - scores(row, one) if one.task == "CartPole-v1" else scores(row, one)

    found = verdicts(turned)
    assert found[place, better] is Verdict.NOT_REPRODUCED
    assert found[ablation, jitter] is Verdict.NOT_REPRODUCED
    assert found[ablation, loss] is Verdict.REPRODUCED
    found = verdicts(lambda row, one: 100.0)
    assert set(found.values()) == {Verdict.NOT_SEEN}


def test_what_is_missing_is_told_and_judged_of_nothing() -> None:
    whole = plan()
    cells = tuple(one for one in whole.cells if one.row not in ("delay", "jitter"))
    partial = msgspec.structs.replace(whole, cells=cells, missing=("cartpole-paper-delay",))
    table = calf_table(partial, results(partial, scores))
    assert not [one for one in findings(table) if "jitter" in one.claim or "delay" in one.claim]
    page = calf_page(table, "make")
    assert "| delay | the paper's protocol and method | not there | - | - | - |" in page
    assert "Not there, so not played: `cartpole-paper-delay`." in page


def test_the_page_has_what_it_must_say_and_is_the_same_again() -> None:
    planned = plan()
    table = calf_table(planned, results(planned, scores))
    page = calf_page(table, "netlab table calf -o docs/results")
    assert page == calf_page(table, "netlab table calf -o docs/results")
    assert "**398.0** (398.0; 397.0 .. 399.0)" in page and "| 3 x 2 |" in page
    assert "| 0.0% | no gap left | - |" in page and "inf" not in page.replace("information", "")
    assert "3.95 (its figures: 3.95)" in page and "3.13 (its figures: 3.16)" in page
    assert "| network-aware | 476 | 458 | 458 | 442 | 442 | 378 | 378 |" in page
    tested = len(findings(table))
    assert f"{tested} claims are tested" in page and f"at most about {tested * 0.025:.1f} of them" in page
    for verdict in Verdict:
        assert f"### {verdict.value.capitalize()}: " in page
    for words in ("seeds 1000000 to 1000001", "below 10000", "Linux", "- The protocol is another one: "):
        assert words in page
    assert "calf.png" in page and "calf.png" not in calf_page(table, "make", with_picture=False)
    columns = {line.count("|") for line in page.splitlines() if line.startswith("| baseline, neutral")}
    assert columns == {len(SECTIONS[0].networks) + 4}


def test_the_document_has_everything() -> None:
    planned = plan()
    table = calf_table(planned, results(planned, scores))
    document = json.loads(msgspec.json.encode(calf_document(table, "make")))
    assert {"command", "sections", "entries", "ratios", "versions", "machines", "computing_s", "findings", "paper",
            "episodes", "first_seed", "commands", "networks", "missing"} <= document.keys()  # fmt: skip
    assert len(document["entries"]) == sum(len(one.rows) * len(one.networks) for one in SECTIONS)
    assert document["paper"]["gap_ratio"] == PAPER_GAP_RATIO
