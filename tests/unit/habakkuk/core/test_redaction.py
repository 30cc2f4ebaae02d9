"""Secrets never leave, by value or by form (K68)."""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.core.redaction import MASK, Redactor, secret_values

FORMS = {
    "openai": "sk-proj-AbCdEfGhIjKlMnOp_123",
    "github": "ghp_abcdefghijklmnopqrst0123",
    "slack": "xoxb-1234567890-abcdefghij",
    "slack app": "xapp-1-A0000000-abcdefghij",
    "google": "AIzaSyA1234567890abcdefghijklmnopqrstu",
    "aws": "AKIAABCDEFGHIJKLMNOP",
    "ours": "hab_abcdefghijklmnopqrstuvwxyz",
}


@pytest.mark.parametrize("name", FORMS)
def test_every_known_form_is_taken_out(name: str) -> None:
    assert Redactor().text(f"key={FORMS[name]}, rest") == f"key={MASK}, rest"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (
            "https://api.telegram.org/bot123456789:AAabcdefghijklmnopqrstuvwxyz-123456/getMe",
            f"https://api.telegram.org/bot{MASK}/getMe",
        ),
        ("postgresql://user:pass@host/db", f"postgresql://{MASK}@host/db"),
        ("redis://:pass@127.0.0.1:6379/0", f"redis://{MASK}@127.0.0.1:6379/0"),
        ("Authorization: Bearer abcdefghijkl.mnop", f"Authorization: Bearer {MASK}"),
        ("authorization: bearer abcdefghijkl.mnop", f"authorization: bearer {MASK}"),
    ],
)
def test_forms_that_stand_inside_something(text: str, right: str) -> None:
    assert Redactor().text(text) == right


@pytest.mark.parametrize(
    "text",
    [
        "the task-list of a risk-averse bearer of news",
        "http://127.0.0.1:9100/v1?to=a@b",
        "mail a@example.org at 12:30",
        "ses_0123456789abcdef01234567",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_known_values_are_taken_out_wherever_they_stand() -> None:
    redactor = Redactor(["canary-value-1"])
    assert redactor.text("xcanary-value-1x canary-value-1") == f"x{MASK}x {MASK}"


def test_a_secret_inside_a_longer_one_leaves_nothing_behind() -> None:
    assert Redactor(["password", "password-and-more"]).text("password-and-more") == MASK


def test_values_too_short_to_be_secrets_are_left() -> None:
    assert Redactor(["a", ""]).text("a banana") == "a banana"


def test_special_signs_in_a_secret_are_taken_as_they_are() -> None:
    assert Redactor(["a.b*c+d(e"]).text("a.b*c+d(e aXb*c+d(e") == f"{MASK} aXb*c+d(e"


def test_nested_values_keys_and_objects_are_cleaned() -> None:
    redactor = Redactor(["canary-value"])
    cleaned = redactor.value(
        {
            "canary-value": [("canary-value", 5), {"deep": {"deeper": "a canary-value b"}}],
            "error": ValueError("canary-value"),
            "path": Path("/tmp/canary-value"),
            "raw": b"canary-value",
            "set": {"canary-value"},
            "number": 1.5,
            "none": None,
            "flag": True,
        }
    )
    assert "canary" not in repr(cleaned)
    assert (cleaned["number"], cleaned["none"], cleaned["flag"]) == (1.5, None, True)
    assert cleaned[MASK][0] == [MASK, 5]


def test_secret_variables_are_known_by_their_name() -> None:
    variables = {
        "OPENAI_API_KEY": "one",
        "MY_TOKEN": "two",
        "SESSION_SECRET_2": "three",
        "DB_PASSWORD": "four",
        "AWS_CREDENTIALS": "five",
        "EMPTY_KEY": "",
        "KEYBOARD": "de",
        "HOME": "/root",
    }
    assert secret_values(variables) == ["one", "two", "three", "four", "five"]
