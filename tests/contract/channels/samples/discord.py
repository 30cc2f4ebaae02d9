"""Discord's REST API; messages come over its gateway, which brings nothing by webhooks."""

from __future__ import annotations

from habakkuk.channels.messages import RawRequest
from tests.contract.channels.samples.sample import Sample
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.platform import DROP_AFTER, DROP_BEFORE, Plan, refuse

SAMPLE = Sample(
    settings=lambda url: {"token_env": "TOKEN", "api_url": url},
    secrets={"TOKEN": TOKEN},
    request=lambda _id, body: RawRequest("POST", {}, body),
    message=lambda _chat, _sender, said: said.encode(),
    platform=DiscordServer,
    names=("31", "42", "42"),
    # One that stands alone would make what is between it and the next one slanted.
    shows=lambda markdown: markdown.replace(" _", r" \_"),
    signs=False,
    webhook=False,
    busy=[refuse(code, retry_after="7") for code in (408, 425, 429)],
    # Discord may fail after it has stored a message, too.
    lost=[DROP_AFTER, DROP_BEFORE, *(Plan(answer=code) for code in (500, 502, 503, 504))],
)
