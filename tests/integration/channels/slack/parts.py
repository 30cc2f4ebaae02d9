"""One app at a fake Slack."""

from __future__ import annotations

from typing import Any

from habakkuk.channels.contract import Account
from habakkuk.channels.slack.adapter import SlackAdapter
from habakkuk.channels.slack.manifest import SlackSettings
from habakkuk.channels.slack.poller import SlackPoller
from habakkuk.core.outside import OutsideHttp
from tests.fakes.listening import Desk, Running
from tests.fakes.slack_server import APP_TOKEN, BOT_TOKEN, SlackServer


def app(slack: SlackServer, **more: Any) -> SlackAdapter:
    """Return the adapter of an account, with other settings and secrets where they are named."""
    secrets = {"BOT": BOT_TOKEN, "APP": APP_TOKEN} | more.pop("secrets", {})
    names = {"bot_token_env": "BOT", "app_token_env": "APP", "api_url": slack.url} | more
    return SlackAdapter(Account("mine", secrets), SlackSettings(**names), OutsideHttp())


def listening(adapter: SlackAdapter, desk: Desk | None = None) -> Running:
    """Let a poller listen."""
    return Running(SlackPoller(adapter), desk or Desk())
