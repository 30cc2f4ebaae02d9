"""The facts of the Discord channel."""

from __future__ import annotations

from typing import Annotated

from habakkuk.channels.contract import AccountSettings, Certainty, Feature, Manifest, Unit
from habakkuk.core.config.values import Url, Variable, written

# What Discord takes of a bot in a server that nobody boosts (its reference, "Uploading Files").
_FILE_BYTES = 10 * 1024 * 1024
_SocketUrl = Annotated[
    str,
    written(r"wss?://[^\s/]\S*", 'write the URL of a websocket, such as "wss://proxy.example.org"'),
]


class DiscordSettings(AccountSettings):
    """`message_content`: the bot reads what does not mention it, for which Discord has a switch.

    `api_url` and `gateway_url` are Discord's own; a proxy of the operator may stand before them.
    """

    token_env: Variable
    message_content: bool = True
    link_previews: bool = False
    api_url: Url = "https://discord.com/api/v10"
    gateway_url: _SocketUrl | None = None

    @property
    def polls(self) -> bool:
        """Whether something has to listen: the bot holds a line to Discord."""
        return True


MANIFEST = Manifest(
    name="discord",
    title="Discord",
    settings=DiscordSettings,
    # Its reference says "characters"; of the readings that has, this is the shortest text.
    limit=2000,
    unit=Unit.UTF16,
    certainty=Certainty.READ_BACK,
    features=frozenset(Feature),
    file_limit=_FILE_BYTES,
)
