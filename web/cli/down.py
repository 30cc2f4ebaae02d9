"""`habakkuk down`: end what `up` started."""

from __future__ import annotations

import click


@click.command("down")
def command() -> None:
    """End Habakkuk on this machine, giving running turns back first."""
    from habakkuk.core.config.environment import read_environment  # noqa: PLC0415 - not for --help
    from habakkuk.ops.down import end_up  # noqa: PLC0415 - not for --help
    from habakkuk.ops.terminal import plain_console  # noqa: PLC0415 - not for --help

    end_up(read_environment().home, plain_console())
