"""StreamLink: messages between the two halves of the tick protocol over a TCP connection; VirtualLink's twin.

::

    observation --.                                            .--> VirtualWay forward
                  +--> MessageStream --> StreamConnection -----+      segments and acknowledgements of both
    action frame -'        `--take(until)--> in order          `--> VirtualWay back

What is lost is sent again, and all that was sent after it waits. The connection begins with the episode: its
handshake took the mean round trip of the link.
"""

from __future__ import annotations

from netlab.envs.virtual.network import VirtualWay
from netlab.messages import Action, Observation
from netlab.traces.model.stream.connection import StreamConnection
from netlab.traces.model.stream.message_stream import MessageStream
from netlab.wire.frame_length import stream_bytes
from netlab.wire.sealed_stream import MAX_QUEUE_BYTES, UNSENT_BYTES

__all__ = ["StreamLink"]

_FORWARD, _BACK = 0, 1


class StreamLink:
    """Both directions during one episode, and what is under way.

    Args:
        forward: The way of observations, and of acknowledgements of actions.
        back: The way of action frames, and of acknowledgements of observations.
    """

    def __init__(self, forward: VirtualWay, back: VirtualWay) -> None:
        self.forward = forward
        self.back = back
        round_trip_s = forward.profile(0).delay_mean_s + back.profile(0).delay_mean_s
        connection = StreamConnection(forward.carry, back.carry, round(round_trip_s * 1e9))
        self._stream: MessageStream[Observation | Action] = MessageStream(
            connection, UNSENT_BYTES, MAX_QUEUE_BYTES
        )

    def send(self, now_ns: int, message: Observation | Action) -> None:
        """Send a message on its way, now."""
        way = _FORWARD if type(message) is Observation else _BACK
        self._stream.send(now_ns, way, stream_bytes(message), message)

    def take(self, until_ns: int) -> tuple[int, Observation | Action] | None:
        """Take out what arrives next and return it with its time; None where nothing does until then."""
        arrival = self._stream.take(until_ns)
        return None if arrival is None else (arrival[0], arrival[2])
