from __future__ import annotations

import json

from tests.fakes.stack import Stack
from tests.integration.cli.conftest import Run


def test_create_prints_the_token_alone(stack: Stack, run: Run) -> None:
    result = run("tokens", "create", "laptop")
    assert (result.exit_code, result.stderr) == (0, "")
    principal = stack.container.accounts.authenticate(result.stdout.removesuffix("\n"))
    assert principal is not None
    assert principal.scopes == {"chat", "read"}


def test_scopes_are_as_asked_for(stack: Stack, run: Run) -> None:
    result = run("tokens", "create", "reader", "--scope", "read")
    principal = stack.container.accounts.authenticate(result.stdout.strip())
    assert principal is not None
    assert principal.scopes == {"read"}


def test_the_list_has_no_secrets(run: Run) -> None:
    token = run("tokens", "create", "laptop").stdout.strip()
    listed = run("tokens", "list", "-o", "json").stdout
    assert [one["name"] for one in json.loads(listed)["tokens"]] == ["laptop"]
    assert token not in listed
    assert token not in run("tokens", "list").stdout


def test_a_revoked_token_opens_nothing(stack: Stack, run: Run) -> None:
    token = run("tokens", "create", "laptop").stdout.strip()
    assert run("tokens", "revoke", "laptop").stdout == "Revoked 1 token.\n"
    assert stack.container.accounts.authenticate(token) is None


def test_revoking_what_is_not_there_says_so(run: Run) -> None:
    result = run("tokens", "revoke", "nothing")
    assert result.exit_code == 1
    assert "'nothing'" in result.stderr


def test_a_hostile_name_cannot_move_the_cursor(run: Run) -> None:
    run("tokens", "create", "a\x1b[2Jb\u202ec")
    shown = run("tokens", "list").stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert r"a\x1b[2Jb\u202ec" in shown
