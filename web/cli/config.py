"""`habakkuk config`: what config.yaml says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from web.cli.terminal.opened import read_settings
from web.cli.terminal.output import output_option, print_fields, print_json

if TYPE_CHECKING:
    from habakkuk.llm.selection import AgentModels


@click.group("config")
def command() -> None:
    """Look at the configuration."""


@command.command("check")
@output_option
def check(output: str) -> None:
    """Read config.yaml and say what it means; needs no database.

    Every fault is one line with its file, line and key, and the exit code is 3.
    """
    from habakkuk.llm.selection import select  # noqa: PLC0415 - not for --help
    from habakkuk.search.registry import check as check_search  # noqa: PLC0415 - not for --help

    settings = read_settings()
    check_search(settings.config.search)
    agents = select(settings).agents.values()
    path = settings.home / "config.yaml"
    if output == "json":
        print_json(
            file=str(path), exists=path.is_file(), agents=[_as_json(models) for models in agents]
        )
        return
    click.echo(f"ok: {path}" if path.is_file() else f"ok: no {path}, so all of it is the default")
    print_fields({models.agent: _shown(models) for models in agents}, indent="  ")


def _shown(models: AgentModels) -> str:
    if not models.chain:
        return f"cannot answer: {models.problem}"
    line = ", then ".join(str(ref) for ref in models.chain)
    return f"{line}\n{models.problem}" if models.problem else line


def _as_json(models: AgentModels) -> dict[str, object]:
    return {
        "agent": models.agent,
        "tier": str(models.tier),
        "models": [str(ref) for ref in models.chain],
        "problem": models.problem,
    }
