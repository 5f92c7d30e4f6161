"""``netlab eval``: how well a policy does on networks, without packets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from netlab.cli.command import echo_json, json_option, output_option
from netlab.cli.computing_command import ComputingCommand
from netlab.cli.control_options import control_options
from netlab.cli.episode_text import control_words
from netlab.cli.progress_line import ProgressLine
from netlab.cli.types import SEED, TASK_OPTION
from netlab.messages import horizon_word

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netlab.messages import ActuatorName, FallbackName
    from netlab.scoring.score import Score
    from netlab.scoring.scorer import Overrides

__all__ = ["eval_"]

_LARGE = 10.0
"""A mean return from here on is shown to a tenth."""
_NETWORKS = ("none", "ethernet-clean", "wifi-normal", "wifi-degraded")


@click.command("eval", cls=ComputingCommand)
@click.argument("policy")
@click.option(
    "--network",
    "networks",
    multiple=True,
    help=f"A network: preset, file or distribution; may be given often  [default: {', '.join(_NETWORKS)}].",
)
@click.option("--episodes", type=click.IntRange(1, 100_000), default=100, show_default=True, help="A network.")
@click.option(
    "--seed",
    type=SEED,
    default=0,
    show_default=True,
    help="Of the first; the next is one more.",
)
@control_options
@click.option("--option", "options", type=TASK_OPTION, multiple=True, help="Change the task, as push_n=3 does.")
@output_option
@json_option
def eval_(
    policy: str,
    networks: tuple[str, ...],
    episodes: int,
    seed: int,
    actuator: ActuatorName | None,
    horizon_ticks: int | None,
    fallback: FallbackName | None,
    options: tuple[tuple[str, float], ...],
    output: Path | None,
    as_json: bool,
) -> None:
    """Score a POLICY, a name or a file.safetensors, on networks: episodes in the model, without packets.

    The gap is what a network costs: 1 - its mean / the first network's mean.

    \b
    Example:
      netlab eval linear-predict --network none --network wifi-degraded --episodes 10
      netlab eval linear-predict --network wifi-degraded@oneway --horizon 16 --option push_n=3 --episodes 5
    """  # noqa: D301
    import msgspec

    from netlab.documents import require_writable, write_document
    from netlab.scoring.scorer import Overrides

    if output is not None:
        require_writable("--output", output)
    overrides = Overrides(actuator=actuator, horizon=horizon_word(horizon_ticks), fallback=fallback)
    scores = _scores(policy, networks or _NETWORKS, episodes, seed, overrides, dict(options))
    document = {"netlab": scores[0].versions["netlab"], "scores": scores}
    try:
        if as_json:
            echo_json(document)
        else:
            _print(scores)
    finally:  # a closed stdout does not keep the result from its file
        if output is not None:
            write_document(output, msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")


def _scores(
    policy: str,
    networks: Sequence[str],
    episodes: int,
    seed: int,
    overrides: Overrides,
    options: dict[str, float],
) -> list[Score]:
    from netlab.network_words import find_network
    from netlab.scoring.entrant import find_entrant
    from netlab.scoring.scorer import score

    find_entrant(policy)
    for network in networks:
        find_network(network)  # each of them is refused before the first is played
    scores = []
    with ProgressLine() as line:
        for network in networks:
            report = _counter(line, network, episodes)
            made = score(
                policy, network, episodes=episodes, seed=seed, overrides=overrides, options=options, report=report
            )
            scores.append(made)
    return scores


def _counter(line: ProgressLine, network: str, episodes: int) -> Callable[[int], None]:
    """Return what is told how many episodes have ended."""
    return lambda ended: line.count(f"{network}: {ended} of {episodes} episodes")


def _print(scores: Sequence[Score]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    first = scores[0]
    has_goal = first.success_ratio is not None
    is_d_shown = len({score.control.horizon for score in scores}) > 1  # fitted to each; else the title has it
    headings = ["network", *(["D"] if is_d_shown else []), "return", "least", "gap"]
    headings += [*(["success"] if has_goal else []), "asked\nrtt ms", "deliver\nrtt ms", "lost", "s"]
    table = Table(title=_title(first, is_d_shown), box=box.SIMPLE_HEAD, padding=0)
    for number, heading in enumerate(headings):
        justify: Literal["left", "right"] = "right" if number else "left"
        table.add_column(heading, justify=justify, no_wrap=number > 0, overflow="fold")
    for score in scores:
        table.add_row(*_row(score, first, is_d_shown))
    console = Console()
    console.print(table)
    console.print("\n".join(_legend(first)), style="dim", highlight=False)
    for text in dict.fromkeys(text for score in scores for text in score.figures.warnings):
        console.print(f"note: {text}", style="dim", highlight=False)


_LEGEND = """\
return: mean ± standard error; gap: 1 - mean / the first network's mean, below 0
where it is the higher one. asked: the round trip as written; deliver: what the
links make of it."""
_PLAYED = {
    "newest": "newest: a tick plays the action that came last",
    "scheduled": "scheduled: each action is decided D ticks ahead and played on its tick",
    "planned": "planned: each action is decided D ticks ahead, and what may follow it as well",
    "stop-and-wait": "stop-and-wait: one decision a turn, repeated until it was played",
}
_MISSED = {
    "neutral": "neutral: a tick without an action plays the task's neutral one",
    "hold": "hold: a tick without an action plays the one before, for a while",
}


def _legend(score: Score) -> list[str]:
    """Return what the words of the table mean, those of its title last."""
    control = score.control
    return [_LEGEND, f"{_PLAYED[control.actuator]};", f"{_MISSED[control.fallback]}."]


def _title(score: Score, is_d_shown: bool) -> str:
    control, episodes = score.control, len(score.returns)
    if control.horizon is None:
        played: str = control.actuator
    else:
        played = f"{control.actuator} D" if is_d_shown else control_words(control.actuator, control.horizon)
    options = "".join(f", {name} {value:g}" for name, value in score.task_options.items())
    count = f"{episodes} episode{'s' if episodes > 1 else ''} a network"
    return f"{score.policy}: {score.task}{options}\n{played}, {control.fallback}; {count}"


def _row(score: Score, first: Score, is_d_shown: bool) -> list[str]:
    figures = score.figures
    gap = None if score is first else score.gap(first)
    success = [] if score.success_ratio is None else [f"{score.success_ratio:.0%}"]
    decimals = 1 if abs(first.mean) >= _LARGE else 3
    return [
        score.network,
        *([str(score.control.horizon)] if is_d_shown else []),
        _plus_minus((score.mean, score.standard_error), decimals),
        f"{score.minimum:.{decimals}f}",
        "-" if gap is None else f"{gap:.1%}",
        *success,
        _plus_minus(figures.asked_round_trip_ms, 0),
        _plus_minus(figures.delivered_round_trip_ms, 0),
        "-" if figures.loss_ratio is None else f"{max(figures.loss_ratio):.0%}",
        f"{score.seconds:.1f}",
    ]


def _plus_minus(moments: tuple[float, float | None] | None, decimals: int) -> str:
    if moments is None:
        return "-"
    return "±".join(f"{value:.{decimals}f}" for value in moments if value is not None)
