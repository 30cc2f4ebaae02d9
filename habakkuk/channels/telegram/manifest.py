"""The facts of the Telegram channel."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import model_validator

from habakkuk.channels.contract import AccountSettings, Feature, Manifest, Unit
from habakkuk.core.config.values import Url, Variable, written

_BotName = Annotated[
    str,
    written(
        r"[A-Za-z0-9_]{5,32}",
        'write the username that BotFather gave the bot, without @, such as "my_helper_bot"',
    ),
]


class TelegramSettings(AccountSettings):
    """`webhook_secret_env`: Telegram brings what is written; without it, it is fetched.

    `username` is then needed, since a group names the bot by it. `api_url` is that of an own Bot
    API server.
    """

    token_env: Variable
    webhook_secret_env: Variable | None = None
    username: _BotName | None = None
    api_url: Url = "https://api.telegram.org"
    link_previews: bool = False

    @property
    def polls(self) -> bool:
        """Whether nothing is set up by which Telegram could prove itself."""
        return self.webhook_secret_env is None

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.webhook_secret_env is not None and self.username is None:
            raise ValueError(
                "an account with webhook_secret_env needs username, by which groups name the bot"
            )
        return self


MANIFEST = Manifest(
    name="telegram",
    title="Telegram",
    settings=TelegramSettings,
    limit=4096,
    unit=Unit.UTF16,
    features=frozenset(Feature),
    file_limit=50_000_000,
)
