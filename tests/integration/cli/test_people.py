"""`users`, `login-link` and the tokens of others."""

from __future__ import annotations

import json

from habakkuk.accounts.types import Scope
from tests.fakes.stack import Stack
from tests.integration.cli.conftest import Run


def test_an_added_person_comes_in_by_their_link(stack: Stack, run: Run) -> None:
    added = run("users", "add", "mary", "--role", "viewer")
    assert added.stdout.splitlines()[0] == "Added mary as a viewer."
    assert "login-link --user mary" in added.stdout
    link = run("login-link", "--user", "mary").stdout.strip()
    address, _, secret = link.partition("#")
    assert address == "http://127.0.0.1:8484/login"
    opened = stack.container.logins.by_link(secret)
    assert opened is not None
    assert opened.user == stack.container.accounts.find("mary")


def test_a_link_is_the_owners_unless_told(stack: Stack, run: Run) -> None:
    secret = run("login-link").stdout.strip().partition("#")[2]
    opened = stack.container.logins.by_link(secret)
    assert opened is not None
    assert opened.user == stack.owner


def test_a_link_of_nobody_is_refused(run: Run) -> None:
    result = run("login-link", "--user", "nobody")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "'nobody'" in result.stderr


def test_a_link_leads_to_the_public_address(stack: Stack, run: Run) -> None:
    config = stack.home / "config.yaml"
    config.write_text(config.read_text() + "public_url: https://chat.example.org\n")
    assert run("login-link").stdout.startswith("https://chat.example.org/login#")


def test_people_are_listed_changed_and_removed(run: Run) -> None:
    run("users", "add", "mary")
    assert run("users", "role", "mary", "viewer").stdout == "mary is a viewer now.\n"
    listed = json.loads(run("users", "list", "-o", "json").stdout)["users"]
    assert [(one["name"], one["role"]) for one in listed] == [
        ("owner", "owner"),
        ("mary", "viewer"),
    ]
    assert run("users", "remove", "mary", "--yes").stdout == "Removed mary.\n"
    assert "mary" not in run("users", "list").stdout


def test_removing_asks(run: Run) -> None:
    run("users", "add", "mary")
    assert run("users", "remove", "mary", stdin="n\n").exit_code != 0
    assert "mary" in run("users", "list").stdout


def test_a_password_is_read_and_never_shown(stack: Stack, run: Run) -> None:
    result = run("users", "password", "owner", stdin="correct horse battery\n")
    assert "correct horse" not in result.output
    assert stack.container.logins.by_password("owner", "correct horse battery") is not None
    run("users", "password", "owner", "--remove")
    assert stack.container.logins.by_password("owner", "correct horse battery") is None


def test_a_short_password_is_refused(run: Run) -> None:
    result = run("users", "password", "owner", stdin="short\n")
    assert result.exit_code == 1
    assert "12 to 1000 characters" in result.stderr


def test_a_hostile_name_cannot_move_the_cursor(run: Run) -> None:
    name = "a\x1b[2Jb\u202ec"
    shown = run("users", "add", name).stdout + run("users", "list").stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_token_is_made_for_somebody(stack: Stack, run: Run) -> None:
    run("users", "add", "vera", "--role", "viewer")
    token = run("tokens", "create", "phone", "--user", "vera").stdout.strip()
    principal = stack.container.accounts.authenticate(token)
    assert principal is not None
    assert (principal.user.name, principal.scopes) == ("vera", frozenset({Scope.READ}))
    assert "vera" in run("tokens", "list").stdout
    refused = run("tokens", "create", "t", "--user", "vera", "--scope", "admin")
    assert refused.exit_code == 1


def test_an_id_of_a_channel_is_made_a_person(stack: Stack, run: Run) -> None:
    config = stack.home / "config.yaml"
    config.write_text(config.read_text() + "channels: {phone: {type: webhook, secret_env: S}}\n")
    accounts = stack.container.accounts
    before = accounts.of_identity("webhook", "phone", "4711", "Mary")
    result = run("users", "link", "owner", "phone", "4711")
    assert result.stdout == "4711 on phone is owner from now on.\n"
    assert accounts.of_identity("webhook", "phone", "4711", "Mary") == stack.owner != before
    refused = run("users", "link", "owner", "elsewhere", "4711")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "'elsewhere'" in refused.stderr


def test_a_sender_is_linked_as_messages_will_name_them(stack: Stack, run: Run) -> None:
    """Addresses of mail are the same in capital and in small letters."""
    config = stack.home / "config.yaml"
    account = (
        "{type: email, imap_host: i.example, smtp_host: s.example, user: u, password_env: P,"
        " address: hab@example.org}"
    )
    config.write_text(config.read_text() + f"channels: {{post: {account}}}\n")
    run("users", "link", "owner", "post", "Mary@Example.org")
    assert stack.container.accounts.known("email", "post", "mary@example.org") == stack.owner
