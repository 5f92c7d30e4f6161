"""TrainingStop: one Ctrl-C ends a run in order, another one at once."""

from __future__ import annotations

import pytest

from netlab.cli import training_stop
from netlab.cli.training_stop import TrainingStop


def test_a_later_signal_does_not_wait(monkeypatch):
    now_s = [100.0]
    monkeypatch.setattr(training_stop.time, "monotonic", lambda: now_s[0])
    told = []
    stop = TrainingStop(told.append)
    stop("SIGINT")
    now_s[0] += 0.5  # what a program in between has handed on
    stop("SIGINT")
    assert told == ["SIGINT"]
    now_s[0] += 0.5
    with pytest.raises(KeyboardInterrupt):
        stop("SIGTERM")
    assert told == ["SIGINT"]
