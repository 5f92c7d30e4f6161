"""The pages on traces say what is true: every example in them is imported, every key and format is in them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from netlab.cli.main import main
from netlab.traces.importers.catalogue import IMPORTERS, import_trace, recognise
from netlab.traces.importers.importer import ImportOptions
from netlab.traces.trace import MAX_ROWS, ClockVerdict
from netlab.traces.trace_file import format_trace
from netlab.traces.trace_header import COLUMNS
from netlab.traces.trace_source import MAX_FILE_BYTES, TraceSource

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "traces.md").read_text()
RECIPE = (ROOT / "docs" / "adding-a-trace-format.md").read_text()
BLOCKS = [block for block in re.findall(r"```([a-z0-9-]+)\n(.*?)```", PAGE, re.DOTALL) if block[0] in IMPORTERS]
WITHOUT_EXAMPLE = {"iperf3", "pcap"}  # a long document, and no text


def first_cells(header: str) -> list[str]:
    after = PAGE[PAGE.index(f"\n| {header} |") + 1 :].splitlines()[2:]
    rows = after[: next(index for index, line in enumerate(after) if not line.startswith("|"))]
    return [re.findall(r"`([^`]+)`", row.split("|")[1])[0] for row in rows]


@pytest.mark.parametrize(("name", "text"), BLOCKS, ids=[name for name, _ in BLOCKS])
def test_examples_are_recognised_and_imported(tmp_path, name, text):
    path = tmp_path / "example"
    path.write_text(text)
    assert recognise(TraceSource(path)).name == name
    assert all(trace.n for trace in import_trace(path))


def test_every_format_has_a_heading_and_an_example():
    assert set(re.findall(r"^### ([a-z0-9-]+)$", PAGE, re.MULTILINE)) == set(IMPORTERS)
    assert {name for name, _ in BLOCKS} == set(IMPORTERS) - WITHOUT_EXAMPLE


def test_the_trace_file_shown_is_as_it_is_written(tmp_path):
    text = next(text for name, text in BLOCKS if name == "netlab")
    (tmp_path / "trace.csv").write_text(text)
    (trace,) = import_trace(tmp_path / "trace.csv")
    assert format_trace(trace).decode() == text


def test_ping_shown_comes_out_as_the_page_says(tmp_path):
    (tmp_path / "ping.txt").write_text(next(text for name, text in BLOCKS if name == "ping"))
    (trace,) = import_trace(tmp_path / "ping.txt")
    assert trace.lost.tolist() == [0, 1, 0, 1] and trace.copies.tolist() == [1, 0, 2, 0]
    assert trace.interval_s == pytest.approx(0.201) and "1 ms from 100 ms on" in trace.source


def test_every_key_column_and_verdict_has_a_row():
    assert first_cells("Key") == ["netlab-trace", "path", "clocks", "n", "source", "sha256", "bin_s", "losses"]
    assert first_cells("Column") == list(COLUMNS)
    assert first_cells("`clocks` | Which clocks stamped a delay's two ends") == [
        verdict.value for verdict in ClockVerdict
    ]


def test_bounds_are_as_they_are():
    assert f"{MAX_ROWS:,} rows and {MAX_FILE_BYTES >> 30} GiB" in PAGE


def test_commands_shown_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    ping, *commands = block.splitlines()
    assert ping.endswith("> ping.txt")  # a unit test has no socket: the sample stands in for it
    (tmp_path / "ping.txt").write_text((ROOT / "tests" / "samples" / "ping-iputils.txt").read_text())
    for command in commands:
        name, *words = shlex.split(command)
        assert name == "netlab"
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, result.output


def test_the_smallest_importer_shown_works(tmp_path):
    code = re.findall(r"```python\n(.*?)```", RECIPE, re.DOTALL)[0]
    module: dict[str, object] = {}
    exec(compile(code, "adding-a-trace-format.md", "exec"), module)
    importer = module["IMPORTER"]
    source = tmp_path / "list.dat"
    source.write_text("211.6\n205.6\n")
    assert importer.recognises(TraceSource(source))
    (trace,) = importer.read(TraceSource(source), ImportOptions())
    assert trace.delay_s.tolist() == pytest.approx([0.2116, 0.2056])
    assert importer[:2] == IMPORTERS["rtt-list"][:2]


def test_the_test_shown_passes(monkeypatch):
    monkeypatch.chdir(ROOT)
    code = re.findall(r"```python\n(.*?)```", RECIPE, re.DOTALL)[1]
    exec(compile(code, "adding-a-trace-format.md", "exec"), {})
