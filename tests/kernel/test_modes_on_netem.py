"""``netlab run --mode lab`` on netem and ``--mode model``: one policy file, one link, one seed."""

from __future__ import annotations

from pathlib import Path

from saved_linear import LINK, netlab_run, read_lines, returns, write_linear

from netlab.clock_name import in_virtual_time

SEED = 7


def test_a_policy_file_plays_on_netem_what_it_plays_on_the_model(tmp_path: Path) -> None:
    write_linear(tmp_path / "saved.safetensors")
    asked = ["saved.safetensors", "--network", LINK, "--seed", SEED]
    model = netlab_run(tmp_path, *asked, "--mode", "model", "--ticks", "model.jsonl")
    lab = netlab_run(tmp_path, *asked, "--mode", "lab", "--on", "host", "--ticks", "lab.jsonl")
    assert lab["engine"] in ("host", "guest") and model["engine"] == "model"
    assert lab["run"]["policy"] == model["run"]["policy"] == "saved-linear"
    assert returns(lab) == returns(model) == [500.0]
    if not in_virtual_time():
        return
    ours, theirs = read_lines(tmp_path / "model.jsonl"), read_lines(tmp_path / "lab.jsonl")
    assert len(ours) == len(theirs) == 500
    # An answer that arrives in the 5 us by which a tick may begin late has another age; its action is the same.
    aged = ("age_ticks", "newest_age_ticks")
    for one, other in zip(ours, theirs, strict=True):
        assert {key: one[key] for key in one.keys() - aged} == {key: other[key] for key in other.keys() - aged}
    differ = sum(one != other for one, other in zip(ours, theirs, strict=True))
    print(f"ages differ in {differ} of 500 ticks")
    assert differ <= 5
    for way in (0, 1):
        assert model["delivered"][way]["lost"] == lab["delivered"][way]["lost"]
    assert model["delivered"][0]["lost"] > 0
