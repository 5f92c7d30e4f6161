"""The model corner's network: events in order of time, packets as the model decides."""

from __future__ import annotations

from netlab.control.remote import Remote
from netlab.control.responder import Responder
from netlab.envs.cartpole import CartPole
from netlab.episode.network import EventClock, ModelAgent, ModelDirection
from netlab.messages import Goodbye, Heartbeat, Message, Observation
from netlab.traces.model.link_model import LinkModel
from netlab.traces.qdisc_state import U32_MAX, QdiscState
from netlab.wire.codec import encode
from netlab.wire.frame_length import frame_bytes

MS = 1_000_000


def test_time_passes_only_while_somebody_waits() -> None:
    clock = EventClock()
    seen: list[tuple[str, int]] = []
    clock.at(30, lambda: seen.append(("b", clock.now_ns())))
    clock.at(10, lambda: seen.append(("a", clock.now_ns())))
    clock.at(30, lambda: seen.append(("c", clock.now_ns())))
    clock.sleep_ns(20)
    assert (clock.now_ns(), seen) == (20, [("a", 10)])
    clock.sleep_ns(10)
    assert (clock.now_ns(), seen) == (30, [("a", 10), ("b", 30), ("c", 30)])


def test_a_wait_ends_when_something_arrives_and_else_on_time() -> None:
    clock = EventClock()
    arrived: list[int] = []
    clock.is_readable = lambda: bool(arrived)
    clock.at(7 * MS, lambda: arrived.append(1))
    assert clock.wait_readable(0, 20 * MS)
    assert clock.now_ns() == 7 * MS
    arrived.clear()
    assert not clock.wait_readable(0, 10 * MS)
    assert clock.now_ns() == 7 * MS + 10 * MS


def test_a_packet_arrives_when_the_model_says() -> None:
    clock = EventClock()
    way = ModelDirection(clock, "link", "forward", LinkModel(QdiscState(latency_ns=5 * MS, seed=1)))
    arrived: list[int] = []
    way.send(100, lambda: arrived.append(clock.now_ns()))
    clock.sleep_ns(10 * MS)
    assert arrived == [5 * MS]
    (record,) = way.records
    assert (record.sent_ns, record.delivered_ns, record.fate) == (0, 5 * MS, "delivered")


def test_a_lost_packet_never_arrives() -> None:
    clock = EventClock()
    way = ModelDirection(clock, "link", "back", LinkModel(QdiscState(loss=U32_MAX, seed=1)))
    arrived: list[int] = []
    way.send(100, lambda: arrived.append(1))
    clock.sleep_ns(1000 * MS)
    assert arrived == []
    assert [record.fate for record in way.records] == ["lost"]


def test_of_two_copies_one_is_taken_and_of_a_corrupted_packet_none() -> None:
    clock = EventClock()
    doubled = ModelDirection(clock, "link", "forward", LinkModel(QdiscState(duplicate=U32_MAX, seed=1)))
    damaged = ModelDirection(clock, "link", "forward", LinkModel(QdiscState(corrupt=U32_MAX, seed=1)))
    arrived: list[str] = []
    doubled.send(100, lambda: arrived.append("doubled"))
    damaged.send(100, lambda: arrived.append("damaged"))
    clock.sleep_ns(1000 * MS)
    assert arrived == ["doubled"]
    assert [record.fate for record in doubled.records] == ["delivered", "duplicate"]
    assert [record.fate for record in damaged.records] == ["corrupted"]


def test_a_declared_cost_delays_answers_and_those_behind_them() -> None:
    clock, task = EventClock(), CartPole()
    answered: list[int] = []

    class Always:
        def decide(self, question: object) -> int:
            return 1

        def reset(self) -> None:
            pass

    back = ModelDirection(clock, "link", "back", LinkModel(QdiscState(seed=1)))
    responder = Responder(Remote(task.description, None, 1, 9), Always())
    agent = ModelAgent(clock, responder, back, 0.004, lambda message: answered.append(clock.now_ns()))
    payload = task.reset(1).astype("<f4").tobytes()
    for tick, at_ns in ((0, 10 * MS), (1, 11 * MS), (2, 30 * MS)):
        seen = Observation(9, 0, tick, payload, b"", 0, 0, -1, 0.0)
        clock.at(at_ns, lambda seen=seen: agent.receive(seen))
    clock.sleep_ns(100 * MS)
    assert answered == [14 * MS, 18 * MS, 34 * MS]


def test_a_frame_is_as_long_as_its_message_and_what_is_around_it() -> None:
    message: Message = Goodbye(reason="done")
    assert frame_bytes(message) == 14 + 20 + 8 + 33 + len(encode(message))
    assert frame_bytes(Heartbeat(1)) < frame_bytes(message)
