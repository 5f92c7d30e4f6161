"""``netlab trace plot``: files in, one whole picture out."""

from __future__ import annotations

import re
import shlex
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from netlab import trace_figure
from netlab.cli.main import main
from netlab.trace_figure import TraceFigure
from netlab.traces.asked_trace import asked_trace
from netlab.traces.panel import PlotKind
from netlab.traces.plotted import Plotted
from netlab.traces.presets import parse_preset
from netlab.traces.trace import Trace, TracedPath
from netlab.traces.trace_file import write_trace


def plot(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["trace", "plot", *map(str, words)])


@pytest.fixture
def delivered(tmp_path: Path) -> Path:
    pair = parse_preset("delay=30ms,jitter=5ms,loss=3%")
    path = tmp_path / "delivered.csv"
    write_trace(asked_trace(pair, TracedPath.FORWARD, 50.0, 500, seed=4), path)
    return path


def test_a_trace_alone(delivered: Path, tmp_path: Path) -> None:
    done = plot(delivered, "-o", tmp_path / "one.png")
    assert done.exit_code == 0, done.stderr
    assert "delivered.csv (n = 500)" in done.stderr
    assert not done.stdout
    png = (tmp_path / "one.png").read_bytes()
    assert struct.unpack(">II", png[16:24]) == (1200, 800)
    assert {path.name for path in tmp_path.iterdir()} == {"delivered.csv", "one.png"}


def test_two_traces_and_a_profile_as_svg(delivered: Path, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        done = plot(
            delivered,
            delivered,
            "--profile",
            "wifi-normal",
            "--kind",
            "cdf",
            "--rate",
            "20",
            "-o",
            tmp_path / name,
        )
        assert done.exit_code == 0, done.stderr
        assert done.stderr.count("delivered.csv") == 2
        assert "asked: wifi-normal (n = 20,000)" in done.stderr
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_the_packets_that_are_asked_after_have_the_size_of_those_that_were_sent(
    delivered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Trace] = []
    really_draw = trace_figure.draw_traces

    def draw(plotted: Sequence[Plotted], kinds: Sequence[PlotKind]) -> TraceFigure:
        drawn.append(plotted[0].trace)
        return really_draw(plotted, kinds)

    monkeypatch.setattr(trace_figure, "draw_traces", draw)
    for words in ((), ("--size", "1000B")):
        done = plot(delivered, "--profile", "rate=1Mbps", *words, "--kind", "cdf", "-o", tmp_path / "x.png")
        assert done.exit_code == 0, done.stderr
    # Headers of Ethernet, IPv4 and UDP are 42 bytes; at 1 Mbit/s a byte takes 8 us.
    assert [float(trace.delays_s.max()) for trace in drawn] == pytest.approx([242 * 8e-6, 1042 * 8e-6], abs=1e-7)


def test_another_format(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    (tmp_path / "rtt.dat").write_text("".join(f"{value:.3f}\n" for value in rng.normal(30.0, 3.0, 300)))
    done = plot(tmp_path / "rtt.dat", "--format", "rtt-list", "-o", tmp_path / "rtt.PNG")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "rtt.PNG").stat().st_size > 10_000


def test_bad_input_is_one_line_and_leaves_nothing(delivered: Path, tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.csv"
    garbage.write_bytes(b"# netlab-trace: 1\n\x00\xff")
    for words, said in (
        ((delivered, "-o", tmp_path / "x.gif"), ".png or .svg"),
        ((delivered, "-o", tmp_path / "no" / "x.png"), "cannot write"),
        ((tmp_path / "none.csv", "-o", tmp_path / "x.png"), "none.csv"),
        ((garbage, "-o", tmp_path / "x.png"), "garbage.csv"),
        ((delivered, "--profile", "wifi-norml", "-o", tmp_path / "x.png"), "wifi-normal"),
        ((*[delivered] * 7, "-o", tmp_path / "x.png"), "7 traces"),
        ((delivered, "--rate", "0", "-o", tmp_path / "x.png"), "--rate"),
        ((delivered, "--size", "9", "-o", tmp_path / "x.png"), "--size"),
        ((delivered, "--profile", "wifi-normal", "--size", "1GiB", "-o", tmp_path / "x.png"), "length_bytes"),
        ((delivered,), "-o"),
        (("-o", tmp_path / "x.png"), "TRACE"),
    ):
        done = plot(*words)
        assert done.exit_code == 2, (words, done.stderr)
        assert said in done.stderr, words
        assert "Traceback" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"delivered.csv", "garbage.csv"}


def test_a_trace_is_not_overwritten_by_its_picture(delivered: Path, tmp_path: Path) -> None:
    picture = tmp_path / "trace.png"
    picture.write_bytes(delivered.read_bytes())
    done = plot(picture, "-o", picture)
    assert done.exit_code == 2
    assert "is" in done.stderr
    assert picture.read_bytes() == delivered.read_bytes()


PAGE = (Path(__file__).parents[2] / "docs" / "plots.md").read_text()


@pytest.mark.parametrize("line", re.findall(r"^    netlab trace plot (.*?) *#", PAGE, re.MULTILINE))
def test_the_commands_on_the_page_run(
    line: str, delivered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "asked.csv").write_bytes(delivered.read_bytes())
    echo = "64 bytes from 192.0.2.1: icmp_seq={0} ttl=64 time={0}.5 ms\n"
    (tmp_path / "ping.txt").write_text(
        "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n"
        + "".join(echo.format(number) for number in range(1, 9))
    )
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)
    done = plot(*words)
    assert done.exit_code == 0, done.stderr
    assert Path(words[words.index("-o") + 1]).stat().st_size > 1000


def test_the_page_names_the_kinds_and_options() -> None:
    shown = plot("--help").stdout
    for word in ("--profile", "--rate", "--size", "--kind", "--seed"):
        assert word in shown
        assert f"`{word}" in PAGE
    assert re.findall(r"\| `(\w+)` \|", PAGE) == ["time", "time", "cdf", "runs"]
