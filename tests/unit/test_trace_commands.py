"""``netlab trace import``, ``formats`` and ``show``."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from netlab.cli.command import echo_json
from netlab.cli.main import main
from netlab.traces import trace_file
from netlab.traces.importers.catalogue import IMPORTERS
from netlab.traces.trace import Trace, TracedPath
from netlab.traces.trace_file import read_trace

SAMPLES = Path(__file__).parents[1] / "samples"
PING = SAMPLES / "ping-iputils.txt"
BOTH_WAYS = "t_s,rtt_ms,forward_delay_ms,back_delay_ms\n0,3,1,2\n1,5,2,3\n"


def run(*words: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["trace", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


def table(folder: Path, text: str = BOTH_WAYS) -> Path:
    path = folder / "table.csv"
    path.write_text(text)
    return path


def test_a_trace_file_is_written_and_described(tmp_path):
    status, stdout, stderr = run("import", PING, "-o", tmp_path / "wifi.csv")
    assert (status, stderr) == (0, "")
    assert stdout == (
        f"{tmp_path}/wifi.csv: round-trip, 10 rows, 2.01 s, delay mean 95.95 ms, median 46.9 ms, "
        "50.00% lost, clocks one-clock\n"
    )
    trace = read_trace(tmp_path / "wifi.csv")
    assert trace.n == 10 and trace.source.startswith("ping-iputils.txt, ping")
    assert [path.name for path in tmp_path.iterdir()] == ["wifi.csv"]


def test_without_output_it_only_says_what_there_is(tmp_path):
    status, stdout, stderr = run("import", PING)
    assert status == 0 and stdout.startswith(f"{PING}: round-trip, 10 rows")
    assert stderr == "netlab: nothing is written; -o OUT.csv writes the trace\n"


def test_each_direction_has_a_file(tmp_path):
    status, stdout, _ = run("import", table(tmp_path), "-o", tmp_path / "out.csv")
    assert status == 0
    names = ["out.csv", "out.forward.csv", "out.back.csv"]
    assert [line.split(":")[0] for line in stdout.splitlines()] == [str(tmp_path / name) for name in names]
    assert [read_trace(tmp_path / name).path for name in names] == list(TracedPath)


def test_json_names_the_files(tmp_path):
    status, stdout, _ = run("import", table(tmp_path), "-o", tmp_path / "out.csv", "--json")
    document = json.loads(stdout)
    assert status == 0 and [one["trace"]["path"] for one in document] == [path.value for path in TracedPath]
    assert document[1]["file"] == str(tmp_path / "out.forward.csv")
    assert document[0]["trace"]["delay"]["mean_s"] == pytest.approx(0.004)
    assert json.loads(run("import", PING, "--json")[1])[0]["file"] is None


def test_options_reach_the_importer(tmp_path):
    run("import", SAMPLES / "rtt-list.dat", "--interval", "100ms", "-o", tmp_path / "a.csv")
    assert read_trace(tmp_path / "a.csv").interval_s == pytest.approx(0.1)
    path = table(tmp_path, "when,what\n1,7\n2,9\n")
    words = ("--column", "when=t_s", "--column", "what=rtt_ms", "-o", tmp_path / "b.csv")
    assert run("import", path, *words)[0] == 0
    assert read_trace(tmp_path / "b.csv").delay_s.tolist() == [0.007, 0.009]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.txt",), "cannot be read"),
        ((PING, "--format", "irtt"), "ping-iputils.txt"),
        ((PING, "--format", "pong"), "did you mean 'ping'?"),
        ((PING, "--column", "rtt"), "names no column and its meaning"),
        ((PING, "--column", "a=t_s", "--column", "a=rtt_ms"), "given two meanings"),
        ((PING, "--interval", "0"), "interval_s"),
        ((PING, "--bin", "1s"), "the format ping does not use --bin"),
        ((SAMPLES / "irtt.json", "--interval", "1s"), "the format irtt does not use --interval"),
        ((PING, "--kind", "tcp"), "leave it out: it is for pcap"),
        ((PING, "--kind", "udp"), "is not one of"),
        ((PING, "--interval", "3"), "has no unit"),
        ((PING, "--column", "rtt=delay_ms"), "has no column 'rtt'"),
        ((PING, "-o", "no/such/folder/out.csv"), "--output"),
        ((PING, "-o", "/dev/null"), "is not a plain file"),
        (("/dev/null",), "is not a plain file"),
        ((PING, "-o", "-"), "is not written to standard output"),
        (("-",), "standard input is not read"),
    ],
)
def test_bad_input_is_one_message_and_status_2(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    status, stdout, stderr = run("import", *words)
    assert (status, stdout) == (2, "")
    assert said in stderr and "Traceback" not in stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["out.csv.gz", "out.gz"])
def test_a_name_that_ends_in_gz_is_compressed(tmp_path, name):
    status, stdout, _ = run("import", table(tmp_path), "-o", tmp_path / name)
    assert status == 0
    files = [tmp_path / name, tmp_path / "out.forward.csv.gz", tmp_path / "out.back.csv.gz"]
    files[0] = tmp_path / "out.csv.gz" if name == "out.gz" else files[0]
    assert [line.split(":")[0] for line in stdout.splitlines()] == list(map(str, files))
    assert all(gzip.decompress(file.read_bytes()).startswith(b"# netlab-trace: 1\n") for file in files)
    assert [read_trace(file).path for file in files] == list(TracedPath)


def test_where_the_second_file_cannot_be_written_there_is_no_first(tmp_path, monkeypatch):
    def full(file: object, path: Path, header: bytes, trace: Trace) -> None:
        if path.name == "out.back.csv":
            raise OSError(errno.ENOSPC, "No space left on device")
        writes(file, path, header, trace)

    writes = trace_file._write
    monkeypatch.setattr(trace_file, "_write", full)
    status, stdout, stderr = run("import", table(tmp_path), "-o", tmp_path / "out.csv")
    assert (status, stdout) == (2, "") and "out.back.csv: cannot be written: No space left" in stderr
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize("output", ["table.csv", "out.csv"])
def test_it_does_not_overwrite_what_it_reads(tmp_path, output):
    path = table(tmp_path)
    if output == "out.csv":
        path = path.rename(tmp_path / "out.back.csv")
    status, _, stderr = run("import", path, "-o", tmp_path / output)
    assert status == 2 and "name a file of its own" in stderr
    assert path.read_text() == BOTH_WAYS
    assert list(tmp_path.iterdir()) == [path]


def test_what_was_there_stays_where_the_file_is_refused(tmp_path):
    (tmp_path / "out.csv").write_text("mine")
    bad = table(tmp_path, "t_s,rtt_ms\n0,1\n1,-1\n")
    status, _, stderr = run("import", bad, "-o", tmp_path / "out.csv")
    assert status == 2 and f"{bad}:3: delay_s = -0.001: must not be negative" in stderr and "hint: " in stderr
    assert (tmp_path / "out.csv").read_text() == "mine"


def test_names_that_are_no_utf_8_are_read_written_and_shown(tmp_path):
    odd = Path(os.fsdecode(os.fsencode(tmp_path / "n") + b"\xe9"))
    odd.write_bytes(PING.read_bytes())
    status, stdout, _ = run("import", odd, "-o", f"{odd}.csv", "--json")
    (one,) = json.loads(stdout)
    assert status == 0 and one["file"].endswith("n\\xe9.csv") and one["trace"]["source"].startswith("n?, ping")
    assert Path(f"{odd}.csv").exists()
    assert run("import", odd, "-o", f"{odd}.csv")[0] == 0
    assert json.loads(run("show", f"{odd}.csv", "--json")[1])["n"] == 10


def test_a_document_in_which_any_path_is_no_utf_8_is_printed(capsys):
    echo_json({"a\udce9": ["b\udce9", 1, None, {"c": Path("d\udce9").name}], "plain": "\xe9"})
    document = json.loads(capsys.readouterr().out)
    assert document == {"a\\xe9": ["b\\xe9", 1, None, {"c": "d\\xe9"}], "plain": "\xe9"}


def test_a_file_cannot_drive_the_terminal(tmp_path):
    status, _, stderr = run("import", table(tmp_path, "t_s,rtt_ms\n0,\x1b[2J\n"))
    assert status == 2 and "\x1b" not in stderr


def test_formats_are_listed():
    status, stdout, _ = run("formats")
    assert status == 0 and [line.split()[0] for line in stdout.splitlines()] == list(IMPORTERS)
    assert [one["name"] for one in json.loads(run("formats", "--json")[1])] == list(IMPORTERS)


def test_show(tmp_path):
    run("import", PING, "-o", tmp_path / "wifi.csv")
    status, stdout, stderr = run("show", tmp_path / "wifi.csv")
    assert (status, stderr) == (0, "")
    lines = {line.split()[0]: line.split(maxsplit=1)[1] for line in stdout.splitlines()}
    assert lines["path"] == "round-trip, clocks one-clock"
    assert lines["rows"] == "10, 2.01 s, 0.201 s from row to row"
    assert lines["loss"] == "5 of 10, 50.00%; more than one copy of 1"
    assert lines["runs"] == "mean 1.67, longest 2 (1: 1, 2: 2)"
    assert lines["quantiles"].startswith("1% 8.726 ms, 5% ")


def test_show_as_json(tmp_path):
    run("import", PING, "-o", tmp_path / "wifi.csv")
    document = json.loads(run("show", tmp_path / "wifi.csv", "--json")[1])
    assert document["loss"] == {"n": 10, "lost": 5, "ratio": 0.5, "runs": {"1": 1, "2": 2}, "duplicated": 1}
    assert document["delay"]["quantiles_s"]["0.5"] == pytest.approx(0.0469)
    assert document["rate"] is None


def test_show_says_that_runs_are_not_known_where_nobody_saw_which_packets_were_lost(tmp_path):
    head, _, rows = (SAMPLES / "netlab-trace.csv").read_text().partition("t_s,")
    (tmp_path / "spread.csv").write_text(f"{head}# losses: spread\nt_s,{rows}")
    status, stdout, _ = run("show", tmp_path / "spread.csv")
    assert status == 0 and "loss      1 of 3, 33.33%" in stdout
    assert "runs      unknown: it is known how many packets were lost, not which\n" in stdout
    assert json.loads(run("show", tmp_path / "spread.csv", "--json")[1])["loss"]["runs"] is None


def test_show_rates(tmp_path):
    run("import", table(tmp_path, "t_s,rate_mbps\n0,1\n1,4\n4,2\n"), "-o", tmp_path / "rate.csv")
    # 1 Mbit/s for 1 s, 4 for 3 s, and the last for the usual 2 s.
    assert "rate      mean 2.833mbit, 1mbit .. 4mbit, 3 values" in run("show", tmp_path / "rate.csv")[1]


def test_show_refuses_what_is_no_trace_file():
    status, _, stderr = run("show", PING)
    assert (
        status == 2 and f"{PING}: is no netlab trace file" in stderr.replace(":1: ", ": ") and "hint: " in stderr
    )
