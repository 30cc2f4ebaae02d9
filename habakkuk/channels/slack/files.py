"""Files to and from Slack.

https://docs.slack.dev/messaging/working-with-files: a file is asked for a place, brought there, and
then shown in a chat; it is shown only by the last step, so the first two can be done again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from habakkuk.channels.contract import NotFetched, NotSent
from habakkuk.channels.messages import OutboundFile, OutboundMessage, Receipt, RemoteFile
from habakkuk.channels.slack import failures, mrkdwn
from habakkuk.channels.slack.client import Client, Lost, Refused, part

_PIECE = 65_536
_MARK_LENGTH = 12
_OK = 200
_HTML = "text/html"
_TOO_LARGE = "the file has more than {limit:,} bytes"
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
    with file.open() as source:
        body = source.read()
    asked = client.files_getUploadURLExternal(filename=name, length=len(body))
    told = part(asked.data)
    url, number = told.get("upload_url"), told.get("file_id")
    if not isinstance(url, str) or not isinstance(number, str):
        raise NotSent("Slack names no place for the file", retryable=True)
    client.upload(url, body)
    return number


def fetch(client: Client, file: RemoteFile, limit: int) -> Iterator[bytes]:
    """Yield a file, which is asked for by its id: its address may have changed."""
    if file.size is not None and file.size > limit:
        raise NotFetched(_TOO_LARGE.format(limit=limit))
    try:
        told = part(client.files_info(file=str(file.handle["id"])).data, "file")
        url = told.get("url_private_download") or told.get("url_private")
        if not isinstance(url, str):
            raise NotFetched("Slack does not say where the file lies")
        found = client.fetch(url, limit)
    except (Refused, Lost) as error:
        reason = failures.of_call(error)
        raise NotFetched(
            str(reason), retryable=reason.retryable, retry_after=reason.retry_after
        ) from None
    if found.status != _OK:
        raise NotFetched(f"Slack does not give the file: HTTP {found.status}")
    if found.content_type.startswith(_HTML) and file.mime != _HTML:
        raise NotFetched(_SCOPE)
    if found.cut:
        raise NotFetched(_TOO_LARGE.format(limit=limit))
    for start in range(0, len(found.body), _PIECE):
        yield found.body[start : start + _PIECE]
