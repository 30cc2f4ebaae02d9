"""Fake chat platforms in a process of their own, for drills: one address an account.

`python -m tests.fakes.platform_server --control 9200 --account name:port:mode:mood`, the secret in
PLATFORM_SECRET. GET /shown tells everything, GET /answers/<account>/<message> what was shown in
reply to one message.
"""

from __future__ import annotations

import argparse
import json
import random
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from habakkuk.core.config.environment import read_environment
from tests.fakes.platform import DROP_AFTER, DROP_BEFORE, TAKE, Mode, Plan, Platform, Shown, refuse

SECRET = "PLATFORM_SECRET"
# What may happen to a POST beside being taken, each with its chance.
MOODS: dict[str, list[tuple[float, Plan]]] = {
    "steady": [],
    "refusing": [(0.1, refuse(503, retry_after="1")), (0.05, refuse(429, retry_after="1"))],
    "dropping": [(0.08, DROP_AFTER), (0.04, DROP_BEFORE)],
}


class Moody(Platform):
    """A platform that does what its mood says, from a fixed seed."""

    def __init__(self, secret: str, mode: Mode, mood: str, port: int) -> None:
        super().__init__(secret, mode, port)
        self._mood = MOODS[mood]
        self._rng = random.Random(f"{port} {mood}")
        self.replies: dict[str, list[Shown]] = defaultdict(list)

    def post(self, headers: Any, body: bytes) -> Plan:
        self.plans.append(self._next())
        return super().post(headers, body)

    def _next(self) -> Plan:
        chance = self._rng.random()
        for share, plan in self._mood:
            chance -= share
            if chance < 0:
                return plan
        return TAKE

    def _show(self, arrived: Shown) -> None:
        before = len(self.shown)
        super()._show(arrived)
        if len(self.shown) > before:
            self.replies[str(arrived.body.get("reply_to"))].append(arrived)

    def told(self) -> dict[str, Any]:
        """Return what it saw."""
        shown = [{"key": one.key, **one.body} for one in list(self.shown)]
        return {
            "mode": self.mode,
            "posts": len(self.posts),
            "shown": shown,
            "faults": list(self.faults),
        }


class _Control(BaseHTTPRequestHandler):
    platforms: dict[str, Moody]

    def do_GET(self) -> None:
        parts = self.path.strip("/").split("/")
        if parts[0] == "shown":
            self._answer({name: one.told() for name, one in self.platforms.items()})
        else:
            found = self.platforms[parts[1]].replies.get(parts[2], [])
            self._answer([one.body for one in list(found)])

    def _answer(self, body: Any) -> None:
        raw = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--account", action="append", default=[], metavar="NAME:PORT:MODE:MOOD")
    arguments = parser.parse_args()
    secret = read_environment().process[SECRET]
    platforms = {}
    for account in arguments.account:
        name, port, mode, mood = account.split(":")
        platforms[name] = Moody(secret, cast("Mode", mode), mood, int(port))
        threading.Thread(target=platforms[name].serve, daemon=True).start()
    handler = type("Control", (_Control,), {"platforms": platforms})
    ThreadingHTTPServer(("127.0.0.1", arguments.control), handler).serve_forever()


if __name__ == "__main__":
    main()
