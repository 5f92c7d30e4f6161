"""Distributions of networks: what is drawn is what is asked for, from files and names; what is none is named."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.errors import NetlabError, ProfileError, SpecError
from netlab.traces.loss import GilbertElliott
from netlab.traces.model.state_table import Column, StateTable
from netlab.traces.network_distribution import (
    CLEAN,
    PERFECT_LINK,
    RANDOM,
    Choice,
    LinkRanges,
    NetworkDistribution,
    Range,
)
from netlab.traces.network_pool import NetworkPool
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import PRESETS, parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.seed import link_seed
from netlab.traces.toml_network import BUILT_IN, parse_distribution, parse_network

PAGE = (Path(__file__).parents[2] / "docs" / "network-distributions.md").read_text()
N = 2000


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def drawn(distribution: NetworkDistribution, n: int = N) -> list[ProfilePair]:
    pairs = [distribution.draw(seed) for seed in range(n)]
    return [pair for pair in pairs if pair is not None]


def test_the_file_shown_is_the_built_in_one():
    assert parse_distribution(blocks("toml")[0]) == RANDOM == parse_network("random")


def test_the_choices_shown_are_drawn_as_often_as_said(tmp_path):
    file = tmp_path / "some.toml"
    file.write_text(blocks("toml")[1])
    distribution = parse_network(str(file))
    assert distribution.name == "some"
    names = [pair.name for pair in drawn(distribution)]
    # n = 2000: shares of .9, .5, .25 and .25, each within 5 sigma (.034, .059, .051 at most).
    assert abs(len(names) / N - 0.9) < 0.034
    assert abs(names.count("wifi-degraded") / len(names) - 0.5) < 0.059
    assert abs(names.count("cellular-lte") / len(names) - 0.25) < 0.051


@pytest.mark.parametrize("block", blocks("python"))
def test_python_shown_runs_and_prints_what_it_says(block, capsys):
    exec(compile(block, "docs/network-distributions.md", "exec"), {})
    printed = capsys.readouterr().out
    for shown in re.findall(r"# prints (.*)", block):
        assert shown in printed.splitlines()
    assert printed


def test_every_key_has_a_row():
    from netlab.traces.toml_network import _RANGE_KEYS, MARK

    assert re.findall(r"^\| `(\w+)` \| .* \| .* \|$", PAGE, re.MULTILINE) == [MARK, *_RANGE_KEYS]


def test_random_is_the_recipe():
    pairs = drawn(RANDOM)
    # n = 2000 episodes, 20 % clean: 5 sigma is .045.
    assert abs(1 - len(pairs) / N - 0.2) < 0.045
    for links in ([pair.forward for pair in pairs], [pair.back for pair in pairs]):
        bursts = [link.loss for link in links if isinstance(link.loss, GilbertElliott)]
        for values, high in (
            ([link.delay_s for link in links], 0.1),
            ([link.jitter_s for link in links], 0.05),
            ([link.loss_ratio_mean for link in links], 0.15),
            ([chain.burst_packets - 2 for chain in bursts], 6.0),
        ):
            scaled = np.array(values) / high
            assert 0.0 <= scaled.min() < 0.02 and 0.98 < scaled.max() <= 1.0 + 1e-9
            # The mean of at least 650 uniform numbers: 5 sigma is .057.
            assert abs(scaled.mean() - 0.5) < 0.057
        assert len(bursts) > 650
        assert abs(len(bursts) / len(links) - 0.5) < 0.063  # n = 1600: 5 sigma
        assert not any(link.ordered for link in links)
    there, back = (np.array([getattr(pair, way).delay_s for pair in pairs]) for way in ("forward", "back"))
    # Independent ways: the correlation of 1600 pairs is within 5 sigma, .125.
    assert abs(np.corrcoef(there, back)[0, 1]) < 0.125


@pytest.mark.parametrize(("heading", "alike"), [("both", True), ("each", False)])
def test_both_ways_alike_or_each_by_itself(heading, alike):
    text = f'clean_ratio = 0\n[{heading}]\ndelay = ["1ms", "9ms"]\nloss = "5%"\nordered_ratio = "50%"\n'
    pairs = drawn(parse_distribution(text), 200)
    assert len(pairs) == 200
    assert all((pair.forward is pair.back) == alike for pair in pairs)
    assert {pair.forward.loss for pair in pairs} == {0.05}
    # n = 200 episodes, half of them ordered: 5 sigma is 36.
    assert 64 < sum(pair.forward.ordered for pair in pairs) < 136


def test_each_way_has_its_own_ranges():
    back = 'delay = ["50ms", "60ms"]\nlaw = "uniform"\njitter = "2ms"\n'
    text = f'clean_ratio = 0\n[forward]\ndelay = "5ms"\n[back]\n{back}'
    pair = parse_distribution(text).draw(3)
    assert pair is not None
    assert (pair.forward.delay_s, pair.forward.jitter_s) == (0.005, 0.0)
    assert 0.05 <= pair.back.delay_s <= 0.06 and pair.back.law == "uniform"


@given(st.integers(0, 2**64 - 1))
def test_a_seed_draws_the_same_again_and_by_the_rule_of_the_page(seed):
    pair = RANDOM.draw(seed)
    assert pair == RANDOM.draw(seed)

    def share(name):
        digest = hashlib.sha256(f'[{seed},"{name}"]'.encode()).digest()
        return int.from_bytes(digest[:8], "big") // 2**11 / 2**53

    assert (pair is None) == (share("clean_ratio") < 0.2)
    if pair is not None:
        assert pair.back.delay_s == pytest.approx(0.1 * share("back.delay"), abs=1e-9)
        assert pair.forward.loss_ratio_mean == pytest.approx(0.15 * share("forward.loss"))


@settings(max_examples=60)
@given(
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
    st.tuples(st.floats(0, 0.2), st.floats(0, 0.2)),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
    st.tuples(st.floats(1, 30), st.floats(1, 30)),
    st.floats(0, 1),
    st.sampled_from(["normal", "uniform", "pareto", "paretonormal"]),
)
def test_what_is_taken_can_be_drawn(delay, jitter, loss, burst, share, law):
    """Ranges are refused as they are written, or never."""
    try:
        ranges = LinkRanges(
            delay_s=Range(*sorted(delay)), jitter_s=Range(*sorted(jitter)), loss_ratio=Range(*sorted(loss)),
            burst_packets=Range(*sorted(burst)), burst_ratio=share, ordered_ratio=share, law=law,
        )  # fmt: skip
    except ProfileError:
        return
    distribution = NetworkDistribution(name="x", clean_ratio=0.0, forward=ranges, back=ranges)
    for seed in range(20):
        distribution.draw(seed)


def test_a_name_and_a_file_of_one_network_are_that_network(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[link]\ndelay = "9ms"\n')
    for text, pair in (
        ("wifi-degraded@oneway", parse_preset("wifi-degraded@oneway")),
        (" delay=3ms,loss=1% ", parse_preset("delay=3ms,loss=1%")),
        (str(file), ProfilePair("mine", LinkProfile(delay_s=0.009), LinkProfile(delay_s=0.009))),
    ):
        distribution = parse_network(text)
        assert distribution.fixed is not None
        for seed in range(20):
            one = distribution.draw(seed)
            assert one is not None and (one.forward, one.back) == (pair.forward, pair.back)


def test_clean_is_clean():
    assert parse_network("clean") is CLEAN
    assert not drawn(CLEAN, 100)
    assert PERFECT_LINK.to_qdisc_state(1).rate_bytes_per_s == 0


def test_files_are_found_beside_the_distribution(tmp_path, monkeypatch):
    (tmp_path / "lte.toml").write_text('name = "lte"\n[link]\ndelay = "9ms"\n')
    (tmp_path / "n.toml").write_text('clean_ratio = "0%"\n[[choice]]\nnetwork = "lte.toml"\n')
    monkeypatch.chdir("/")
    assert [pair.name for pair in drawn(parse_network(str(tmp_path / "n.toml")), 3)] == ["lte"] * 3


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("[each]\n", "clean_ratio", "is missing"),
        ("clean_ratio = 1.5\n", "clean_ratio", "could mean percent"),
        ('clean_ratio = "20%"\n', "", "nothing for the other episodes"),
        ('clean_ratio = "20%"\n[link]\ndelay = "3ms"\n', "link", "unknown key"),
        ('clean_ratio = "20%"\n[eahc]\n', "eahc", "did you mean 'each'"),
        ('clean_ratio = "20%"\n[each]\n[both]\n', "", r"\[each\] and \[both\]"),
        ('clean_ratio = "20%"\n[forward]\n', "", r"has \[forward\]"),
        ('clean_ratio = "20%"\neach = 3\n', "each", "is not a table"),
        ('clean_ratio = "20%"\n[each]\ndelay = [1, 2]\n', "each.delay", "has no unit"),
        ('clean_ratio = "20%"\n[each]\ndelay = ["1ms"]\n', "each.delay", "has 1 values"),
        ('clean_ratio = "20%"\n[each]\nlatency = "1ms"\n', "each.latency", "unknown key"),
        ('clean_ratio = "20%"\n[each]\ndelay = ["9ms", "1ms"]\n', "each", "the first is above the second"),
        ('clean_ratio = "20%"\n[each]\njitter = "1ms"\n', "each", "without a delay"),
        ('clean_ratio = "20%"\n[each]\ndelay = "9ms"\nlaw = "levy"\n', "each", "law = 'levy'"),
        ('clean_ratio = "20%"\n[each]\nburst_ratio = "20%"\n', "each", "without loss"),
        ('clean_ratio = "20%"\n[each]\nburst_ratio = "20%"\nloss = "10%"\nburst = 0.5\n', "each", "burst"),
        ('clean_ratio = "20%"\n[each]\nburst_ratio = "9%"\nloss = ["0%", "100%"]\n', "each", "loss.mean = 1.0"),
        ('clean_ratio = "20%"\n[each]\ndelay = "1h"\njitter = "9s"\n', "each", "reaches 8.59 s"),
        ('clean_ratio = "20%"\nchoice = 3\n', "choice", "is not a list"),
        ('clean_ratio = "20%"\n[[choice]]\nweight = 3\n', "choice[1]", "names no network"),
        ('clean_ratio = "20%"\n[[choice]]\nnetwork = "wifi"\n', "choice[1].network", "unknown preset"),
        ('clean_ratio = "20%"\n[[choice]]\nnetwork = "random"\n', "choice[1].network", "unknown preset"),
        ('clean_ratio = "20%"\n[[choice]]\nnetwork = "wifi-normal"\nweight = -1\n', "", "choice 1: weight = -1"),
        ('clean_ratio = "20%"\n[[choice]]\nnetwork = "wifi-normal"\nweight = 0\n', "", "no choice would ever"),
        ('clean_ratio = "20%"\n[[choice]]\nnetwork = "wifi-normal"\nwieght = 0\n', "choice[1].wieght", "'weight'"),
        ('clean_ratio = "20%"\n[both]\n[[choice]]\nnetwork = "wifi-normal"\n', "", "both given"),
        ('name = 3\nclean_ratio = "20%"\n[each]\n', "name", "is not one line"),
        ("clean_ratio = \n", "", "is not TOML"),
        (f"clean_ratio = {'9' * 5000}\n", "", "is not TOML"),
        ("a = " + "[" * 5000, "", "nested too deeply|is not TOML"),
    ],
)
def test_what_is_no_distribution_is_named(text, key, words):
    with pytest.raises(SpecError, match=words) as caught:
        parse_distribution(text, path="runs/n.toml")
    assert caught.value.path == "runs/n.toml" and caught.value.key == key
    assert str(caught.value).startswith("runs/n.toml: ")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("text", ["wifi-norml", "randm", "nothing.toml", "random@rtt"])
def test_what_is_no_network_is_named(text):
    with pytest.raises(NetlabError, match=text) as caught:
        parse_network(text)
    assert caught.value.hint and caught.value.exit_code == 2


def test_a_slip_in_a_name_says_what_was_meant():
    for text, meant in (("randm", "random"), ("wifi-norml", "wifi-normal")):
        with pytest.raises(ProfileError, match=f"did you mean '{meant}'"):
            parse_network(text)


def test_where_no_network_has_the_name_the_distributions_are_listed_too():
    for words in ("xyz", "randon"):
        with pytest.raises(ProfileError, match="unknown network") as caught:
            parse_network(words)
        assert all(name in caught.value.hint for name in (*BUILT_IN, *PRESETS))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    binary = tmp_path / "b.toml"
    binary.write_bytes(b"clean_ratio = \xff")
    large = tmp_path / "l.toml"
    with large.open("wb") as file:
        file.truncate((32 << 20) + 1)
    for path, words in ((binary, "not UTF-8"), (large, "32 MiB"), (tmp_path, "cannot be read|not a plain file")):
        with pytest.raises(NetlabError, match=words):
            parse_network(str(path) if path.suffix else str(path) + "/.toml")
    folder = tmp_path / "f.toml"
    folder.mkdir()
    with pytest.raises(SpecError, match="is not a plain file"):
        parse_network(str(folder))


def test_choices_are_counted_before_a_file_is_read_for_one():
    text = "clean_ratio = 0\n" + '[[choice]]\nnetwork = "nowhere.toml"\n' * 1001
    with pytest.raises(SpecError, match="choice: 1001 choices: at most 1000"):
        parse_distribution(text)


def test_a_choice_that_is_no_trace_is_named(tmp_path):
    file = tmp_path / "some.toml"
    file.write_text(f'clean_ratio = 0\n[[choice]]\nnetwork = "trace={tmp_path / "none.csv"}"\n')
    with pytest.raises(SpecError, match=r"none\.csv") as caught:
        parse_network(str(file))
    assert (caught.value.path, caught.value.key) == (str(file), "choice[1].network")


def test_a_name_that_no_file_has_is_refused():
    with pytest.raises(SpecError, match="no file has such a name"):
        parse_network("a\0.toml")


def test_distributions_in_python_are_checked_as_well():
    pair = PRESETS["wifi-normal"]
    for make, words in (
        (lambda: NetworkDistribution(name="x", clean_ratio=2.0), "clean_ratio = 2.0"),
        (lambda: NetworkDistribution(name="x", clean_ratio=0.0, back=LinkRanges()), "back is given"),
        (lambda: NetworkDistribution(name="x", clean_ratio=0.0, choices=(Choice(pair),) * 1001), "1001 choices"),
        (lambda: RANDOM.draw(-1), "seed = -1"),
        (lambda: RANDOM.draw(2**64), "seed = "),
        (lambda: LinkRanges(delay_s=Range(float("nan"), 1.0)), "delay_s = nan"),
    ):
        with pytest.raises(ProfileError, match=words):
            make()


def test_a_pool_gives_one_and_many_the_same_network():
    pool = NetworkPool(RANDOM, 7, 40)
    seeds = [3, 2**64 - 1, 10**12]
    assert pool.numbers_of(np.array(seeds, dtype=np.uint64)).tolist() == [pool.number_of(seed) for seed in seeds]
    numbers = range(40)
    assert [pool.pair(number) for number in numbers] == [
        RANDOM.draw(link_seed(7, "networks", "forward", number)) for number in numbers
    ]
    clean = [number for number in numbers if pool.pair(number) is None]
    assert 0 < len(clean) < 20
    assert [number for number in numbers if pool.pairs[number].forward is PERFECT_LINK] == clean
    assert all(pool.pairs[number] == pool.pair(number) for number in numbers if number not in clean)
    assert len(pool.table) == 80
    assert pool.links[pool.forward_rows[7]] is pool.pairs[7].forward
    assert pool.links[pool.back_rows[7]] is pool.pairs[7].back
    assert sorted([*pool.forward_rows, *pool.back_rows]) == list(range(80))
    states = [pool.pairs[7].forward.to_qdisc_state(None), pool.pairs[7].back.to_qdisc_state(None)]
    alone = StateTable(states)
    for row, own in ((pool.forward_rows[7], 0), (pool.back_rows[7], 1)):
        ours, theirs = pool.table.numbers[:, pool.table.first_row[row]], alone.numbers[:, own]
        differ = np.flatnonzero(ours != theirs).tolist()
        assert set(differ) <= {Column.TABLE_START}


def test_a_pool_compiles_what_networks_share_once():
    assert len(NetworkPool(parse_network("measured"))) == 1
    assert len(NetworkPool(CLEAN).table) == 2
    choices = (Choice(PRESETS["wifi-normal"]), Choice(parse_preset("measured")))
    pool = NetworkPool(NetworkDistribution(name="x", clean_ratio=0.5, choices=choices), 1, 100)
    assert len(pool) == 100 and len(pool.table) == 200
    assert len(np.unique(pool.table.first_row)) == 3  # clean, Wi-Fi, the series
    assert pool.table.is_timed.sum() == 2 * sum(pair.name == "measured" for pair in pool.pairs) > 0


def test_what_is_no_pool_is_refused():
    for make, words in (
        (lambda: NetworkPool(RANDOM, 1, 0), "size = 0"),
        (lambda: NetworkPool(RANDOM, -1), "run_seed = -1"),
        (lambda: NetworkPool(RANDOM, 1, 5).pair(5), "number = 5"),
        *(
            (
                lambda value=value: NetworkPool(RANDOM, 1, value),
                rf"size = {re.escape(repr(value))}: must be a whole",
            )
            for value in (1.5, 2.0, True, "4", None, [4])
        ),
        *(
            (
                lambda value=value: NetworkPool(RANDOM, value),
                rf"run_seed = {re.escape(repr(value))}: must be a whole",
            )
            for value in (1.0, True, "1", None, [1])
        ),
        (lambda: NetworkPool(RANDOM, 1, 65537), r"size = 65537: must be within 1 \.\. 65536"),
        (lambda: NetworkPool(RANDOM, 2**64), "run_seed = 18446744073709551616"),
        (lambda: NetworkPool("random"), "str: a pool draws from a NetworkDistribution"),
        (lambda: NetworkPool(None), "NoneType: a pool draws from a NetworkDistribution"),
    ):
        link_seed(1, "networks", "forward", 0)  # True and 1.0 are not taken for the 1 that was hashed before
        with pytest.raises(ProfileError, match=words):
            make()


def test_a_pool_takes_the_whole_numbers_of_numpy():
    given, plain = NetworkPool(RANDOM, np.uint64(2**64 - 1), np.int64(3)), NetworkPool(RANDOM, 2**64 - 1, 3)
    assert type(len(given)) is int and given.pairs == plain.pairs
