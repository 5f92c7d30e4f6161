"""``netlab trace generate``: a schedule from a model of a network, by seed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli.command import NetlabCommand, ResultOption, echo_json
from netlab.cli.profile_output import require_profile
from netlab.cli.types import DURATION
from netlab.errors import SpecError

if TYPE_CHECKING:
    from netlab.traces.pair import ProfilePair

__all__ = ["generate"]


@click.command(cls=NetlabCommand)
@click.argument("model", default="")
@click.option(
    "-o",
    "--output",
    cls=ResultOption,
    type=click.Path(path_type=Path),
    help="The profile file to write; its name ends in .toml. Printed unless given.",
)
@click.option("--seed", type=click.IntRange(min=0), default=7, show_default=True, help="Same seed, same schedule.")
@click.option("--duration", "duration_s", type=DURATION, default="60s", show_default=True, help="Of one pass.")
@click.option(
    "--step", "step_s", type=DURATION, default="100ms", show_default=True, help="Of a walk; no stay is shorter."
)
@click.option("--once", is_flag=True, help="Do not begin again after the duration.")
@click.option("--set", "texts", multiple=True, metavar="KEY=VALUE", help="A parameter; of lists 1ms/2ms/5ms.")
@click.option("--list", "list_only", is_flag=True, help="List the models and their parameters, and leave.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def generate(
    model: str,
    output: Path | None,
    seed: int,
    duration_s: float,
    step_s: float,
    once: bool,
    texts: tuple[str, ...],
    list_only: bool,
    as_json: bool,
) -> None:
    """Make a profile of two schedules from a model of a network: random-walk, markov-levels, handover, jamming.

    The same model, seed and parameters give the same file for ever.

    \b
    Example:
      netlab trace generate --list
      netlab trace generate handover --seed 7 --duration 5min --set peak=20ms -o leo.toml
      netlab trace generate jamming --set random=true --set window=500ms -o jammed.toml
    """  # noqa: D301
    from netlab.traces.synthetic.catalogue import generate as generate_pair
    from netlab.traces.synthetic.timing import Timing
    from netlab.traces.toml_profile import format_profile, write_profile

    if list_only:
        _list_models(as_json)
        return
    if not model:
        raise SpecError("name a model", key="trace generate", hint="netlab trace generate --list")
    if output is not None:
        require_profile(output)
    timing = Timing(seed=seed, duration_s=duration_s, step_s=step_s, loop=not once)
    pair = generate_pair(model, _parameters(texts), timing)
    if output is not None:
        write_profile(pair, output)
    if as_json:
        echo_json({"file": output and str(output), **_figures(pair), "toml": format_profile(pair)})
    elif output is None:
        click.echo(format_profile(pair), nl=False)
    else:
        click.echo(f"{output}: {_figures_text(_figures(pair))}")


def _parameters(texts: tuple[str, ...]) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key or not value:
            raise SpecError(f"{text!r:.80} is not KEY=VALUE", key="--set", hint="for example --set peak=20ms")
        if key in parameters:
            raise SpecError(f"{key!r:.80} is given twice", key="--set", hint="keep one of them")
        parameters[key] = value
    return parameters


def _figures(pair: ProfilePair) -> dict[str, Any]:
    steps = {way: len(getattr(pair, way).segments()) for way in ("forward", "back")}
    return {
        "model": pair.name,
        "seed": pair.provenance.seed if pair.provenance is not None else None,
        "steps": steps,
        "round_trip_mean_ms": 1e3 * pair.round_trip_mean_s,
        "round_trip_sd_ms": 1e3 * pair.round_trip_sd_s,
        "loss_ratio": pair.loss_ratio_mean,
    }


def _figures_text(figures: dict[str, Any]) -> str:
    return (
        f"{figures['model']}, seed {figures['seed']}: {figures['steps']['forward']} steps forward, "
        f"{figures['steps']['back']} back; round trip {figures['round_trip_mean_ms']:.1f} +- "
        f"{figures['round_trip_sd_ms']:.1f} ms, {figures['loss_ratio']:.2%} lost each way"
    )


def _list_models(as_json: bool) -> None:
    from netlab.traces.synthetic.catalogue import MODELS

    if as_json:
        echo_json(
            [
                {
                    "model": name,
                    "about": model.about,
                    "parameters": [
                        {
                            "key": one.key,
                            "default": one.default_text,
                            "about": one.about,
                            "unit": one.quantity.what,
                        }
                        for one in model.parameters.values()
                    ],
                }
                for name, model in MODELS.items()
            ]
        )
        return
    for name, model in MODELS.items():
        click.echo(f"{name}: {model.about}")
        for parameter in model.parameters.values():
            click.echo(f"  {parameter.key}={parameter.default_text}".ljust(36) + f"  {parameter.about}")
