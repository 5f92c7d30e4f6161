"""The datagrams of a measurement: what is built is read back, what is no frame is refused, no answer is larger."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.probe import probe_frame as frames
from netlab.probe.probe_frame import LEAST_BYTES, LOG_BYTES, ROW, ROWS_A_PAGE, LogPage, Probe, ProbeReply
from netlab.wire.seal import SEAL_BYTES, Sealer

STAMPS = st.integers(0, 1 << 62)
NUMBERS = st.integers(0, frames.MAX_NUMBER)
SIZES = st.integers(LEAST_BYTES, 1472)


@given(st.booleans(), NUMBERS, SIZES)
def test_a_probe_is_read_back_and_has_its_size(echo: bool, number: int, size_bytes: int) -> None:
    probe = Probe(echo, number)
    message = frames.build_probe(probe, size_bytes)
    assert frames.read_probe(message) == probe
    assert len(Sealer(bytes(32), 1).seal(message)) == size_bytes


@given(NUMBERS, STAMPS, STAMPS, NUMBERS, st.integers(0, 2**64 - 1), SIZES)
def test_a_reply_is_read_back_and_has_its_probes_size(
    number: int, stamp_ns: int, later_ns: int, reply_number: int, seen: int, size: int
) -> None:
    first, second = sorted((stamp_ns, later_ns))
    reply = ProbeReply(number, first, second, seen, reply_number)
    message = frames.build_reply(reply, size)
    assert frames.read_reply(message) == reply
    assert len(Sealer(bytes(32), 1).seal(message)) == size


@pytest.mark.parametrize(
    "reply",
    [ProbeReply(0, 5, 4, 0, 0), ProbeReply(0, -1, 2, 0, 0), ProbeReply(0, 1, (1 << 62) + 1, 0, 0)],
    ids=["left before it came", "negative", "no year"],
)
def test_a_reply_with_impossible_stamps_is_none(reply: ProbeReply) -> None:
    assert frames.read_reply(frames.build_reply(reply, 200)) is None


def page_of(page: int, n_rows: int, flags: tuple[bool, bool, bool] = (True, False, False)) -> LogPage:
    rows = np.zeros(min(ROWS_A_PAGE, max(0, n_rows - page * ROWS_A_PAGE)), ROW)
    rows["number"] = np.arange(rows.size)
    rows["receive_ns"] = 10**18 + np.arange(rows.size)
    rows["turnaround_ns"] = 5
    return LogPage(page, n_rows, 3, rows, *flags)


@pytest.mark.parametrize("flags", list(itertools.product((False, True), repeat=3)))
@pytest.mark.parametrize("n_rows", [0, 1, ROWS_A_PAGE, ROWS_A_PAGE + 1, 3 * ROWS_A_PAGE])
def test_a_page_is_read_back_and_is_as_large_as_its_ask(n_rows: int, flags: tuple[bool, bool, bool]) -> None:
    page = page_of(0, n_rows, flags)
    message = frames.build_log_page(page)
    ask = frames.build_log_ask(0)
    assert len(message) == len(ask) == LOG_BYTES - SEAL_BYTES
    read = frames.read_log_page(message)
    assert read is not None
    assert read._replace(rows=None) == page._replace(rows=None)
    assert (read.rows == page.rows).all()
    assert frames.read_log_ask(ask) == 0


def test_a_page_with_other_rows_than_it_should_have_is_none() -> None:
    good = frames.build_log_page(page_of(1, ROWS_A_PAGE + 5))
    assert frames.read_log_page(good) is not None
    for place, value in ((3, 6), (2, 1), (7, 9)):  # more rows, many more rows, a page behind the last
        bad = bytearray(good)
        bad[place] = value
        assert frames.read_log_page(bytes(bad)) is None
    assert frames.read_log_page(good[:40]) is None


def test_an_ask_that_is_smaller_than_a_page_is_none() -> None:
    assert frames.read_log_ask(frames.build_log_ask(4)[:-1]) is None


@given(st.binary(max_size=1500))
def test_no_bytes_make_a_reader_raise(message: bytes) -> None:
    for read in (frames.read_probe, frames.read_reply, frames.read_log_ask, frames.read_log_page):
        for first in (message, bytes((1,)) + message, bytes((2,)) + message, bytes((4,)) + message):
            read(first)
    frames.kind_of(message)
