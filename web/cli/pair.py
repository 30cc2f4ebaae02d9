"""`habakkuk pair`: let in who was told a code on a channel."""

from __future__ import annotations

import click

from web.cli.terminal.opened import opened
from web.cli.terminal.output import ago, output_option, print_json, print_table, visible

_LET_IN = "code"


class _Codes(click.Group):
    """A group in which a word that is no command is a code."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, and for a code the one that takes it."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            return _LET_IN, self.commands[_LET_IN], args
        return super().resolve_command(ctx, args)


@click.group(
    "pair", cls=_Codes, subcommand_metavar="CODE [--user NAME] | list | revoke ACCOUNT SENDER"
)
def command() -> None:
    """Let in a person who was told CODE on a channel; list and revoke.

    CODE is what a stranger was told in the chat. --user NAME says who they are, such as yourself;
    without it somebody new comes in, as a member.
    """


@command.command(_LET_IN, hidden=True)
@click.argument("code")
@click.option("--user", metavar="NAME", help="Who this is; by itself somebody new, a member.")
def let_in(code: str, user: str | None) -> None:
    """Let in the person who was told CODE."""
    with opened() as container:
        pairing, person = container.pairings.let_in(code, user)
    account = visible(pairing.account)
    click.echo(f"{visible(pairing.sender)} may write on {account}, as {visible(person.name)}.")


@command.command("list")
@output_option
def list_pairings(output: str) -> None:
    """List the open codes, and who was let in."""
    with opened() as container:
        found = container.pairings.listed()
    if output == "json":
        print_json(
            pairings=[
                {
                    "channel": one.channel,
                    "account": one.account,
                    "sender": one.sender,
                    "name": one.name,
                    "code": one.code,
                    "created": one.created,
                    "approved": one.approved,
                    "user": one.person,
                }
                for one in found
            ]
        )
        return
    if not found:
        click.echo("Nobody has asked to come in.")
        return
    rows = [
        (
            one.account,
            one.sender,
            one.name,
            one.code or "",
            f"asked {ago(one.created)}"
            if one.approved is None
            else f"in since {ago(one.approved)}",
            one.person or "",
        )
        for one in found
    ]
    print_table(("ACCOUNT", "SENDER", "CALLED", "CODE", "", "USER"), rows)


@command.command("revoke")
@click.argument("account")
@click.argument("sender")
def revoke(account: str, sender: str) -> None:
    """Take a code or a pairing back: SENDER is a stranger on ACCOUNT again."""
    with opened() as container:
        container.pairings.revoke(account, container.channels.canonical(account, sender))
    click.echo(f"{visible(sender)} may not write on {visible(account)} any more.")
