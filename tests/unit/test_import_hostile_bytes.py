"""Whatever bytes the importers of probes, rates and speed tests are given, they raise nothing but a TraceError."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import TraceError
from netlab.traces.importers.catalogue import IMPORTERS
from netlab.traces.importers.importer import ImportOptions
from netlab.traces.trace_source import TraceSource

SAMPLES = Path(__file__).parent.parent / "samples"
SAMPLE_OF = {
    "irtt": "irtt.json",
    "iperf3": "iperf3-udp-both-ways.json",
    "lens": "lens.csv",
    "errant": "errant.csv",
    "mahimahi": "mahimahi.up",
    "cooked": "cooked.txt",
    "oboe": "oboe.txt",
}
PIECES = [
    b"\x00",
    b"\xff",
    b"-",
    b"e9",
    b"1e400",
    b"nan",
    b"9" * 30,
    b"\n",
    b",",
    b'"',
    b"{",
    b"[",
    b"\r",
    b"null",
    b" ",
]


def survives(folder: Path, name: str, data: bytes) -> None:
    """Read bytes as a format: traces or a TraceError."""
    path = folder / "hostile"
    path.write_bytes(data)
    source = TraceSource(path)
    importer = IMPORTERS[name]
    importer.recognises(source)
    try:
        traces = importer.read(source, ImportOptions())
    except TraceError as error:
        assert str(error).count("\n") == 0
        return
    assert 1 <= len(traces) <= 3
    for trace in traces:
        assert trace.source.isprintable()
        assert len(trace.source) <= 1000


@pytest.mark.parametrize("name", SAMPLE_OF)
def test_the_sample_itself_is_recognised_and_read(tmp_path: Path, name: str) -> None:
    source = TraceSource(SAMPLES / SAMPLE_OF[name])
    assert IMPORTERS[name].recognises(source)
    assert IMPORTERS[name].read(source, ImportOptions())


@pytest.mark.parametrize("name", SAMPLE_OF)
def test_a_sample_with_pieces_changed_or_cut_off(tmp_path: Path, name: str) -> None:
    generator = random.Random(7)
    sample = (SAMPLES / SAMPLE_OF[name]).read_bytes()
    for _ in range(300):
        data = bytearray(sample)
        for _ in range(generator.randint(1, 3)):
            begin = generator.randrange(len(data) + 1)
            data[begin : begin + generator.randint(0, 8)] = generator.choice(PIECES)
        if generator.random() < 0.3:
            del data[generator.randrange(len(data)) :]
        survives(tmp_path, name, bytes(data))


@pytest.mark.parametrize("name", SAMPLE_OF)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\x00" * 1000,
        b"\xff\xfe",
        b"{}",
        b"[]",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"\xef\xbb\xbf",
        b"\r\r\n",
    ],
    ids=["empty", "line", "zeros", "utf16", "object", "array", "deep", "deep-object", "mark", "returns"],
)
def test_what_is_no_measurement_at_all(tmp_path: Path, name: str, data: bytes) -> None:
    survives(tmp_path, name, data)
    survives(tmp_path, name, gzip.compress(data))


@given(st.sampled_from(sorted(SAMPLE_OF)), st.binary(max_size=300))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, name: str, data: bytes) -> None:
    survives(tmp_path_factory.getbasetemp(), name, data)


@pytest.mark.parametrize("name", SAMPLE_OF)
def test_a_sample_compressed_is_read_as_it_is(tmp_path: Path, name: str) -> None:
    sample = SAMPLES / SAMPLE_OF[name]
    packed = tmp_path / (sample.name + ".gz")
    packed.write_bytes(gzip.compress(sample.read_bytes()))
    plain = IMPORTERS[name].read(TraceSource(sample), ImportOptions())
    unpacked = IMPORTERS[name].read(TraceSource(packed), ImportOptions())
    assert [(one.path, one.n) for one in unpacked] == [(one.path, one.n) for one in plain]
