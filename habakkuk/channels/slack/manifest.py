"""The facts of the Slack channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import model_validator

from habakkuk.channels.contract import AccountSettings, Certainty, Feature, Manifest
from habakkuk.core.config.values import Url, Variable, written

_ONE = (
    "an account needs either app_token_env, by which it opens a line to Slack, or"
    " signing_secret_env, by which Slack proves itself when it brings messages"
)


_Team = Annotated[str, written(r"[TE][A-Z0-9]{5,20}", "write a workspace's id, such as T012ABCDEF")]


class SlackSettings(AccountSettings):
    """One of `app_token_env` (Socket Mode) and `signing_secret_env` (HTTP) is needed.

    `workspaces` are others that the app is installed in: their ids, with the variables that hold
    its bot tokens there. `api_url` is Slack's for governments, or a server for tests.
    """

    bot_token_env: Variable
    app_token_env: Variable | None = None
    signing_secret_env: Variable | None = None
    workspaces: Mapping[_Team, Variable] = {}
    api_url: Url = "https://slack.com/api/"
    link_previews: bool = False

    @property
    def polls(self) -> bool:
        """Whether a line to Slack is kept open."""
        return self.app_token_env is not None

    @model_validator(mode="after")
    def _one_way_in(self) -> Self:
        if (self.app_token_env is None) == (self.signing_secret_env is None):
            raise ValueError(_ONE)
        return self


MANIFEST = Manifest(
    name="slack",
    title="Slack",
    settings=SlackSettings,
    # https://docs.slack.dev/reference/block-kit/blocks/markdown-block: all of a message's together.
    limit=12_000,
    certainty=Certainty.READ_BACK,
    features=frozenset({Feature.BUTTONS, Feature.FILES, Feature.REACTIONS, Feature.DRAFTS}),
    # Seed, Outbound files: "capped at 100 MB".
    file_limit=100_000_000,
)
