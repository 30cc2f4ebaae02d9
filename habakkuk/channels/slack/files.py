"""Files to and from Slack.

https://docs.slack.dev/messaging/working-with-files: a file is asked for a place, brought there, and
then shown in a chat; it is shown only by the last step, so the first two can be done again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial

from habakkuk.channels.contract import Bounds, NotFetched, NotSent
from habakkuk.channels.messages import OutboundFile, OutboundMessage, Receipt, RemoteFile
from habakkuk.channels.outcomes import Lost
from habakkuk.channels.slack import failures, mrkdwn
from habakkuk.channels.slack.client import Client, Refused, part
from habakkuk.core.http import Head
from habakkuk.core.retry_after import seconds_of

_MARK_LENGTH = 12
_OK = 200
_HTML = "text/html"
_TOO_LARGE = "it has more than {limit:,} bytes"
_SCOPE = "Slack shows a page instead of the file: the app lacks the scope files:read"


def send(client: Client, message: OutboundMessage, file: OutboundFile) -> Receipt:
    """Bring a file to Slack and show it in a chat. Raises NotSent and OutcomeUnknown."""
    try:
        number = _brought(client, file, named(file.name, message.key))
    except (Refused, Lost) as error:
        # Nobody has seen anything of it yet.
        raise failures.of_call(error) from None
    try:
        client.files_completeUploadExternal(
            files=[{"id": number, "title": file.name}],
            channel_id=message.chat,
            thread_ts=message.thread or None,
            initial_comment=mrkdwn.escaped(message.text) or None,
        )
    except (Refused, Lost) as error:
        raise failures.of_send(error) from None
    # The message about it is made later, and has no number yet.
    return Receipt()


def mark(key: str) -> str:
    """Return what a message's key makes of the name of its file, where Slack tells it again."""
    return "-" + hashlib.sha256(key.encode()).hexdigest()[:_MARK_LENGTH]


def named(name: str, key: str) -> str:
    """Return the name under which a file is saved; people see its title, which is its own name."""
    stem, dot, ending = name.rpartition(".")
    return f"{stem}{mark(key)}{dot}{ending}" if stem else f"{name}{mark(key)}"


def _brought(client: Client, file: OutboundFile, name: str) -> str:
    asked = client.files_getUploadURLExternal(filename=name, length=file.size)
    told = part(asked.data)
    url, number = told.get("upload_url"), told.get("file_id")
    if not isinstance(url, str) or not isinstance(number, str):
        raise NotSent("Slack names no place for the file", retryable=True)
    with file.open() as source:
        client.upload(url, source)
    return number


def fetch(client: Client, file: RemoteFile, bounds: Bounds) -> Iterator[bytes]:
    """Return a file's pieces; it is asked for by its id, since its address may have changed."""
    if file.size is not None and file.size > bounds.limit:
        raise NotFetched(_TOO_LARGE.format(limit=bounds.limit))
    try:
        told = part(client.within(bounds).files_info(file=str(file.handle["id"])).data, "file")
    except (Refused, Lost) as error:
        reason = failures.of_call(error)
        raise NotFetched(
            str(reason), retryable=reason.retryable, retry_after=reason.retry_after
        ) from None
    url = told.get("url_private_download") or told.get("url_private")
    if not isinstance(url, str):
        raise NotFetched("Slack does not say where the file lies")
    return client.pieces(url, bounds, partial(_expect, file.mime))


def _expect(mime: str, head: Head) -> None:
    """Raise NotFetched for an answer that is not the file."""
    if head.status != _OK:
        raise NotFetched(
            f"Slack does not give the file: HTTP {head.status}",
            retryable=head.status in failures.LATER,
            retry_after=seconds_of(head.headers),
        )
    if head.content_type.startswith(_HTML) and mime != _HTML:
        raise NotFetched(_SCOPE)
