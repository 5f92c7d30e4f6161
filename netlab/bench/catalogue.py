"""The figures that ``netlab bench`` knows: where each is measured, and what it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from msgspec import Struct, structs

from netlab.bench.figure import Figure
from netlab.clock_name import VIRTUAL, clock_name
from netlab.errors import SpecError
from netlab.machine import engine_name

__all__ = ["CATALOGUE", "Entry", "measure", "not_measured", "require_virtual_time"]

Say = Callable[[str], None]


class Entry(Struct, frozen=True, kw_only=True):
    """One figure, before it is measured.

    Attributes:
        about: What it compares, in a line.
        where: ``module:function`` within ``netlab.bench``; the function takes ``say`` and returns a Figure.
        wiring: Name of what carries the packets that it counts, or of what else it is about.
        needs_netem: True when it must run on a kernel with netem (the guest's where the host has none).
        virtual_time: True when it may be measured in virtual time: what a link delivers, how a policy does. Not
            so what netlab itself takes: there computing is free, and a speed would be a fiction.
        starts_guests: True when it starts guests itself, and is measured from outside whatever is asked.
    """

    about: str
    where: str
    wiring: str = "host"
    needs_netem: bool = False
    virtual_time: bool = False
    starts_guests: bool = False


CATALOGUE: dict[str, Entry] = {
    "change-vs-tc": Entry(
        about="one link change by the hot path against a tc subprocess", where="change:change_vs_tc"
    ),
    "change-vs-floor": Entry(
        about="the same against a bare send+recv of the same bytes", where="change:change_vs_floor"
    ),
    "lab-vs-iproute": Entry(
        about="a two-host lab up and down against the same by ip and tc", where="lab_cost:lab_vs_iproute"
    ),
    "lab-1000": Entry(
        about="a star of 1,001 hosts up and down, and a link of it against one of a star of 10",
        where="lab_scale:lab_1000",
        needs_netem=True,
    ),
    "rtt-vs-socket": Entry(
        about="observation -> action round trip against a bare socket ping-pong",
        where="round_trip:rtt_vs_socket",
    ),
    "loop-50": Entry(about="ticks over 2 ms late at 50 Hz, parallel labs", where="loops:loop_50"),
    "loop-500": Entry(about="ticks over 2 ms late at 500 Hz", where="loops:loop_500"),
    "relay-error": Entry(
        about="a relay's delays and losses against what its model asked for",
        where="relay_error:relay_error",
        wiring="relay",
    ),
    "model-speed": Entry(
        about="LinkModel, wifi-normal: one link, and 1,000 links at once",
        where="model_speed:model_speed",
        wiring="model",
    ),
    "vector-speed": Entry(
        about="256 CartPoles behind a network at once: steps a second against single ones, and against no network",
        where="vector_speed:vector_speed",
        wiring="model",
    ),
    "train-speed": Entry(
        about="the CartPole training job, network on, against stable-baselines3's PPO: steps a second",
        where="train_speed:train_speed",
        wiring="model",
    ),
    "train-time": Entry(
        about="netlab train of CartPole's baseline and predictor, from nothing to policy files",
        where="train_time:train_time",
        wiring="model",
    ),
    "cartpole-best": Entry(
        about="CartPole, Wi-Fi-Degraded, both readings: the shipped policy with a learned model",
        where="policy_scores:cartpole_best",
        wiring="model",
    ),
    "cartpole-modelfree": Entry(
        about="CartPole, Wi-Fi-Degraded, both readings, and no network: the model-free policy",
        where="policy_scores:cartpole_modelfree",
        wiring="model",
    ),
    "cartpole-rough": Entry(
        about="CartPole pushed by 3 N a tick, bursts of loss: a learned model against exact physics",
        where="rough:cartpole_rough",
        wiring="model",
        virtual_time=True,
    ),
    "doorkey-learned": Entry(
        about="DoorKey, Wi-Fi-Degraded and no network: the network-aware LSTM alone",
        where="policy_scores:doorkey_learned",
        wiring="model",
    ),
    "doorkey-protocol": Entry(
        about="DoorKey, Wi-Fi-Degraded: the baseline with stop-and-wait against no network",
        where="policy_scores:doorkey_protocol",
        wiring="model",
    ),
    "paper-method": Entry(
        about="CartPole, all networks: the CALF paper's method, and its gap against the baseline's",
        where="policy_scores:paper_method",
        wiring="model",
    ),
    "parity": Entry(
        about="shipped policies as services on real netem against the wrapper that trained them: mean returns",
        where="parity:parity",
        wiring="guest",
        virtual_time=True,
        starts_guests=True,
    ),
    "engines-agree": Entry(
        about="real netem in virtual time against LinkModel: fates and delays of 2,000 packets an impairment",
        where="engines_agree:engines_agree",
        wiring="guest",
        virtual_time=True,
        starts_guests=True,
    ),
    "property-states": Entry(
        about="random netem states put in force one after another and read back: what sticks",
        where="property_states:property_states",
        needs_netem=True,
        virtual_time=True,
    ),
    "import-speed": Entry(
        about="a million rows of ping's output, and of a CSV, from file to trace file",
        where="import_speed:import_speed",
    ),
    "fit-w1": Entry(
        about="the delay law delivered against its data: a quantile table, and maketable's way",
        where="fit_w1:fit_w1",
        wiring="model",
    ),
    "replay-lag1": Entry(
        about="lag-1 autocorrelation of a replayed trace as delivered, less the trace's own",
        where="replay_lag1:replay_lag1",
        needs_netem=True,
        virtual_time=True,
    ),
    "replay-timing": Entry(
        about="steps of schedules applied against asked: 100 a second on 10 links; in step and apart, the worse",
        where="replay_timing:replay_timing",
        needs_netem=True,
    ),
    "replay-1000": Entry(
        about="share of a CPU that playing 1,000 links at 10 steps a second takes; in step and apart, the worse",
        where="replay_thousand:replay_1000",
        needs_netem=True,
    ),
    "verify-power": Entry(
        about="conformance on wifi-normal: false alarms of 100, and of 100 each mean, loss, bursts wrong",
        where="verify_power:verify_power",
        wiring="model",
    ),
    "verify-level": Entry(
        about="conformance: how many of 16,000 flows that are as asked fail, against the level it states",
        where="verify_level:verify_level",
        wiring="model",
    ),
    "guest-boot": Entry(about="netlab guest run -- true", where="commands:guest_boot", wiring="guest"),
    "help-time": Entry(about="netlab --help against python -c pass", where="commands:help_time"),
    "protocol": Entry(
        about="CartPole over wifi-degraded: newest observation, and scheduled with prediction",
        where="protocol:protocol",
        needs_netem=True,
        virtual_time=True,
    ),
    "virtual-time": Entry(
        about="a minute of CartPole in the guest with time travel: guest seconds a second, two runs compared",
        where="virtual_time:virtual_time",
        wiring="guest",
        virtual_time=True,
        starts_guests=True,
    ),
}


def require_virtual_time(names: Sequence[str]) -> None:
    """Refuse figures that mean nothing in virtual time.

    Raises:
        SpecError: Names the first of them and why, or that none is named.
    """
    able = ", ".join(name for name, entry in CATALOGUE.items() if entry.virtual_time)
    hint = f"in virtual time there are: {able}"
    if not names:
        raise SpecError("name the figures", key="bench --virtual-time", hint=hint)
    for name in names:
        if not CATALOGUE[name].virtual_time:
            why = "it is about netlab's own speed, and in virtual time computing is free"
            raise SpecError(f"{name} is measured in real time alone: {why}", key="bench --virtual-time", hint=hint)


def measure(name: str, say: Say) -> Figure:
    """Measure one figure on this kernel."""
    module, _, function = CATALOGUE[name].where.partition(":")
    figure = getattr(import_module(f"netlab.bench.{module}"), function)(say)
    assert isinstance(figure, Figure)
    return structs.replace(figure, engine=engine_name(CATALOGUE[name].wiring), clock=_clock(name))


def _clock(name: str) -> str:
    """Return the clock of a figure: of one that starts guests in virtual time, theirs."""
    entry = CATALOGUE[name]
    return VIRTUAL if entry.starts_guests and entry.virtual_time else clock_name()


def not_measured(name: str, why: str) -> Figure:
    """Return the figure of what could not be measured here: no value, and it does not hold."""
    return Figure(name=name, value=None, unit="", target=CATALOGUE[name].about, holds=False, n=0, note=why)
