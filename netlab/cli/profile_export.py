"""``netlab profile export``: a profile for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from netlab.cli.command import NetlabCommand, say
from netlab.cli.types import DURATION, SEED

if TYPE_CHECKING:
    from netlab.traces.seed import Direction

__all__ = ["export"]


@click.command(cls=NetlabCommand)
@click.argument("text", metavar="PROFILE")
@click.option("--to", "target", type=click.Choice(["tc"]), default="tc", help="For which tool.")
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="NAME",
    help="Whose outgoing packets are meant; twice for both directions: forward, then back.  [default: eth0]",
)
@click.option(
    "--direction",
    type=click.Choice(["forward", "back", "both"]),
    help="Which direction of the link.  [default: forward; both with two devices]",
)
@click.option("--seed", type=SEED, help="Seed of a run; without one the kernel picks.")
@click.option(
    "--link", default="exec", show_default=True, help="What netlab calls the link: its seeds hang on it."
)
@click.option("--at", "at_s", type=DURATION, metavar="TIME", help="Of a schedule, the step that holds then.")
@click.option("--play", is_flag=True, help="Of a schedule, all steps at their times.")
def export(
    text: str,
    target: str,
    devices: Sequence[str],
    direction: str | None,
    seed: int | None,
    link: str,
    at_s: float | None,
    play: bool,
) -> None:
    """Print a shell script of tc commands that give devices the same netem as netlab's links have.

    It needs root where it runs, and changes nothing but the root qdisc of the devices named; it refuses a device
    that has one already.

    \b
    Example:
      netlab profile export --to tc wifi-degraded --device eth0 > degraded.sh
      netlab profile export --to tc delay=20ms,loss=1% --device eth0 --device eth1 --seed 7
      netlab profile export --to tc measured --at 3s
    """  # noqa: D301
    from netlab.errors import SpecError
    from netlab.traces.presets import parse_preset
    from netlab.traces.tc_script import plan_leg, tc_script

    if play and at_s is not None:
        raise SpecError("--at is one step, --play all of them", key="--play", hint="give one of the two")
    pair = parse_preset(text)
    legs = [
        plan_leg(getattr(pair, one), one, device, link=link, seed=seed, at_s=None if play else at_s or 0.0)
        for one, device in _placed(devices, direction)
    ]
    script = tc_script(pair, legs)
    for leg in legs:
        steps = len(getattr(pair, leg.direction).segments())
        if steps > 1 and at_s is None and not play:
            say(f"{leg.direction}: the first of {steps} steps alone; --at TIME chooses another, --play plays all")
    for note in script.notes:
        say(f"not as asked: {note}")
    click.echo(script.text, nl=False)


def _placed(devices: Sequence[str], direction: str | None) -> list[tuple[Direction, str]]:
    """Return which direction belongs on which device.

    Raises:
        SpecError: There are not as many devices as directions.
    """
    from netlab.errors import SpecError
    from netlab.traces.seed import DIRECTIONS

    direction = direction or ("both" if len(devices) > 1 else "forward")
    wanted: list[Direction] = [one for one in DIRECTIONS if direction in (one, "both")]
    named = tuple(devices) or ("eth0",)
    if len(named) != len(wanted):
        raise SpecError(
            f"--direction {direction} with {len(named)} of {len(wanted)} devices: each direction needs its own",
            key="--device",
            hint="netem acts on what leaves a device: name the one towards the second host, then the one towards "
            "the first",
        )
    return list(zip(wanted, named, strict=True))
