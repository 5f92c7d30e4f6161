from __future__ import annotations

from collections.abc import Callable

import pytest

from netlab.closers import Closers


def _failing(words: str) -> Callable[[], None]:
    def close() -> None:
        raise OSError(words)

    return close


def test_closes_in_reverse_and_once() -> None:
    order: list[int] = []
    closers = Closers("the box")
    for number in range(3):
        closers.push(f"close {number}", lambda number=number: order.append(number))
    closers.close()
    closers.close()
    assert order == [2, 1, 0]


def test_a_failure_stops_nothing() -> None:
    order: list[str] = []
    closers = Closers("the box")
    closers.push("close a", lambda: order.append("a"))
    closers.push("close b", _failing("no b"))
    with pytest.raises(OSError, match="no b") as caught:
        closers.close()
    assert (order, caught.value.__notes__) == (["a"], ["while trying to close b"])


def test_several_failures_are_all_told() -> None:
    closers = Closers("the box")
    closers.push("close a", _failing("no a"))
    closers.push("close b", _failing("no b"))
    with pytest.raises(ExceptionGroup, match="closing the box") as caught:
        closers.close()
    assert [str(error) for error in caught.value.exceptions] == ["no b", "no a"]


def test_the_first_error_is_not_hidden() -> None:
    closers = Closers("the box")
    closers.push("close a", _failing("no a"))
    first = ValueError("first")
    closers.close_after(first)
    assert first.__notes__ == ["and then, closing the box: no a"]
