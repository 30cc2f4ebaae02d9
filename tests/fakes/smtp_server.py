"""A real SMTP server, aiosmtpd, on loopback, which can refuse at every step and break off.

It judges what comes as RFC 5321 and 5322 ask, and keeps what its people see. Plans, one for each
mail in its order, make it do something else than take the mail.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import ssl
import threading
from collections import deque
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, Literal, Self

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.fakes.dovecot_server import CERTIFICATE, PASSWORD, USER

# It says of every sign-in that it will change.
logging.getLogger("mail.log").setLevel(logging.ERROR)

Step = Literal["mail", "rcpt", "data", "middle", "dot"]
_ONCE = ("from", "to", "date", "message-id", "subject", "auto-submitted")
_LONGEST_LINE = 998


@dataclass(frozen=True)
class Plan:
    """What happens to one mail; None in its place lets it be taken.

    At `at` the server answers with `code`, or breaks the line off without one; "middle" is within
    the mail, "dot" behind it. `take`: people get the mail all the same.
    """

    at: Step
    code: int | None = None
    take: bool = False


DROP_AFTER = Plan("dot", take=True)
DROP_BEFORE = Plan("dot")
DROP_WITHIN = Plan("middle")


@dataclass(frozen=True)
class Shown:
    """One mail as people get it."""

    sender: str
    recipient: str
    mail: EmailMessage
    raw: bytes

    @property
    def text(self) -> str:
        """The plain text without the line end that every mail has."""
        body = self.mail.get_body(("plain",))
        assert isinstance(body, EmailMessage)
        return str(body.get_content()).replace("\r\n", "\n").removesuffix("\n")

    @property
    def page(self) -> str:
        """The HTML."""
        body = self.mail.get_body(("html",))
        assert isinstance(body, EmailMessage)
        return str(body.get_content())

    @property
    def key(self) -> str:
        """SMTP knows no keys."""
        return ""


class SmtpServer:
    """The server with what it saw. Lists only grow, so tests may read them at any time."""

    def __init__(self, *, tls: Literal["tls", "starttls", "none"] = "none") -> None:
        self.plans: deque[Plan | None] = deque()
        self.posts: list[Shown] = []
        self.shown: list[Shown] = []
        self.faults: list[str] = []
        self.password = PASSWORD
        self.signed_in = 0
        # Addresses that are refused for ever, and whether it knows ones beyond ASCII.
        self.closed: set[str] = set()
        self.international = True
        self._lock = threading.Lock()
        self._tls = tls
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        if tls != "none":
            context.load_cert_chain(CERTIFICATE)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"smtp://127.0.0.1:{self.port}"
        self._controller = _Controller(self, context if tls == "tls" else None, self.port)
        self.starttls = context if tls == "starttls" else None

    def __enter__(self) -> Self:
        self._controller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._controller.stop(no_assert=True)

    # What the protocol asks for.

    def next_plan(self) -> Plan | None:
        """Return what is to happen to the next mail."""
        with self._lock:
            return self.plans.popleft() if self.plans else None

    def arrives(self, envelope: Envelope, *, shown: bool) -> None:
        """Judge and keep a mail; `shown`: people get it."""
        content = envelope.content
        assert isinstance(content, bytes)
        mail = message_from_bytes(content, policy=policy.default)
        arrived = Shown(str(envelope.mail_from), ",".join(envelope.rcpt_tos), mail, content)
        with self._lock:
            self.faults += _faults(arrived)
            self.posts.append(arrived)
            if shown:
                self.shown.append(arrived)

    def signs_in(self, _server: Any, _session: Any, _envelope: Any, _how: str, told: Any) -> Any:
        """Check user and password."""
        assert isinstance(told, LoginPassword)
        self.signed_in += 1
        right = told.login == USER.encode() and told.password == self.password.encode()
        return AuthResult(success=right, handled=right)


class _Protocol(SMTP):
    """The foreign server, with plans."""

    def __init__(self, server: SmtpServer) -> None:
        super().__init__(
            _Handler(server),
            enable_SMTPUTF8=server.international,
            tls_context=server.starttls,
            require_starttls=server.starttls is not None,
            auth_require_tls=False,
            authenticator=server.signs_in,
        )
        # Of the mail that is on its way over this line.
        self.plan: Plan | None = None

    def planned(self, step: Step) -> Plan | None:
        """Return what is to happen at a step, if anything is."""
        return self.plan if self.plan is not None and self.plan.at == step else None

    async def smtp_DATA(self, arg: str) -> None:
        if self.planned("data") is not None:
            await _carried_out(self, self.planned("data"))
            return
        if self.planned("middle") is not None:
            await self.push("354 go on")
            await self._reader.readuntil(b"\r\n")
            _abort(self)
            return
        await super().smtp_DATA(arg)


class _Handler:
    """What the foreign server asks at each step."""

    def __init__(self, server: SmtpServer) -> None:
        self._server = server

    async def handle_MAIL(
        self,
        server: _Protocol,
        session: Session,
        envelope: Envelope,
        address: str,
        options: list[str],
    ) -> str:
        if not session.authenticated:
            return "530 5.7.0 Authentication required"
        server.plan = self._server.next_plan()
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return await _carried_out(server, server.planned("mail"), push=False) or "250 OK"

    async def handle_RCPT(
        self,
        server: _Protocol,
        _session: Session,
        envelope: Envelope,
        address: str,
        _options: list[str],
    ) -> str:
        if address in self._server.closed:
            return "550 5.1.1 no such mailbox"
        refused = await _carried_out(server, server.planned("rcpt"), push=False)
        if refused is not None:
            return refused
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: _Protocol, _session: Session, envelope: Envelope) -> str:
        plan = server.planned("dot")
        self._server.arrives(envelope, shown=plan is None or plan.take)
        return await _carried_out(server, server.planned("dot"), push=False) or "250 OK"


async def _carried_out(server: SMTP, plan: Plan | None, *, push: bool = True) -> str | None:
    """Do what a plan says; return the answer that the library is to give."""
    if plan is None:
        return None
    if plan.code is None:
        _abort(server)
        await asyncio.sleep(0)
        return "421 gone"
    said = f"{plan.code} as it was planned"
    if push:
        await server.push(said)
    return said


def _abort(server: SMTP) -> None:
    assert isinstance(server.transport, asyncio.Transport)
    server.transport.abort()


class _Controller(Controller):
    def __init__(self, server: SmtpServer, context: ssl.SSLContext | None, port: int) -> None:
        super().__init__(None, "127.0.0.1", port, ssl_context=context)
        self._mail = server

    def factory(self) -> SMTP:
        return _Protocol(self._mail)

    def _trigger_server(self) -> None:
        # It would speak TLS to itself, and trust nobody.
        with socket.create_connection(("127.0.0.1", self.port), 5):
            pass


def _faults(shown: Shown) -> list[str]:
    """Say what is wrong with a mail."""
    head, _, _ = shown.raw.partition(b"\r\n\r\n")
    found = [f"the mail has {len(shown.mail.get_all(name, []))} of {name}" for name in _ONCE]
    found = [one for one, name in zip(found, _ONCE, strict=True) if _count(shown, name) != 1]
    lines = shown.raw.split(b"\r\n")
    if any(len(line) > _LONGEST_LINE for line in lines):
        found.append("a line is too long")
    if any(b"\n" in line or b"\r" in line for line in lines):
        found.append("a line ends in less than CR LF")
    if not shown.raw.isascii() and shown.recipient.isascii():
        found.append("it has bytes beyond ASCII, of which nobody was told")
    if b"\x00" in shown.raw:
        found.append("it has a NUL")
    if re.search(rb"(?im)^bcc:", head):
        found.append("it has a Bcc")
    defects = [defect for part in shown.mail.walk() for defect in part.defects]
    return found + [f"the parser says: {defect!r}" for defect in defects]


def _count(shown: Shown, name: str) -> int:
    return len(shown.mail.get_all(name, []))
