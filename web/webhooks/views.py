"""POST /channels/<account>: what chat platforms send, of every channel.

The account's adapter proves the sender, so there is no token; every proof that fails is counted
before it is checked. Answered is only what is committed: anything else is sent again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from flask import Blueprint, Flask, Response, request
from pydantic import BaseModel

from habakkuk.bootstrap import Container
from habakkuk.channels.contract import WebhookRejected, WebhookUnreadable
from habakkuk.channels.messages import RawRequest, Reply
from habakkuk.core.errors import Forbidden, HabakkukError, Invalid
from habakkuk.gateway.intake import Fate, Intake, Received
from web.answers import json_answer
from web.bodies import StrictRequest, read_bytes
from web.errors import Refused
from web.guards import open_to_all, takes_bytes
from web.throttle import Throttle

# Seed, Webhooks: at most 1 MB.
_MAX_BODY = 1_000_000
_STRANGER = "the sender may not write here; the operator allows ids in config.yaml, allow_from"


class MessageBody(BaseModel):
    """What became of one message; `turn` is null for a command, whose answer is `reply`."""

    id: str
    status: Fate
    conversation: str | None
    turn: str | None
    reply: str | None


class ReceivedBody(BaseModel):
    """The messages of a request, in its order."""

    messages: list[MessageBody]


def add_webhooks(app: Flask, container: Container) -> None:
    """Add the route to `app`."""
    intake = container.intake
    throttle = Throttle(container.clock, container.redis, "wrong signatures")
    page = Blueprint("webhooks", __name__)

    @page.post("/channels/<account>")
    @open_to_all
    @takes_bytes
    def receive(account: str) -> Response:
        """Take what a platform sends to one account."""
        # So that who writes is remembered from one message to the next.
        container.done.begin()
        body = read_bytes(cast("StrictRequest", request), _MAX_BODY)
        headers = {name.lower(): value for name, value in request.headers.items()}
        raw = RawRequest(request.method, headers, body)
        received, reply = _received(intake, throttle, account, raw)
        if reply is not None:
            return Response(reply.body, content_type=reply.content_type)
        return _answer(received)

    app.register_blueprint(page)


def _received(
    intake: Intake, throttle: Throttle, account: str, raw: RawRequest
) -> tuple[Sequence[Received], Reply | None]:
    source = request.remote_addr or ""
    attempt = throttle.attempt(source, f"{account} {source}")
    try:
        received = intake.receive(account, raw)
    except WebhookRejected as error:
        throttle.failed(attempt)
        raise Refused(401, str(error)) from error
    except WebhookUnreadable as error:
        throttle.succeeded(attempt)
        raise Invalid(str(error)) from error
    except HabakkukError:
        throttle.take_back(attempt)
        raise
    throttle.succeeded(attempt)
    return received


def _answer(received: Sequence[Received]) -> Response:
    if received and all(one.fate is Fate.REFUSED for one in received):
        raise Forbidden(_STRANGER)
    messages = [
        MessageBody(
            id=one.id,
            status=one.fate,
            conversation=one.conversation_id,
            turn=one.turn_id,
            reply=one.reply,
        )
        for one in received
    ]
    return json_answer(ReceivedBody(messages=messages), 202)
