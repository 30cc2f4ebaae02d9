"""A press that a webhook brings is answered from the web process, whose threads are gevent's."""

from __future__ import annotations

import subprocess
import sys

from tests.fakes.telegram_server import TOKEN, TelegramServer

_WEB = """
from gevent import monkey
monkey.patch_all()
import sys
import gevent
from habakkuk.channels.contract import Account
from habakkuk.channels.messages import OutboundMessage, Press
from habakkuk.channels.telegram.adapter import TelegramAdapter
from habakkuk.channels.telegram.manifest import TelegramSettings
from habakkuk.core.outside import OutsideHttp

settings = TelegramSettings(token_env="TOKEN", api_url=sys.argv[1])
adapter = TelegramAdapter(Account("mine", {"TOKEN": sys.argv[2]}), settings, OutsideHttp())
beats = 0

def beat():
    global beats
    while True:
        beats += 1
        gevent.sleep(0.001)

gevent.spawn(beat)
pressing = [
    gevent.spawn(adapter.settle, Press(f"q{n}", "42", "42", "x", f"42:{n}"), "Done.")
    for n in range(20)
]
gevent.joinall(pressing, raise_error=True)
print(beats)
"""


def test_others_go_on_while_it_waits_for_telegram(telegram: TelegramServer) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WEB, telegram.url, TOKEN],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(telegram.called("answerCallbackQuery")) == 20
    assert int(done.stdout) > 10
