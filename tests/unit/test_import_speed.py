"""The figure ``import-speed``: what it generates comes out right, and what it says is measured. Not how fast."""

from __future__ import annotations

import numpy as np

from netlab.bench import import_speed
from netlab.traces.importers.catalogue import recognise
from netlab.traces.trace_source import TraceSource


def test_the_figure_is_measured(monkeypatch):
    monkeypatch.setattr(import_speed, "ROWS", 2000)
    monkeypatch.setattr(import_speed, "REPEATS", 2)
    said: list[str] = []
    figure = import_speed.import_speed(said.append)
    assert figure.name == "import-speed" and figure.n == 2
    assert figure.value is not None and figure.value > 0.0 and figure.holds == (figure.value < 3.0)
    assert import_speed.TARGET_S == 3.0 and figure.target == "under 3 s each"
    assert "ping" in figure.note and "csv" in figure.note and "numpy.loadtxt" in figure.note
    assert len(said) == 5


def test_what_it_generates_is_as_ping_prints_it(monkeypatch, tmp_path):
    monkeypatch.setattr(import_speed, "ROWS", 5000)
    rtt_ms, lost, copied = import_speed._measured()
    text = import_speed._ping_log(rtt_ms, lost, copied)
    assert text.count("(DUP!)") == int(copied.sum()) > 0
    assert text.count("bytes from") == 5000 - int(lost.sum()) + int(copied.sum())
    assert not np.any(copied & lost) and 50 < lost.sum() < 150  # 2 % of 5,000, 5 standard deviations
    (tmp_path / "log").write_text(text)
    assert recognise(TraceSource(tmp_path / "log")).name == "ping"
