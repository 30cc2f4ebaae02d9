"""`habakkuk provider`: the services whose models answer."""

from __future__ import annotations

import sys

import click

from web.cli.terminal.failures import ExitCode, say
from web.cli.terminal.opened import read_settings
from web.cli.terminal.providers import FORMATS, Given, finish, without_questions

_MAX_BYTES = 20_000


@click.group("provider")
def command() -> None:
    """Set up the services whose models answer."""


@command.command("add")
@click.argument("name", required=False)
@click.option("--key-stdin", is_flag=True, help="Read the key from stdin and ask nothing.")
@click.option("--base-url", metavar="URL", help="The API's address, where it is not the usual.")
@click.option(
    "--type",
    "kind",
    type=click.Choice(FORMATS),
    help="The format of a server that is no known service.  [default: openai]",
)
@click.option("--model", help="The model to try, and for the default agent to answer with.")
@click.option("--no-test", is_flag=True, help="Save without asking the service.")
def add(
    name: str | None,
    key_stdin: bool,  # noqa: FBT001 - click passes it by name
    base_url: str | None,
    kind: str | None,
    model: str | None,
    no_test: bool,  # noqa: FBT001 - click passes it by name
) -> None:
    """Add a service or a server, or give it another key.

    NAME is a service such as openai, or a name of your own with --base-url. In a terminal it asks
    for what is missing. The key goes to .env, never on the command line.
    """
    given = Given(name, base_url, kind, model, test=not no_test)
    if key_stdin or not (sys.stdin.isatty() and sys.stderr.isatty()):
        without_questions(read_settings(), given, _key() if key_stdin else None)
    else:
        _with_questions(given)


def _with_questions(given: Given) -> None:
    from web.cli.terminal.provider_steps import Steps  # noqa: PLC0415 - not for --help

    settings = read_settings()
    try:
        chosen, plan = Steps(settings, given).run()
    except (KeyboardInterrupt, EOFError, click.Abort):
        say("\nNothing was saved.")
        raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None
    finish(settings, chosen, plan)


def _key() -> str:
    from habakkuk.ops.provider_setup import fit_key  # noqa: PLC0415 - not for --help

    return fit_key(sys.stdin.buffer.read(_MAX_BYTES).decode("utf-8", "replace"))
