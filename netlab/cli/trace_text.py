"""Figures of a trace as text for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netlab.units import format_rate

if TYPE_CHECKING:
    from netlab.traces.trace_figures import DelayFigures, LossFigures, RateFigures, TraceFigures

__all__ = ["figures_line", "figures_lines"]

_RUNS_SHOWN = 8


def figures_line(figures: TraceFigures) -> str:
    """Return the figures that matter most, in a line."""
    parts = [figures.path, f"{figures.n} rows", f"{figures.duration_s:.4g} s"]
    if figures.delay is not None:
        parts.append(f"delay mean {_ms(figures.delay.mean_s)}, median {_ms(figures.delay.median_s)}")
    if figures.loss is not None:
        parts.append(f"{figures.loss.ratio:.2%} lost")
    if figures.rate is not None:
        parts.append(f"rate mean {_rate(figures.rate.mean_bps)}")
    return ", ".join([*parts, f"clocks {figures.clocks}"])


def figures_lines(figures: TraceFigures) -> list[str]:
    """Return all figures, a line for each kind."""
    lines = [
        f"path      {figures.path}, clocks {figures.clocks}",
        f"rows      {figures.n}, {figures.duration_s:.6g} s, {figures.interval_s:.4g} s from row to row",
    ]
    if figures.source:
        lines.append(f"source    {figures.source}")
    if figures.delay is not None:
        lines += _delay(figures.delay)
    if figures.loss is not None:
        lines += _loss(figures.loss)
    if figures.rate is not None:
        lines.append(_rates(figures.rate))
    return lines


def _delay(delay: DelayFigures) -> list[str]:
    quantiles = ", ".join(f"{float(q):.0%} {_ms(value)}" for q, value in delay.quantiles_s.items())
    lag1 = "" if delay.lag1 is None else f", lag-1 autocorrelation {delay.lag1:.2f}"
    return [
        f"delay     {_ms(delay.mean_s)} +- {_ms(delay.sd_s)}, {_ms(delay.min_s)} .. {_ms(delay.max_s)}{lag1}",
        f"quantiles {quantiles}",
    ]


def _loss(loss: LossFigures) -> list[str]:
    copies = f"; more than one copy of {loss.duplicated}" if loss.duplicated else ""
    lines = [f"loss      {loss.lost} of {loss.n}, {loss.ratio:.2%}{copies}"]
    if loss.runs is None:
        lines.append("runs      unknown: it is known how many packets were lost, not which")
    elif loss.runs:
        runs = [f"{length}: {times}" for length, times in list(loss.runs.items())[:_RUNS_SHOWN]]
        more = ", ..." if len(loss.runs) > _RUNS_SHOWN else ""
        longest = max(loss.runs)
        lines.append(f"runs      mean {loss.mean_run:.2f}, longest {longest} ({', '.join(runs)}{more})")
    return lines


def _rates(rate: RateFigures) -> str:
    return (
        f"rate      mean {_rate(rate.mean_bps)}, {_rate(rate.min_bps)} .. {_rate(rate.max_bps)}, {rate.n} values"
    )


def _ms(value_s: float) -> str:
    return f"{1e3 * value_s:.4g} ms"


def _rate(rate_bps: float) -> str:
    return format_rate(float(f"{rate_bps:.4g}"))
