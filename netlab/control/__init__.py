"""Control: the tick protocol as two state machines, without I/O and without a clock."""

from netlab.control.actuator import Actuator, Newest, Planned, Scheduled
from netlab.control.actuators import make_actuator
from netlab.control.counters import AgeSummary, EdgeCounters, RemoteCounters
from netlab.control.edge import Edge, Play
from netlab.control.fallback import Fallback, Hold, Local, Neutral, Source
from netlab.control.histogram import Histogram
from netlab.control.horizon import AdaptiveHorizon, FixedHorizon, Horizon
from netlab.control.policy import Persistence, Policy, Predictor
from netlab.control.question import Question
from netlab.control.remote import Remote
from netlab.control.responder import Responder
from netlab.control.stop_and_wait import StopAndWait
from netlab.control.values import Value, ValueCodec

__all__ = [
    "Actuator",
    "AdaptiveHorizon",
    "AgeSummary",
    "Edge",
    "EdgeCounters",
    "Fallback",
    "FixedHorizon",
    "Histogram",
    "Hold",
    "Horizon",
    "Local",
    "Neutral",
    "Newest",
    "Persistence",
    "Planned",
    "Play",
    "Policy",
    "Predictor",
    "Question",
    "Remote",
    "RemoteCounters",
    "Responder",
    "Scheduled",
    "Source",
    "StopAndWait",
    "Value",
    "ValueCodec",
    "make_actuator",
]
