"""One mail to the server that sends it, and what became of it, as exactly as SMTP tells.

Until the dot that ends a mail the server has nothing, and its answer to the dot is a promise
(RFC 5321, section 4.2.5). So only between the two is anything unknown.
"""

from __future__ import annotations

import re
import select
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from habakkuk.channels.contract import NotSent, OutcomeUnknown
from habakkuk.channels.email.manifest import EmailSettings, Tls
from habakkuk.core.trust import trusted

_CONNECT_SECONDS = 10.0
_ANSWER_SECONDS = 20.0
# Servers look for viruses before they answer the dot.
_PROMISE_SECONDS = 60.0
_LONGEST_ANSWER = 200
_DOT = re.compile(rb"(?m)^\.")
_LINE = re.compile(rb"\r\n|\r|\n")


@contextmanager
def opened(settings: EmailSettings, password: str) -> Iterator[smtplib.SMTP]:
    """Sign in at the server. Raises NotSent."""
    with _refusing("the server that sends mail"):
        line = _connected(settings)
    try:
        with _refusing("the server that sends mail"):
            if settings.smtp_tls is Tls.STARTTLS:
                line.starttls(context=trusted("mail"))
            line.login(settings.user, password)
        yield line
    finally:
        with suppress(OSError, smtplib.SMTPException):
            line.close()


def send(line: smtplib.SMTP, sender: str, recipient: str, mail: bytes) -> None:
    """Send one mail. Raises NotSent and OutcomeUnknown."""
    with _refusing(f"the address {recipient}"):
        options = [] if recipient.isascii() else _international(line)
        _expect(line.mail(sender, options), 250)
        _expect(line.rcpt(recipient), 250, 251)
    with _refusing("this mail"):
        _expect(line.docmd("DATA"), 354)
        body = _DOT.sub(b"..", _LINE.sub(b"\r\n", mail))
        line.send(body if body.endswith(b"\r\n") else body + b"\r\n")
        if _has_spoken(line):
            # A server that answers before the end wants no more of it.
            _expect(line.getreply(), 250)
    _promised(line)


def _promised(line: smtplib.SMTP) -> None:
    """Send the dot and wait for the promise."""
    assert line.sock is not None  # noqa: S101 - it is connected
    line.sock.settimeout(_PROMISE_SECONDS)
    try:
        line.send(b".\r\n")
        code, said = line.getreply()
    except (OSError, smtplib.SMTPException) as error:
        kind = type(error).__name__
        raise OutcomeUnknown(f"no answer told what became of the mail ({kind})") from None
    if code not in range(200, 300):
        if code not in range(400, 600):
            raise OutcomeUnknown(f"the answer to the mail makes no sense ({code})")
        raise _refused("this mail", code, said)
    with suppress(OSError, smtplib.SMTPException):
        line.putcmd("QUIT")


def _connected(settings: EmailSettings) -> smtplib.SMTP:
    # It says its own name to others: not that of this machine.
    name = settings.address.rpartition("@")[2]
    host, port = settings.smtp_host, settings.smtp_port
    if settings.smtp_tls is Tls.TLS:
        line: smtplib.SMTP = smtplib.SMTP_SSL(
            host, port, name, timeout=_CONNECT_SECONDS, context=trusted("mail")
        )
    else:
        line = smtplib.SMTP(host, port, name, timeout=_CONNECT_SECONDS)
    assert line.sock is not None  # noqa: S101 - it is connected
    line.sock.settimeout(_ANSWER_SECONDS)
    return line


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Turn what happens before the dot into NotSent: the server has nothing yet."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise NotSent(f"the server's certificate is not valid: {error.verify_message}") from None
    except smtplib.SMTPAuthenticationError as error:
        refused = _refused("user and password", error.smtp_code, _bytes(error.smtp_error))
        raise refused from None
    except smtplib.SMTPResponseException as error:
        raise _refused(what, error.smtp_code, _bytes(error.smtp_error)) from None
    except smtplib.SMTPNotSupportedError:
        raise NotSent("the server offers no way to sign in, or no TLS") from None
    except (OSError, smtplib.SMTPException, ValueError) as error:
        kind = type(error).__name__
        raise NotSent(f"the line to the server broke ({kind})", retryable=True) from None


def _expect(answer: tuple[int, bytes], *codes: int) -> None:
    if answer[0] not in codes:
        raise smtplib.SMTPResponseException(answer[0], answer[1])


def _refused(what: str, code: int, said: bytes) -> NotSent:
    told = " ".join(said.decode("utf-8", "replace").split())[:_LONGEST_ANSWER]
    # Anything but 5xx leaves hope: -1 is what a broken line gives.
    return NotSent(
        f"the server refuses {what}: {code} {told}", retryable=code not in range(500, 600)
    )


def _international(line: smtplib.SMTP) -> list[str]:
    line.ehlo_or_helo_if_needed()
    if not line.has_extn("smtputf8"):
        raise smtplib.SMTPResponseException(553, b"it knows no addresses beyond ASCII")
    return ["SMTPUTF8", "BODY=8BITMIME"]


def _has_spoken(line: smtplib.SMTP) -> bool:
    assert line.sock is not None  # noqa: S101 - it is connected
    poll = select.poll()
    poll.register(line.sock, select.POLLIN)
    return bool(poll.poll(0))


def _bytes(said: bytes | str) -> bytes:
    return said if isinstance(said, bytes) else said.encode("utf-8", "replace")
