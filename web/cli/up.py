"""`habakkuk up`: run everything on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from habakkuk.core.config.settings import Settings
    from habakkuk.ops.choice import Wanted
    from habakkuk.ops.console import Console


@click.command("up")
@click.option("--detach", is_flag=True, help="Return when it is healthy and leave it running.")
@click.option("--no-local-model", is_flag=True, help="Never start the bundled local model.")
@click.option(
    "--local-model", type=click.Path(path_type=Path), metavar="FILE.gguf", help="Start this one."
)
@click.option("--detached", is_flag=True, hidden=True)
def command(
    detach: bool,  # noqa: FBT001 - click passes it by name
    no_local_model: bool,  # noqa: FBT001 - click passes it by name
    local_model: Path | None,
    detached: bool,  # noqa: FBT001 - click passes it by name
) -> None:
    """Start the databases, the web server and the workers, and keep them running."""
    from habakkuk.core.config.settings import load_settings  # noqa: PLC0415 - not for --help
    from habakkuk.ops.choice import Wanted, offer_server  # noqa: PLC0415 - not for --help
    from habakkuk.ops.terminal import terminal_console  # noqa: PLC0415 - not for --help
    from habakkuk.search.registry import check  # noqa: PLC0415 - not for --help

    if no_local_model and local_model:
        raise click.UsageError("--no-local-model and --local-model exclude each other")
    wanted = Wanted(
        bundled=not no_local_model, file=local_model.absolute() if local_model else None
    )
    settings = load_settings()
    check(settings.config.search)
    console = terminal_console(settings)
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    settings = offer_server(settings, wanted, _ask if at_terminal else None)
    if detach:
        _detach(settings, wanted, console)
    else:
        _stay(settings, wanted, console, detached=detached)


def _ask(question: str) -> bool:
    return click.confirm(question, default=True)


def _detach(settings: Settings, wanted: Wanted, console: Console) -> None:
    from habakkuk.ops.detach import run_detached  # noqa: PLC0415 - not for --help

    options = [] if wanted.bundled else ["--no-local-model"]
    options += ["--local-model", str(wanted.file)] if wanted.file else []
    raise click.exceptions.Exit(run_detached(settings, options, console))


def _stay(settings: Settings, wanted: Wanted, console: Console, *, detached: bool) -> None:
    from habakkuk.ops.choice import choose_model  # noqa: PLC0415 - not for --help
    from habakkuk.ops.stop import Stopped  # noqa: PLC0415 - not for --help
    from habakkuk.ops.up import Up, on_stage  # noqa: PLC0415 - not for --help

    with on_stage(settings, console, detached=detached) as setting:
        try:
            Up(setting, choose_model(setting, wanted)).run()
        except Stopped:
            raise click.exceptions.Exit(130) from None
