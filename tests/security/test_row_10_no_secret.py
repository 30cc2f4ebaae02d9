"""Row 10: an account without a good secret takes nothing, however a request is signed."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.security.door import Served, serving
from tests.security.posted import Post, said, taken

# What stands in the account's variable; None: it is not set.
_SECRETS = {
    "unset": None,
    "empty": "",
    "blank": "   ",
    "prefix": "whsec_",
    "short": "whsec_c2hvcnQ=",
    "nearly": "whsec_" + base64.b64encode(b"x" * 23).decode(),
    "words": "change me, please, I am a secret",
    "urlsafe": "whsec_" + "-_" * 20,
    "nil": "null",
    "nothing": "None",
    "placeholder": "${WEBHOOK_SECRET}",
    "unpadded": "whsec_" + base64.b64encode(b"x" * 25).decode().rstrip("="),
}
# What a client that knows there is no secret would sign with.
_KEYS = [b"", b" ", b"null", b"None", b"whsec_", b"short", b"x" * 23, b"\0" * 32]


@pytest.fixture
def closed(
    home: Path, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Served]:
    lines = ["channels:"]
    for name, value in _SECRETS.items():
        lines.append(
            f"  {name}: {{type: webhook, secret_env: S_{name.upper()}, allow_from: ['*']}}"
        )
        if value is not None:
            monkeypatch.setenv(f"S_{name.upper()}", value)
    with serving(home, database_url, redis_url, "\n".join(lines)) as served:
        yield served


def test_nothing_is_taken_without_a_secret(closed: Served) -> None:
    client = closed.new_client(None)
    through = []
    for account in _SECRETS:
        for key in _KEYS:
            answer = replace(said(), account=account, key=key).to(client)
            if answer.status_code != 503:
                through.append((account, key, answer.status_code))
    assert through == []
    assert taken(closed) == 0


def test_nothing_is_taken_unsigned(closed: Served) -> None:
    client = closed.new_client(None)
    nothing: dict[str, str | None] = dict.fromkeys(said().headers())
    for account in _SECRETS:
        post = replace(said(), account=account)
        assert post.to(client, **nothing).status_code == 503
        assert post.to(client, webhook_signature="").status_code == 503
    assert taken(closed) == 0


def test_the_answer_tells_nothing_of_the_setup(closed: Served) -> None:
    client = closed.new_client(None)
    answers = {Post(account=account).to(client).text.replace(account, "") for account in _SECRETS}
    assert all("S_" not in answer and "base64" not in answer for answer in answers)
    assert all("not set up" in answer for answer in answers)


def test_the_operator_is_told_which_variable(closed: Served) -> None:
    problems = "\n".join(closed.stack.container.channels.problems())
    assert all(f"channels.{account}" in problems for account in _SECRETS)
    assert all(value not in problems for value in _SECRETS.values() if value and len(value) > 10)
