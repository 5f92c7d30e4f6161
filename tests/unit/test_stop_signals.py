"""Signals that end a service in order."""

from __future__ import annotations

import signal
import threading

import pytest

from netlab.stop_signals import stop_on_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
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
