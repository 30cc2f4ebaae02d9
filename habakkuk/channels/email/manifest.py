"""The facts of the email channel."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from habakkuk.channels.contract import AccountSettings, Feature, Manifest
from habakkuk.channels.email.addresses import canonical
from habakkuk.core.config.values import HostName, Variable, written

# Mail knows no limit; what is longer than a short book is no answer any more.
_LIMIT = 100_000
# What most providers take of one mail, 25 MB, holds this much once it is written in base64.
_FILE_LIMIT = 18_000_000
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
# What providers call the server of theirs that checks senders: what stands before the last part
# that they share changes from machine to machine.
_CHECKERS = {
    "imap.gmail.com": "mx.google.com",
    "imap.googlemail.com": "mx.google.com",
    "imap.fastmail.com": "messagingengine.com",
}


class Tls(StrEnum):
    """How a line is made safe: from its first byte, by STARTTLS, or, to this machine, not."""

    TLS = "tls"
    STARTTLS = "starttls"
    NONE = "none"


def _tls(value: object) -> object:
    return Tls(value) if isinstance(value, str) and value in list(Tls) else value


_Tls = Annotated[Tls, BeforeValidator(_tls)]
_Port = Annotated[int, Field(ge=1, le=65535)]
_Most = Annotated[int, Field(ge=1, le=100_000)] | None
_Address = Annotated[
    str,
    written(
        r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*",
        'write an address alone, such as "helper@example.org"',
    ),
]


class EmailSettings(AccountSettings):
    """`user` signs in to both servers with the password in `password_env`.

    `trusted_authserv` is what the mailbox's server calls itself, or ends in, where it writes down
    (Authentication-Results) whether a sender is who it says; `check_sender` false reads mail of
    servers that do not, whose senders anybody can forge. `read_old`: mail that lay there before
    the first start is read as well. More than `messages_per_hour` or `messages_per_day` of one
    sender are not read, null sets no limit: what answers by itself may look like a person.
    """

    imap_host: HostName
    imap_port: _Port = 993
    imap_tls: _Tls = Tls.TLS
    smtp_host: HostName
    smtp_port: _Port = 465
    smtp_tls: _Tls = Tls.TLS
    user: Annotated[str, written(r"[!-~]{1,320}", "write a login name in letters of ASCII")]
    password_env: Variable
    address: _Address
    display_name: Annotated[str, Field(max_length=100)] = "Habakkuk"
    mailbox: Annotated[str, Field(min_length=1, max_length=200)] = "INBOX"
    read_old: bool = False
    trusted_authserv: HostName | None = None
    check_sender: bool = True
    messages_per_hour: _Most = 30
    messages_per_day: _Most = 100

    @property
    def polls(self) -> bool:
        """Whether mail is fetched: it always is."""
        return True

    @property
    def checker(self) -> str | None:
        """Return whose word on senders is believed; None when nobody is named or known."""
        return self.trusted_authserv or _CHECKERS.get(self.imap_host.lower())

    @model_validator(mode="after")
    def _safe(self) -> Self:
        for name, host, tls in (
            ("imap", self.imap_host, self.imap_tls),
            ("smtp", self.smtp_host, self.smtp_tls),
        ):
            if tls is Tls.NONE and host.lower() not in _LOOPBACK:
                raise ValueError(
                    f"{name}_tls may be none for a server on this machine only; the password would"
                    " be read by whoever stands in between: write tls or starttls"
                )
        return self


MANIFEST = Manifest(
    name="email",
    title="Email",
    settings=EmailSettings,
    limit=_LIMIT,
    bursts=False,
    features=frozenset({Feature.FILES}),
    file_limit=_FILE_LIMIT,
    canonical=canonical,
)
