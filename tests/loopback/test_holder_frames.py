"""What happens on a link that breaks: nothing follows half a frame, and what was said before is still heard."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from typing import Any

import pytest

import netlab.holder.desk
from netlab.errors import ConnectionLost, LabError, NetlabError, SpecError
from netlab.holder.desk import Desk
from netlab.holder.execution import _Session, _Signals
from netlab.holder.farewell import Farewell
from netlab.holder.frames import Received, receive_frame, send_frame
from netlab.holder.messages import (
    REPLIES,
    REQUESTS,
    CommandEnded,
    Ending,
    EndLab,
    LabEnded,
    Refused,
    RunCommand,
    SignalCommand,
    Started,
)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        yield near, far


def test_nothing_follows_half_a_frame(pair: tuple[socket.socket, socket.socket]) -> None:
    near, far = pair
    with pytest.raises(ConnectionLost, match="does not read"):
        send_frame(near, Refused(message="x" * (4 << 20)), within_s=0.2)
    with pytest.raises(ConnectionLost):
        send_frame(near, Refused(message="second"), within_s=0.2)
    with pytest.raises(ConnectionLost, match="ended within a frame"):
        receive_frame(far, REPLIES, 8 << 20)


class CountingLink:
    """Stands for ``send_frame``: counts, and fails."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send_frame(self, link: object, message: object, *rest: object, **options: object) -> None:
        self.sent.append(message)
        raise ConnectionLost("the other side does not read what it is told")


def a_desk(farewell: Farewell, ended: list[bool]) -> Desk:
    nothing: Any = None
    return Desk(nothing, nothing, nothing, nothing, "", farewell, lambda: ended.append(True))


def test_a_client_that_cannot_be_told_is_not_told_that(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = CountingLink()
    monkeypatch.setattr(netlab.holder.desk, "send_frame", broken.send_frame)
    with pytest.raises(ConnectionLost):
        a_desk(Farewell(), []).answer(pair[0], Received(SignalCommand(9)))
    assert len(broken.sent) == 1


def test_who_asks_for_the_end_hears_how_it_went(pair: tuple[socket.socket, socket.socket]) -> None:
    near, far = pair
    ended: list[bool] = []
    farewell = Farewell()
    a_desk(farewell, ended).answer(far, Received(EndLab()))
    far.close()  # as the door does
    assert ended == [True]
    assert farewell.say(["the kernel is stuck"])
    heard = [receive_frame(near, REPLIES, 1 << 20) for _ in range(2)]
    assert [one and one.message for one in heard] == [Ending(), LabEnded(["the kernel is stuck"])]
    assert receive_frame(near, REPLIES, 1 << 20) is None
    assert not farewell.say(["nobody is left"])


def test_a_lab_ends_though_who_asked_for_it_has_gone(pair: tuple[socket.socket, socket.socket]) -> None:
    near, far = pair
    near.close()
    ended: list[bool] = []
    with pytest.raises(ConnectionLost):
        a_desk(Farewell(), ended).answer(far, Received(EndLab()))
    assert ended == [True]


REQUEST = RunCommand(host="a", argv=[b"true"], env=[], cwd=b"/")


def run_session(link: socket.socket, signalled: bool) -> int:
    with _Signals() as signals:
        if signalled:
            os.kill(os.getpid(), signal.SIGUSR1)
        return _Session(link, signals, None, "two").run(REQUEST)


def test_a_signal_for_a_command_that_has_just_ended_costs_no_status(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    near, far = pair
    for message in (Started(1), CommandEnded(7)):
        send_frame(far, message)
    far.shutdown(socket.SHUT_RD)  # from now on sending fails; what was said is there
    assert run_session(near, signalled=True) == 7


def test_an_end_in_the_middle_is_told_of_the_lab(pair: tuple[socket.socket, socket.socket]) -> None:
    near, far = pair
    send_frame(far, Started(1))
    far.sendall(b"\x09\x00")
    far.shutdown(socket.SHUT_WR)
    with pytest.raises(LabError, match="holder of lab two does not answer") as caught:
        run_session(near, signalled=False)
    assert "netlab lab" in caught.value.hint


def test_what_was_refused_before_we_could_ask_is_heard(pair: tuple[socket.socket, socket.socket]) -> None:
    near, far = pair
    send_frame(far, Refused(message="no more at once", hint="wait", exit_code=1))
    far.close()
    with pytest.raises(NetlabError, match="no more at once"):
        run_session(near, signalled=False)


def test_what_was_noted_on_an_error_while_closing_travels_along() -> None:
    error = SpecError("'x' is no host", hint="name a host")
    error.add_note("and then, closing the lab: it is stuck")
    group = BaseExceptionGroup("closing", [error, RuntimeError("a bug")])
    refused = Refused.of(group)
    assert "'x' is no host (and then, closing the lab: it is stuck)" in refused.message
    assert "a bug" in refused.message
    assert "hint" not in refused.message
    assert (Refused.of(error).hint, Refused.of(error).exit_code) == ("name a host", 2)
    assert REQUESTS.decode(b'{"type":"EndLab"}') == EndLab()
