"""Standard Webhooks: what a foreign program signs is taken, and what we sign it takes."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook

from habakkuk.channels.contract import WebhookRejected
from habakkuk.channels.webhook.signature import Signer
from habakkuk.core.errors import ConfigurationError

# The key, message and signature of the specification's own example.
_EXAMPLE_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
_EXAMPLE_HEADERS = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
_EXAMPLE_BODY = b'{"test": 2432232314}'
_NOW = 1614265330
_SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


def signer(secret: str = _SECRET) -> Signer:
    return Signer(secret, "channels.phone.secret_env")


def test_the_specifications_example_is_genuine() -> None:
    checked = signer(_EXAMPLE_SECRET).check(_EXAMPLE_HEADERS, _EXAMPLE_BODY, _NOW)
    assert checked == "msg_p5jXN8AQM9LWM0D4loKWxJek"


def test_what_we_sign_a_foreign_program_takes() -> None:
    now = int(datetime.now(UTC).timestamp())
    headers = signer().headers("m1", now, b'{"a": 1}')
    assert Webhook(_SECRET).verify('{"a": 1}', headers) == {"a": 1}


def signed(body: bytes = b"{}", message_id: str = "m1", at: int = _NOW) -> dict[str, str]:
    return signer().headers(message_id, at, body)


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "m2"},
        {"webhook-timestamp": str(_NOW + 1)},
        {"webhook-timestamp": ""},
        {"webhook-timestamp": "-1"},
        {"webhook-timestamp": "1e9"},
        {"webhook-timestamp": "９９９"},
        {"webhook-timestamp": "9" * 400},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,"},
        {"webhook-signature": "v1,????"},
        {"webhook-signature": "v2,AAAA"},
        {"webhook-signature": "v1,ünsigned"},
        {"webhook-signature": "v1," + "A" * 100_000},
        {"webhook-id": ""},
        {"webhook-id": "\udcff"},
    ],
)
def test_what_was_changed_is_rejected(change: dict[str, str]) -> None:
    with pytest.raises(WebhookRejected):
        signer().check({**signed(), **change}, b"{}", _NOW)


def test_another_body_is_rejected() -> None:
    with pytest.raises(WebhookRejected, match="does not fit"):
        signer().check(signed(), b"{} ", _NOW)


def test_the_signature_in_another_alphabet_is_not_another_message() -> None:
    headers = signed(at=_NOW)
    while not {"+", "/"}.intersection(headers["webhook-signature"]):
        headers = signed(message_id=headers["webhook-id"] + "x")
    headers["webhook-signature"] = headers["webhook-signature"].replace("+", "-").replace("/", "_")
    with pytest.raises(WebhookRejected):
        signer().check(headers, b"{}", _NOW)


@pytest.mark.parametrize(
    ("age", "genuine"), [(299, True), (301, False), (-299, True), (-301, False)]
)
def test_five_minutes_are_allowed_either_way(age: int, genuine: bool) -> None:
    headers = signed(at=_NOW - age)
    if genuine:
        signer().check(headers, b"{}", _NOW)
    else:
        with pytest.raises(WebhookRejected, match="five minutes"):
            signer().check(headers, b"{}", _NOW)


def test_one_of_several_signatures_is_enough() -> None:
    headers = signed()
    headers["webhook-signature"] = f"v1,AAAA v1a,BBBB {headers['webhook-signature']}"
    assert signer().check(headers, b"{}", _NOW) == "m1"


@pytest.mark.parametrize("secret", ["", "short", "whsec_c2hvcnQ=", "not base64 at all, but long"])
def test_a_secret_that_is_none_says_how_to_make_one(secret: str) -> None:
    with pytest.raises(ConfigurationError, match=r"channels\.phone\.secret_env.*python3 -c"):
        signer(secret)
