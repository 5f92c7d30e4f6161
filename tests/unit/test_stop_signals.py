"""Signals that end a service in order."""

from __future__ import annotations

import signal
import threading

import pytest

from netlab.stop_signals import Stopped, stop_on_signals, unwound_by_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_is_noted_by_name_and_all_is_as_before_afterwards(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    noted: list[str] = []
    with stop_on_signals(noted.append):
        signal.raise_signal(number)
        assert noted == [number.name]
    assert signal.getsignal(number) is before


def test_in_another_thread_nothing_is_touched() -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen: list[object] = []

    def enter() -> None:
        with stop_on_signals(lambda name: None):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [before]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_is_unwound_once_as_by_ctrl_c(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    cleaned: list[str] = []
    with pytest.raises(Stopped, match=number.name) as caught, unwound_by_signals():
        try:
            signal.raise_signal(number)
        finally:
            signal.raise_signal(number)  # a second one does not disturb what cleans up
            cleaned.append("all")
    assert (caught.value.number, cleaned) == (number, ["all"])
    assert isinstance(caught.value, KeyboardInterrupt)
    assert signal.getsignal(number) is before


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signals(pytest.fail), unwound_by_signals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
