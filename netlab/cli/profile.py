"""``netlab profile``: what links can be asked to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from netlab.cli.command import NetlabCommand, echo_json
from netlab.cli.profile_export import export
from netlab.errors import ProfileError

if TYPE_CHECKING:
    from netlab.traces.pair import ProfilePair

__all__ = ["profile"]

_TICK_S = 0.02


@click.group()
def profile() -> None:
    """List, show and export link profiles."""


profile.add_command(export)


@profile.command("list", cls=NetlabCommand)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_(as_json: bool) -> None:
    """List the presets: NAME is NAME@rtt; NAME@oneway gives each direction the whole figures.

    \b
    Example:
      netlab profile list
    """  # noqa: D301
    from netlab.traces.presets import PRESETS

    if as_json:
        echo_json([{"name": name, **_figures(pair)} for name, pair in PRESETS.items()])
        return
    for name, pair in PRESETS.items():
        click.echo(f"{name:16} {pair.description}")


@profile.command(cls=NetlabCommand)
@click.argument("text", metavar="PROFILE")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def show(text: str, as_json: bool) -> None:
    """Show a preset, file or inline profile as TOML, with what it delivers and what is to be known of it.

    \b
    Example:
      netlab profile show wifi-degraded@oneway
      netlab profile show delay=30ms,jitter=5ms,loss=2% > mine.toml
    """  # noqa: D301
    from netlab.traces.presets import parse_preset
    from netlab.traces.toml_profile import format_profile

    pair = parse_preset(text)
    if as_json:
        echo_json({"name": pair.name, **_figures(pair), "toml": format_profile(pair)})
        return
    figures = _figures(pair)
    asked_ms, delivered_ms = figures["asked_round_trip_ms"], figures["delivered_round_trip_ms_at_50_hz"]
    delivered = "nothing" if delivered_ms is None else _ms(delivered_ms)
    # Before the profile: of a fitted one the table fills screens.
    click.echo(f"# round trip asked: {_ms(asked_ms)}; delivered to 50 packets a second: {delivered}")
    if figures["round_trip_p99_ms"] is not None:
        click.echo(f"# 99 % of these within {figures['round_trip_p99_ms']:.1f} ms")
    click.echo(f"# up to {figures['loss_ratio']:.1%} lost each way")
    horizon = figures["horizon_ticks_at_50_hz"]
    click.echo(f"# play-out horizon at 50 Hz: {'none fits' if horizon is None else f'{horizon} ticks'}")
    for warning in pair.warnings():
        click.echo(f"# {warning}")
    click.echo("\n" + format_profile(pair).rstrip())


def _ms(moments_ms: Sequence[float]) -> str:
    mean_ms, sd_ms = moments_ms
    return f"{mean_ms:.1f} +- {sd_ms:.1f} ms"


def _figures(pair: ProfilePair) -> dict[str, Any]:
    """Return what there is to say of a pair; None for what a dead or too slow link has not."""
    from netlab.traces.horizon import horizon_ticks

    flow = _if_any(lambda: pair.delivered_flow(1.0 / _TICK_S))
    return {
        "description": pair.description,
        "reading": pair.reading,
        "asked_round_trip_ms": _milliseconds(pair.asked_round_trip),
        "delivered_round_trip_ms_at_50_hz": None if flow is None else _milliseconds(flow.round_trip),
        "round_trip_p99_ms": None if flow is None else 1e3 * flow.quantile_s(0.99),
        "loss_ratio": pair.loss_ratio_mean,
        "horizon_ticks_at_50_hz": _if_any(lambda: horizon_ticks(pair, _TICK_S)),
        "warnings": pair.warnings(),
    }


def _milliseconds(moments: Sequence[float]) -> list[float]:
    return [1e3 * value for value in moments]


def _if_any(figure: Callable[[], Any]) -> Any:
    try:
        return figure()
    except ProfileError:
        return None
