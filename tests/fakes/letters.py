"""Mails as people's programs write them and a server that checks senders brings them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

from tests.fakes.dovecot_server import USER, Dovecot
from tests.fakes.smtp_server import SmtpServer

CHECKER = "mx.example.org"


def email_account(imap: Dovecot, smtp: SmtpServer) -> Mapping[str, Any]:
    """Return the settings of an account at two servers of this machine."""
    return {
        "imap_host": "127.0.0.1",
        "imap_port": imap.port,
        "imap_tls": "none",
        "smtp_host": "127.0.0.1",
        "smtp_port": smtp.port,
        "smtp_tls": "none",
        "user": USER,
        "password_env": "MAIL_PASSWORD",
        "address": USER,
        "trusted_authserv": CHECKER,
    }


def letter(
    said: str = "hello",
    sender: str = "alice@example.com",
    *,
    subject: str = "",
    known: str | None = None,
    proven: bool = True,
    **more: str,
) -> bytes:
    """Return a mail; `more` are further header fields, with _ for -."""
    domain = sender.rpartition("@")[2].rstrip(">")
    lines = [f"Return-Path: <{sender}>"]
    if proven:
        lines.append(
            f"Authentication-Results: {CHECKER}; dkim=pass header.d={domain};"
            f" dmarc=pass (p=none) header.from={domain}"
        )
    lines += [f"From: {sender}", f"To: {USER}", f"Date: {format_datetime(datetime.now(UTC))}"]
    lines += [f"Subject: {subject}"] if subject else []
    lines += [f"Message-ID: <{known}>"] if known else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
    lines += ["MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8", "", said, ""]
    return "\r\n".join(lines).encode()
