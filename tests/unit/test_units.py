"""Quantities as people type them: exact to the bit, both ways."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab import units

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("57ms", 0.057),
        ("30ms", 0.03),
        ("0.3us", 3e-7),
        ("1ns", 1e-9),
        ("1.5s", 1.5),
        ("2min", 120.0),
        ("1h", 3600.0),
        (" 10 ms ", 0.01),
        ("1e-3s", 0.001),
        ("0", 0.0),
        ("3µs", 3e-6),
        ("3μs", 3e-6),
        ("-5ms", -0.005),
        (".5MS", 0.0005),
    ],
)
def test_duration_is_read_exactly(text, seconds):
    assert units.parse_duration_s(text) == seconds


def test_binary_multiplication_would_not_do():
    # The reason for decimals.
    assert 59 * 1e-3 != 0.059
    assert units.parse_duration_s("59ms") == 0.059


@pytest.mark.parametrize(
    ("text", "bps"),
    [("10mbit", 1e7), ("250kbit", 250e3), ("1.5Gbit", 1.5e9), ("8bit", 8.0), ("10Mbps", 1e7), ("1tbit/s", 1e12)],
)
def test_rate_is_read(text, bps):
    assert units.parse_rate_bps(text) == bps


@pytest.mark.parametrize(
    ("text", "size"),
    [("1500B", 1500), ("1kB", 1000), ("1KiB", 1024), ("2GiB", 2 << 30), ("-14B", -14), ("1.5kB", 1500), ("0", 0)],
)
def test_size_is_read(text, size):
    assert units.parse_size_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "ratio"), [("2%", 0.02), ("0.02", 0.02), ("100%", 1.0), ("0.1%", 0.001), ("0", 0.0), ("29%", 0.29)]
)
def test_ratio_is_read(text, ratio):
    assert units.parse_ratio(text) == ratio


PARSERS = [units.parse_duration_s, units.parse_rate_bps, units.parse_size_bytes, units.parse_ratio]


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    "text",
    ["", "x", "ms", "1 furlong", "--1s", "1..2s", "nan", "inf", "1e99999s", "1e9999s", "٣ms", "1" * 100, "0x10"],
)
def test_nonsense_is_refused_by_name(parse, text):
    with pytest.raises(ValueError, match=r".") as caught:
        parse(text)
    assert text[:40] in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("parse", PARSERS[:3])
def test_a_bare_number_has_no_unit(parse):
    with pytest.raises(ValueError, match=r"'30' has no unit; write an? \w+ such as"):
        parse("30")


@pytest.mark.parametrize(("text", "rule"), [("101%", "outside"), ("-1%", "outside"), ("2", "outside")])
def test_ratio_has_bounds(text, rule):
    with pytest.raises(ValueError, match=rule):
        units.parse_ratio(text)


@pytest.mark.parametrize(("text", "rule"), [("1.5B", "whole number"), ("1e30GiB", "64 bits")])
def test_size_is_whole_and_bounded(text, rule):
    with pytest.raises(ValueError, match=rule):
        units.parse_size_bytes(text)


@settings(deadline=None)
@given(finite)
def test_duration_round_trip(value):
    assert units.parse_duration_s(units.format_duration(value)) == value


@settings(deadline=None)
@given(finite)
def test_rate_round_trip(value):
    assert units.parse_rate_bps(units.format_rate(value)) == value


@settings(deadline=None)
@given(st.floats(0.0, 1.0))
def test_ratio_round_trip(value):
    assert units.parse_ratio(units.format_ratio(value)) == value


@settings(deadline=None)
@given(st.integers(-(2**62), 2**62))
def test_size_round_trip(value):
    assert units.parse_size_bytes(units.format_size(value)) == value


@settings(deadline=None)
@given(st.integers(0, 10**15), st.sampled_from(["ns", "us", "ms", "s", "min", "h"]))
def test_parsing_rounds_once(number, unit):
    exact = number * {"ns": Fraction(1, 10**9), "us": Fraction(1, 10**6), "ms": Fraction(1, 1000)}.get(
        unit, Fraction({"s": 1, "min": 60, "h": 3600}.get(unit, 0))
    )
    assert units.parse_duration_s(f"{number}{unit}") == float(exact)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.03, "30ms"), (0.057, "57ms"), (0.0, "0s"), (90.0, "90s"), (2.5e-7, "250ns"), (1e-6, "1us")],
)
def test_durations_are_written_as_people_do(value, text):
    assert units.format_duration(value) == text


def test_rates_and_ratios_are_written_as_people_do():
    assert [units.format_rate(rate) for rate in (1e7, 2.5e5, 1e9, 12.5, 0.0)] == [
        "10mbit", "250kbit", "1gbit", "12.5bit", "0bit",
    ]  # fmt: skip
    assert [units.format_ratio(ratio) for ratio in (0.02, 1.0, 0.0, 0.29, 1e-6)] == [
        "2%", "100%", "0%", "29%", "0.0001%",
    ]  # fmt: skip


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_not_written(value):
    with pytest.raises(ValueError, match="finite"):
        units.format_duration(value)


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text):
    for parse in PARSERS:
        try:
            value = parse(text)
        except ValueError:
            continue
        assert abs(value) < float("inf")
