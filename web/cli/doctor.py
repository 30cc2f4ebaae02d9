"""`habakkuk doctor`: what is wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from web.cli.terminal.failures import ExitCode
from web.cli.terminal.opened import read_settings
from web.cli.terminal.output import output_option, print_json, visible

if TYPE_CHECKING:
    from habakkuk.ops.findings import Finding


@click.command("doctor")
@output_option
def command(output: str) -> None:
    """Check this machine, its databases, processes and models.

    The exit code is 1 when something must be changed.
    """
    from habakkuk.ops.doctor import examine  # noqa: PLC0415 - not for --help

    findings = list(examine(read_settings))
    if output == "json":
        print_json(findings=[_as_json(finding) for finding in findings])
    else:
        _print(findings)
    if any(finding.verdict == "fail" for finding in findings):
        raise click.exceptions.Exit(ExitCode.REFUSED)


def _print(findings: Sequence[Finding]) -> None:
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        first, *rest = visible(finding.found).split("\n")
        click.echo(f"{finding.verdict:<4}  {finding.name:<{width}}  {first}")
        advice = [f"→ {finding.advice}"] if finding.advice else []
        for line in [*rest, *advice]:
            click.echo(f"{'':<{width + 8}}{line}")


def _as_json(finding: Finding) -> dict[str, str]:
    return {
        "name": finding.name,
        "verdict": str(finding.verdict),
        "found": finding.found,
        "advice": finding.advice,
    }
