"""A press that a webhook brings is settled from the web process, whose threads are gevent's."""

from __future__ import annotations

import subprocess
import sys
import threading

from habakkuk.channels.messages import Button, OutboundMessage
from tests.fakes.slack_server import BOT_TOKEN, SlackServer
from tests.integration.channels.slack.parts import app

_WEB = """
from gevent import monkey
monkey.patch_all()
import sys
import gevent
from habakkuk.channels.contract import Account
from habakkuk.channels.messages import Press
from habakkuk.channels.slack.adapter import SlackAdapter
from habakkuk.channels.slack.manifest import SlackSettings
from habakkuk.core.outside import OutsideHttp

settings = SlackSettings(bot_token_env="B", signing_secret_env="S", api_url=sys.argv[1])
account = Account("mine", {"B": sys.argv[2], "S": "0" * 32})
adapter = SlackAdapter(account, settings, OutsideHttp())
pressing = [
    gevent.spawn(adapter.settle, Press("p", "D1", "U42", "x", f"T1:D1:{ts}"), "Done.")
    for ts in sys.argv[3:]
]
gevent.joinall(pressing, raise_error=True)
"""


def test_others_go_on_while_one_waits_for_slack(slack: SlackServer) -> None:
    """Slack answers none of the ten before all of them have asked."""
    asked = OutboundMessage("k", "D1", "", "May I?", "approval", buttons=(Button("Yes", "hb|n|0"),))
    for _ in range(10):
        app(slack).send(asked)
    slack.gathers["conversations.history"] = threading.Barrier(10)
    done = subprocess.run(
        [sys.executable, "-c", _WEB, slack.url, BOT_TOKEN, *(one.ts for one in slack.shown)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [one.text for one in slack.shown] == ["May I?\nDone."] * 10
