"""Which addresses are Slack's."""

from __future__ import annotations

import pytest

from habakkuk.channels.slack.client import Client
from habakkuk.core.outside import OutsideHttp

_TOKEN = "xoxb-1"
_SLACK, _TEST = "https://slack.com/api/", "http://127.0.0.1:9000/api/"


@pytest.mark.parametrize(
    ("api", "address", "slacks"),
    [
        # As https://docs.slack.dev/reference/methods/apps.connections.open shows it.
        (_SLACK, "wss://wss-somethiing.slack.com/link/?ticket=12348&app_id=5678", True),
        (_SLACK, "wss://wss-primary.slack-gov.com/link/?ticket=1", True),
        (_SLACK, "ws://wss-primary.slack.com/link/?ticket=1", False),
        (_SLACK, "wss://evilslack.com/link/?ticket=1", False),
        (_SLACK, "wss://slack.com.evil.example/link/?ticket=1", False),
        (_SLACK, "ws://slack.com/link/?ticket=1", False),
        (_TEST, "ws://127.0.0.1:7000/link/?ticket=1", True),
        (_TEST, "ws://127.0.0.2:7000/link/?ticket=1", False),
        ("https://slack.example/api/", "wss://slack.example:7000/link/", True),
        ("https://slack.example/api/", "ws://slack.example/link/", False),
    ],
)
def test_lines_lead_to_slack_or_to_the_server_of_the_account(
    api: str, address: str, slacks: bool
) -> None:
    assert Client(_TOKEN, api, OutsideHttp()).is_slacks_line(address) is slacks
