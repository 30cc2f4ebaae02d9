"""`habakkuk users`: who may come in, and as what."""

from __future__ import annotations

import sys

import click

from web.cli.terminal.opened import opened
from web.cli.terminal.output import ago, output_option, print_json, print_table, visible

_ROLES = ["member", "viewer"]


@click.group("users")
def command() -> None:
    """Add, list and remove people; set roles and passwords."""


@command.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(_ROLES), default="member", show_default=True)
def add(name: str, role: str) -> None:
    """Add a person; a login link of their own lets them in."""
    from habakkuk.accounts.types import Role  # noqa: PLC0415 - not for --help

    with opened() as container:
        user = container.accounts.add(name, Role(role))
    shown = visible(user.name)
    click.echo(f"Added {shown} as a {user.role}.")
    click.echo(f"Let them in: ./scripts/habakkuk login-link --user {_quoted(shown)}")


@command.command("list")
@output_option
def list_users(output: str) -> None:
    """List everybody."""
    with opened() as container:
        people = container.accounts.people()
    if output == "json":
        print_json(
            users=[
                {
                    "id": person.user.id,
                    "name": person.user.name,
                    "role": str(person.user.role),
                    "created": person.created,
                    "seen": person.seen,
                    "has_password": person.has_password,
                }
                for person in people
            ]
        )
        return
    rows = [
        (
            person.user.name,
            str(person.user.role),
            ago(person.created),
            "never" if person.seen is None else ago(person.seen),
            "password" if person.has_password else "",
        )
        for person in people
    ]
    print_table(("NAME", "ROLE", "ADDED", "BROWSER", ""), rows)


@command.command("role")
@click.argument("name")
@click.argument("role", type=click.Choice(_ROLES))
def set_role(name: str, role: str) -> None:
    """Change what a person may do: a member chats, a viewer reads."""
    from habakkuk.accounts.types import Role  # noqa: PLC0415 - not for --help

    with opened() as container:
        user = container.accounts.set_role(name, Role(role))
    click.echo(f"{visible(user.name)} is a {user.role} now.")


@command.command("link")
@click.argument("name")
@click.argument("account")
@click.argument("sender")
def link(name: str, account: str, sender: str) -> None:
    """Make SENDER, an id on the channel account ACCOUNT, this person."""
    from habakkuk.core.errors import NotFound  # noqa: PLC0415 - not for --help

    with opened() as container:
        channels = container.settings.config.channels
        if account not in channels:
            raise NotFound(f"there is no account {account!r} in config.yaml")
        user = container.accounts.find(name)
        known = container.channels.canonical(account, sender)
        container.accounts.link(channels[account].type, account, known, user)
    click.echo(f"{visible(sender)} on {visible(account)} is {visible(user.name)} from now on.")


@command.command("remove")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(name: str, yes: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Remove a person with tokens and logins. Their conversations stay, for the owner."""
    if not yes:
        click.confirm(f"Remove {visible(name)}?", abort=True)
    with opened() as container:
        user = container.accounts.remove(name)
    click.echo(f"Removed {visible(user.name)}.")


@command.command("password")
@click.argument("name")
@click.option("--remove", is_flag=True, help="Take the password away; links go on working.")
def password(name: str, remove: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Set a person's password and sign them out everywhere. It is read from the terminal."""
    with opened() as container:
        user = container.accounts.find(name)
        word = None if remove else _ask()
        container.logins.set_password(user, word)
    done = "has no password now" if remove else "has a new password"
    click.echo(f"{visible(user.name)} {done} and is signed out everywhere.")


def _ask() -> str:
    """Return a new password: hidden at a terminal, else the first line that comes."""
    if sys.stdin.isatty():
        asked: str = click.prompt("New password", hide_input=True, confirmation_prompt="Again")
        return asked
    return sys.stdin.readline().rstrip("\r\n")


def _quoted(name: str) -> str:
    from shlex import quote  # noqa: PLC0415 - not for --help

    return quote(name)
