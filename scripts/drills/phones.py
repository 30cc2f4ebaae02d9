"""Clients of the webhook channel: they send signed messages, often again and in another order."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from standardwebhooks.webhooks import Webhook

from scripts.drills.asks import Ask
from scripts.drills.clients import Patience
from scripts.harness.http import Answer, Api, Cut

_ACCEPTED = 202
_PAUSE_SECONDS = 0.1
_MOST_COPIES = 3
_MOST_AT_ONCE = 3


class Phones:
    """The door of the channel and the platforms' control, as clients use them."""

    def __init__(self, api: Api, platforms: Api, secret: str) -> None:
        """Sign with the accounts' secret."""
        self._api = Api(api.port, "")
        self._platforms = platforms
        self._webhook = Webhook(secret)

    def carry_out(self, asks: Sequence[Ask], rng: random.Random, patience: Patience) -> None:
        """Send all of them, some several times, mixed; then wait until each answer is shown."""
        copies = [ask for ask in asks for _ in range(rng.randint(1, _MOST_COPIES))]
        rng.shuffle(copies)
        go_on = patience.begin()
        for ask in copies:
            self._insist(ask, go_on)
        for ask in asks:
            self._await_answer(ask, go_on)

    @staticmethod
    def how_many(rng: random.Random) -> int:
        """Return how many messages a client sends at once."""
        return rng.randint(1, _MOST_AT_ONCE)

    def _insist(self, ask: Ask, go_on: Callable[[], bool]) -> None:
        while go_on() and not self._sent(ask):
            time.sleep(_PAUSE_SECONDS)

    def _sent(self, ask: Ask) -> bool:
        ask.tries += 1
        body = {"chat": ask.conversation, "sender": {"id": "drill"}, "text": ask.text}
        try:
            answer = self._post(ask, json.dumps(body))
        except Cut as cut:
            ask.problem = f"cut: {cut}"
            return False
        if answer.status != _ACCEPTED:
            ask.problem = f"HTTP {answer.status}: {answer.body}"
            return False
        (told,) = answer.body["messages"]
        if ask.turn not in (None, told["turn"]):
            ask.faults.append(f"a repeat began the turn {told['turn']} beside {ask.turn}")
        if ask.accepted is None:
            ask.accepted = answer.seconds
            ask.turn = told["turn"]
        return True

    def _post(self, ask: Ask, body: str) -> Answer:
        now = datetime.now(UTC)
        headers = {
            "webhook-id": ask.id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self._webhook.sign(ask.id, now, body),
        }
        return self._api.post_bytes(f"/channels/{ask.account}", body.encode(), headers)

    def _await_answer(self, ask: Ask, go_on: Callable[[], bool]) -> None:
        while go_on():
            text = self._shown(ask)
            if text is not None:
                ask.answers.append(text)
                ask.problem = ""
                return
            time.sleep(_PAUSE_SECONDS)
        ask.problem = ask.problem or "no answer at the platform within the client's patience"

    def _shown(self, ask: Ask) -> str | None:
        """Return the whole answer when all of its parts are shown."""
        try:
            found = self._platforms.get(f"/answers/{ask.account}/{ask.id}").body
        except Cut:
            return None
        # Questions, and notices that belong to no turn, are no answers.
        told = [one for one in found if one["kind"] != "approval" and one["turn"] is not None]
        parts = {one["part"]: one for one in told}
        if not parts or len(parts) < next(iter(parts.values()))["parts"]:
            return None
        return " ".join(str(parts[number]["text"]) for number in sorted(parts))
