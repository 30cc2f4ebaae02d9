"""/help: what can be asked for."""

from __future__ import annotations

from habakkuk.commands.contract import Command, CommandContext, command
from habakkuk.commands.registry import CommandRegistry, allowed


# What a person sends first on platforms that have a button for it.
@command("help", usage="[command]", aliases=("start",))
def help_(context: CommandContext, arguments: str) -> str:
    """Show the commands that you may use, or what one of them does."""
    known = CommandRegistry()
    if arguments:
        found = known.match(f"/{arguments.removeprefix('/')}")
        if found is None:
            return f"There is no command /{arguments.removeprefix('/')}; /help shows them all."
        return _line(found[0])
    mine = [one for one in known.all.values() if allowed(one, context.user.role)]
    return "\n".join(_line(one) for one in sorted(mine, key=lambda one: one.name))


def _line(one: Command) -> str:
    names = " or ".join(f"/{name}" for name in (one.name, *one.aliases))
    usage = f" {one.usage}" if one.usage else ""
    return f"{names}{usage}: {one.help}"
