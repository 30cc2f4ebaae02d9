"""Files that came, fetched from where Discord keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from habakkuk.channels.contract import NotFetched
from habakkuk.channels.discord import refusals, wire
from habakkuk.channels.discord.client import Client, Lost, Refused
from habakkuk.channels.discord.ids import is_id
from habakkuk.channels.messages import RemoteFile
from habakkuk.core.http import HttpFailed, HttpRefused, Limits, Request
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.outside import OutsideHttp

_HOSTS = {"cdn.discordapp.com", "media.discordapp.net"}
_DISCORD = "discord.com"
_SECONDS = 60.0
_PIECE = 256 * 1024
_OK = 200


class Files:
    """Fetches for one bot."""

    def __init__(self, client: Client, http: OutsideHttp, api_url: str) -> None:
        """Take files from Discord's hosts, or from the operator's own where that was named."""
        self._client = client
        self._http = http
        host = urlsplit(api_url).hostname or ""
        self._own = host if host != _DISCORD else None

    def fetch(self, file: RemoteFile, limit: int) -> Iterator[bytes]:
        """Yield a file's bytes. Raises NotFetched."""
        url = self._address(file)
        parts = urlsplit(url)
        own = self._own is not None and parts.hostname == self._own
        if not own and (parts.hostname not in _HOSTS or parts.scheme != "https"):
            raise NotFetched(f"it lies at {parts.hostname}, which is not Discord's")
        try:
            found = self._http.call(
                Request("GET", url), Limits(_SECONDS, limit), Interrupt(), trusted=own
            )
        except HttpRefused as error:
            raise NotFetched(str(error)) from None
        except HttpFailed as error:
            raise NotFetched(str(error), retryable=error.retryable) from None
        if found.status != _OK:
            later = found.status == refusals.TOO_MANY or found.status >= 500  # noqa: PLR2004 - RFC 9110: the server's fault
            raise NotFetched(f"Discord answers HTTP {found.status} for it", retryable=later)
        if found.cut:
            raise NotFetched(f"it has more than {limit:,} bytes")
        for start in range(0, len(found.body), _PIECE):
            yield found.body[start : start + _PIECE]

    def _address(self, file: RemoteFile) -> str:
        channel, message = (str(file.handle.get(name, "")) for name in ("channel", "message"))
        if not is_id(channel) or not is_id(message):
            raise NotFetched("what is known of it is no message of Discord's")
        try:
            answer = self._client.call("GET", f"/channels/{channel}/messages/{message}")
        except (Refused, Lost) as error:
            told = refusals.not_done(error)
            raise NotFetched(
                str(told), retryable=told.retryable, retry_after=told.retry_after
            ) from None
        found = wire.address_of(answer.body, str(file.handle.get("attachment", "")))
        if found is None:
            raise NotFetched("it is not at its message any more")
        return found
