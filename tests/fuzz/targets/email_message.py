"""Any bytes as a mail: it is read, or refused for a reason, and can be answered.

Its header alone tells the same of who wrote it.
"""

from __future__ import annotations

import re
from email import message_from_bytes

from hypothesis import strategies as st

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.email.compose import Writer
from habakkuk.channels.email.wire import Place, Reader
from habakkuk.channels.messages import OutboundMessage

_FIELDS = (
    "From: a@example.com|From: =?utf-8?b?4pyI?= <a@example.com>|From: a@example.com, b@example.com"
    "|Subject: tea|Subject: =?x?q?=41=?=|Subject: =?utf-8?b?4pyI|Message-ID: <m1@x>|Message-ID: <>"
    "|References: <a@x> <b@x>|In-Reply-To: <hab.00000000000000000000000000000000.bTFAeA@x>"
    "|Authentication-Results: mx.example.org; dkim=pass header.d=example.com"
    "|Auto-Submitted: no|Return-Path: <>"
    '|Content-Type: multipart/mixed; boundary="b"|Content-Type: multipart/alternative; boundary=c'
    "|Content-Type: text/html; charset=utf-16|Content-Type: text/plain; charset*0=idna;charset*1=x"
    "|Content-Type: message/rfc822|Content-Type: text/plain; name*=x'y'%ff|Content-Type: ;;;="
    "|Content-Transfer-Encoding: base64|Content-Transfer-Encoding: quoted-printable"
    "|Content-Transfer-Encoding: x-uuencode|Content-Disposition: attachment; filename==?x?b?x?="
    "|Content-Disposition: inline; filename*0*=utf-8''%e2%9c;filename*1*=%88|Date: x|\tfolded"
)
_BODY = (
    "--b|--b--|--c|--c--|> old|On 1 Jan 2024 a@b wrote:|-- |From: a|Sent: b|To: c|<p>page</p>"
    "|<blockquote><a href='http://x'>|<br><table><td>|<!--|</div></pre>|&#0;&nbsp;|4pyI|=E2=9C=|="
    "|begin 666 x|end|✈ 速い नमस्ते|\0"
)
_LINE = st.sampled_from([one.encode() for one in [*_FIELDS.split("|"), *_BODY.split("|"), "", ""]])
_LINES = st.lists(_LINE | st.binary(max_size=12), max_size=40)
STRATEGY = _LINES.map(lambda lines: b"From: a@example.com\r\n" + b"\r\n".join(lines)) | _LINES.map(
    b"\n".join
)
_READERS = [
    Reader(frozenset({"hab@example.org"}), "mx.example.org"),
    Reader(frozenset({"hab@example.org"}), None, checks=False),
]
_HEADER_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
_WRITER = Writer("hab@example.org", "Habakkuk")
_KNOWN = {
    *("from", "to", "subject", "date", "message-id", "in-reply-to", "references"),
    *("auto-submitted", "x-auto-response-suppress", "mime-version", "content-type"),
}


def check(data: bytes) -> None:
    """Read it as both kinds of accounts do, and answer it."""
    for reader in _READERS:
        try:
            read = reader.read(data, Place(1, 1))
        except WebhookUnreadable:
            continue
        glance = reader.glance(_HEADER_END.split(data, maxsplit=1)[0] + b"\r\n\r\n")
        assert (glance.sender, glance.source) == (read.sender, read.source)
        assert (glance.subject, glance.sender_name) == (read.subject, read.sender_name)
        read.text.encode()
        for file in read.files:
            assert file.name == file.name.strip()
            assert not set(file.name) & set("/\\\n\0")
        answer = OutboundMessage(
            "k", read.chat, read.thread, read.text, "answer", read.id, subject=read.subject
        )
        _, written = _WRITER.write(answer, read.chat)
        again = message_from_bytes(written)
        assert {name.lower() for name in again.keys()} <= _KNOWN  # noqa: SIM118 - no mapping
        assert again.get_content_type() == "multipart/alternative"
