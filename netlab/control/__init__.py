"""Control: the tick protocol as two state machines, without I/O and without a clock."""

from netlab.control.actuator import Actuator, Newest, Scheduled
from netlab.control.counters import AgeSummary, EdgeCounters, RemoteCounters
from netlab.control.edge import Edge, Play
from netlab.control.fallback import Fallback, Hold, Local, Neutral, Source
from netlab.control.histogram import Histogram
from netlab.control.policy import Persistence, Policy, Predictor
from netlab.control.remote import Remote
from netlab.control.values import Value, ValueCodec

__all__ = [
    "Actuator",
    "AgeSummary",
    "Edge",
    "EdgeCounters",
    "Fallback",
    "Histogram",
    "Hold",
    "Local",
    "Neutral",
    "Newest",
    "Persistence",
    "Play",
    "Policy",
    "Predictor",
    "Remote",
    "RemoteCounters",
    "Scheduled",
    "Source",
    "Value",
    "ValueCodec",
]
