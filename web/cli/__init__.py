"""The command line: one module a command, found and never listed, imported when it is used.

A module here exposes `command`, a click command of its own name, and imports nothing at its top
but click and web.cli.terminal: `--help` reads every module.
"""

from __future__ import annotations

import importlib
import io
import pkgutil
import sys
from typing import Any

import click

from habakkuk import __version__
from web.cli.terminal.failures import explained
from web.cli.terminal.guard import refuse_agents
from web.cli.terminal.opened import DEBUG


class CommandGroup(click.Group):
    """The group `habakkuk`, also as `flask habakkuk`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the modules in this package."""
        modules = pkgutil.iter_modules(__path__)
        names = (module.name for module in modules if not module.ispkg)
        return sorted(name.replace("_", "-") for name in names if not name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None when there is no such module."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{__name__}.{cmd_name.replace('-', '_')}")
        command = module.command
        assert isinstance(command, click.Command)  # noqa: S101 - a fault in our own module
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed, or say which one was meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            known = self.list_commands(ctx)
            raise click.NoSuchCommand(error.command_name, possibilities=known, ctx=ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what goes wrong becomes one sentence and an exit code."""
        debug = bool(ctx.params.get("debug"))
        ctx.meta[DEBUG] = debug
        _tolerate_encodings()
        with explained(debug=debug):
            refuse_agents()
            return super().invoke(ctx)


def _tolerate_encodings() -> None:
    """Show what the terminal's encoding has not as escapes, instead of failing half-way."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def group() -> CommandGroup:
    """Return the command group; `flask habakkuk` registers this one too."""
    debug = click.Option(["--debug"], is_flag=True, help="Show logs and tracebacks on stderr.")
    settings: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
    made = CommandGroup(
        "habakkuk",
        help="Talk to Habakkuk and look after it.",
        params=[debug],
        context_settings=settings,
    )
    return click.version_option(__version__, message="Habakkuk %(version)s")(made)
