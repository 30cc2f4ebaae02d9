"""The secrets of an account, as they look when they are what they are meant to be."""

from __future__ import annotations

import re
from collections.abc import Mapping

from habakkuk.channels.contract import Account
from habakkuk.channels.slack.manifest import SlackSettings
from habakkuk.core.errors import ConfigurationError

_BOT_TOKEN = re.compile(r"xox[be][.-][A-Za-z0-9.-]{3,500}")
_APP_TOKEN = re.compile(r"xapp-[A-Za-z0-9-]{3,500}")
_SIGNING_SECRET = re.compile(r"[0-9a-f]{16,128}")
_BOT_ADVICE = (
    "holds no bot token, which begins with xoxb-; the app's page has it under OAuth & Permissions"
)
_APP_ADVICE = (
    "holds no app-level token, which begins with xapp-; make one with the scope connections:write"
    " under Basic Information"
)
_SIGNING_ADVICE = (
    "holds no signing secret, which is 32 digits and letters from a to f; the app's page has it"
    " under Basic Information"
)


def bot_token(account: Account, settings: SlackSettings) -> str:
    """Return the token of the account's own workspace. Raises ConfigurationError."""
    return _read(account, "bot_token_env", settings.bot_token_env, _BOT_TOKEN, _BOT_ADVICE)


def workspace_tokens(account: Account, settings: SlackSettings) -> Mapping[str, str]:
    """Return the tokens of other workspaces by their ids. Raises ConfigurationError."""
    return {
        team: _read(account, f"workspaces.{team}", variable, _BOT_TOKEN, _BOT_ADVICE)
        for team, variable in settings.workspaces.items()
    }


def app_token(account: Account, settings: SlackSettings) -> str | None:
    """Return the token that opens a line. Raises ConfigurationError."""
    variable = settings.app_token_env
    if variable is None:
        return None
    return _read(account, "app_token_env", variable, _APP_TOKEN, _APP_ADVICE)


def signing_secret(account: Account, settings: SlackSettings) -> bytes | None:
    """Return what Slack proves itself by. Raises ConfigurationError."""
    variable = settings.signing_secret_env
    if variable is None:
        return None
    return _read(account, "signing_secret_env", variable, _SIGNING_SECRET, _SIGNING_ADVICE).encode()


def _read(account: Account, setting: str, variable: str, form: re.Pattern[str], advice: str) -> str:
    value = account.secret(variable)
    if form.fullmatch(value) is None:
        raise ConfigurationError(f"channels.{account.name}.{setting}: {variable} {advice}")
    return value
