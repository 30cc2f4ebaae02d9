"""Files that came, fetched from where Discord keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from habakkuk.channels import downloads
from habakkuk.channels.contract import Bounds, NotFetched
from habakkuk.channels.discord import refusals, wire
from habakkuk.channels.discord.client import Client, Refused
from habakkuk.channels.discord.ids import is_id
from habakkuk.channels.messages import RemoteFile
from habakkuk.channels.outcomes import Lost
from habakkuk.core.http import Head, Request
from habakkuk.core.outside import OutsideHttp
from habakkuk.core.retry_after import seconds_of

_HOSTS = {"cdn.discordapp.com", "media.discordapp.net"}
_DISCORD = "discord.com"
_OK, _SERVER_FAULT = 200, 500


class Files:
    """Fetches for one bot."""

    def __init__(self, client: Client, http: OutsideHttp, api_url: str) -> None:
        """Take files from Discord's hosts, or from the operator's own where that was named."""
        self._client = client
        self._http = http
        host = urlsplit(api_url).hostname or ""
        self._own = host if host != _DISCORD else None

    def fetch(self, file: RemoteFile, bounds: Bounds) -> Iterator[bytes]:
        """Return a file's pieces. Raises NotFetched."""
        url = self._address(file, bounds)
        parts = urlsplit(url)
        own = self._own is not None and parts.hostname == self._own
        if not own and (parts.hostname not in _HOSTS or parts.scheme != "https"):
            raise NotFetched(f"it lies at {parts.hostname}, which is not Discord's")
        return downloads.pieces(self._http, Request("GET", url), bounds, _expect, trusted=own)

    def _address(self, file: RemoteFile, bounds: Bounds) -> str:
        channel, message = (str(file.handle.get(name, "")) for name in ("channel", "message"))
        if not is_id(channel) or not is_id(message):
            raise NotFetched("what is known of it is no message of Discord's")
        try:
            bounds.left()
            path = f"/channels/{channel}/messages/{message}"
            answer = self._client.call("GET", path, interrupt=bounds.interrupt)
        except (Refused, Lost) as error:
            told = refusals.not_done(error)
            raise NotFetched(
                str(told), retryable=told.retryable, retry_after=told.retry_after
            ) from None
        found = wire.address_of(answer.body, str(file.handle.get("attachment", "")))
        if found is None:
            raise NotFetched("it is not at its message any more")
        return found


def _expect(head: Head) -> None:
    """Raise NotFetched for an answer that is not the file."""
    if head.status != _OK:
        raise NotFetched(
            f"Discord answers HTTP {head.status} for it",
            retryable=head.status == refusals.TOO_MANY or head.status >= _SERVER_FAULT,
            retry_after=seconds_of(head.headers),
        )
