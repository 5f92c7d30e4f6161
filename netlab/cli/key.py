"""``netlab key``: the secret two hosts share."""

from __future__ import annotations

from pathlib import Path

import click

from netlab.cli.command import NetlabCommand

__all__ = ["key"]


@click.group()
def key() -> None:
    """Make the key that two hosts share."""


@key.command(cls=NetlabCommand)
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Replace a key that is already there.")
def new(path: Path, force: bool) -> None:
    """Make a new random key in PATH, readable by its owner alone.

    Copy it to the other host by a channel you trust (scp); both sides name it with --key-file.

    \b
    Example:
      netlab key new robot.key
      scp -p robot.key pi@robot:
    """  # noqa: D301
    from netlab.errors import AuthError
    from netlab.machine import inside_guest
    from netlab.wire.key import Key

    if inside_guest():
        raise AuthError(
            f"key file {path}: a guest makes no keys that outlive it, its kernel is too young to be random",
            hint="run netlab key new on the host itself, without --on guest",
        )
    Key.new().write(path, overwrite=force)
    click.echo(f"wrote {path} (32 random bytes, mode 0600)", err=True)
