"""A mailbox at two servers: nothing is read here, so the one for mail that comes does not run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from habakkuk.channels.messages import RawRequest
from tests.contract.channels.samples.sample import Sample
from tests.fakes.dovecot_server import PASSWORD, USER
from tests.fakes.smtp_server import DROP_AFTER, DROP_BEFORE, Plan, SmtpServer


@contextmanager
def _platform() -> Iterator[SmtpServer]:
    with SmtpServer() as server:
        yield server


def _settings(url: str) -> Mapping[str, Any]:
    return {
        "imap_host": "127.0.0.1",
        "imap_port": 1,
        "imap_tls": "none",
        "smtp_host": "127.0.0.1",
        "smtp_port": urlsplit(url).port,
        "smtp_tls": "none",
        "user": USER,
        "password_env": "PASSWORD",
        "address": USER,
        "trusted_authserv": "mx.example.org",
    }


SAMPLE = Sample(
    settings=_settings,
    secrets={"PASSWORD": PASSWORD},
    request=lambda _id, body: RawRequest("POST", {}, body),
    message=lambda _chat, _sender, said: said.encode(),
    platform=_platform,
    names=("m1@example.com", "alice@example.com", "alice@example.com"),
    signs=False,
    keyed=False,
    webhook=False,
    busy=[Plan(at, code) for at in ("mail", "rcpt", "data", "dot") for code in (421, 450, 451)],
    closed=[Plan(at, code) for at in ("mail", "rcpt", "data", "dot") for code in (501, 550, 554)],
    lost=[DROP_AFTER, DROP_BEFORE],
    wait=None,
)
