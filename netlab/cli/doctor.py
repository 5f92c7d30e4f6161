"""``netlab doctor``: what this machine can do."""

from __future__ import annotations

import click

from netlab.cli.command import NetlabCommand, echo_json

__all__ = ["doctor"]


@click.command(cls=NetlabCommand)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def doctor(as_json: bool) -> None:
    """Say what this machine can do, what is missing, and what to do about it. Changes nothing.

    Exit status 1 when labs can run nowhere.

    \b
    Example:
      netlab doctor
      netlab doctor --on guest
    """  # noqa: D301
    from netlab.doctor import examine
    from netlab.doctor_facts import gather_facts

    findings = examine(gather_facts())
    if as_json:
        echo_json(findings)
    else:
        marks = {"ok": "ok     ", "missing": "MISSING", "note": "note   "}
        for finding in findings:
            click.echo(f"{marks[finding.verdict]} {finding.about:22} {finding.text}")
            if finding.remedy:
                click.echo(f"{'':31}-> {finding.remedy}")
    nowhere = any(finding.about == "labs run" and finding.verdict == "missing" for finding in findings)
    click.get_current_context().exit(1 if nowhere else 0)
