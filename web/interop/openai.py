"""The OpenAI-compatible API: each request is an ordinary turn, which goes on without its client."""

from __future__ import annotations

import re

from flask import Response, request
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.tag import Tag
from pydantic import BaseModel

from habakkuk.accounts.types import Scope
from habakkuk.conversations.types import Address, Outcome
from habakkuk.core.errors import Conflict, Invalid, NotFound
from habakkuk.core.ids import derive, random_id
from habakkuk.gateway.types import Inbound
from habakkuk.interop.openai_chat import (
    MODEL_PREFIX,
    Ask,
    CompletionError,
    CompletionRequest,
    Frame,
    agent_of,
    completion,
    has_files,
    models,
    read,
)
from web.answers import json_answer
from web.apart import apart
from web.clients import watcher
from web.errors import failure
from web.files import keep
from web.guards import needs, takes_files
from web.headers import SESSION_HEADER
from web.interop.openai_stream import CompletionStream, finish_reason
from web.site import container, note_session, principal
from web.sse import sse_response
from web.waiting import wait_for_end

CHANNEL = "openai"
_SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_MAX_KEY = 255
# The date of the API's first form; the list has to say one.
_MODELS_CREATED = 1_764_460_800
api = APIBlueprint(
    "openai",
    __name__,
    url_prefix="/v1",
    abp_tags=[Tag(name="OpenAI-compatible")],
    abp_security=[{"token": []}],
    abp_responses=dict.fromkeys((400, 401, 404, 409, 502, 503), CompletionError),
)


class ModelPath(BaseModel):
    """The model in an address."""

    model: str


@api.get("/models")
@needs(Scope.READ)
def list_models() -> Response:
    """List one model for each agent."""
    return json_answer(models(container().settings.config.agents, _MODELS_CREATED))


@api.get("/models/<path:model>")
@needs(Scope.READ)
def show_model(path: ModelPath) -> Response:
    """Return one model."""
    listed = models(container().settings.config.agents, _MODELS_CREATED)["data"]
    for found in listed:
        if found["id"] == path.model:
            return json_answer(found)
    raise NotFound("there is no such model; GET /v1/models lists them")


@api.post("/chat/completions")
@needs(Scope.CHAT)
@takes_files
def create_completion(body: CompletionRequest) -> Response:
    """Answer the last message, whole or as it is written."""
    frame = _start(body, apart(read, body) if has_files(body) else read(body))
    if not body.stream:
        return _whole(frame)
    options = body.stream_options
    wants_usage = options is not None and bool(options.include_usage)
    stream = CompletionStream(container(), principal(), frame, watcher(), usage=wants_usage)
    return sse_response(stream.parts())


def _start(body: CompletionRequest, ask: Ask) -> Frame:
    """Admit the request's message, or find the turn of the same request before."""
    parts = container()
    inbound = _inbound(body, ask)
    # A session that is there has the files of its earlier messages.
    files = (*ask.given, *(() if inbound.session_id else ask.earlier))
    if files:
        parts.gateway.check(inbound)
        keep(files)
    admitted = parts.gateway.admit(inbound)
    note_session(admitted.session_id)
    parts.live.hint(admitted.session_id)
    turn_id, agent, at = admitted.turn_id or "", admitted.agent, admitted.at
    earlier = agent is None or at is None
    if agent is None or at is None:
        turn = parts.conversations.turn(principal(), turn_id)
        if turn.reply_to.get("request") != ask.fingerprint(body.model):
            raise Conflict("this Idempotency-Key came with another request before; use a new one")
        agent, at = turn.agent, turn.created
    model, created = MODEL_PREFIX + agent, int(at.timestamp())
    return Frame(turn_id, admitted.session_id, model, created, earlier)


def _inbound(body: CompletionRequest, ask: Ask) -> Inbound:
    own = principal()
    key = _idempotency_key()
    remote_id = derive("idem", own.user.id, key) if key else None
    reply_to = {"request": ask.fingerprint(body.model)} if key else {}
    session = request.headers.get(SESSION_HEADER, "").strip()
    if session:
        if not _SESSION_ID.fullmatch(session):
            raise NotFound("there is no such session")
        address = container().conversations.of_session(own, session).address
        return Inbound(
            address,
            own.user,
            ask.text,
            CHANNEL,
            remote_id,
            session_id=session,
            commands=False,
            reply_to=reply_to,
            files=ask.files,
        )
    config = container().settings.config
    chat = derive("chat", own.user.id, key) if key else random_id("chat")
    return Inbound(
        Address(CHANNEL, CHANNEL, chat),
        own.user,
        ask.text,
        CHANNEL,
        remote_id,
        agent=agent_of(body.model, config.agents, config.main_agent),
        commands=False,
        files=ask.files,
        seed=ask.seed,
        reply_to=reply_to,
        fresh=not key,
    )


def _idempotency_key() -> str:
    key = request.headers.get("Idempotency-Key", "").strip()
    if len(key) > _MAX_KEY:
        raise Invalid(
            f"the Idempotency-Key is too long; at most {_MAX_KEY} characters are accepted"
        )
    return key


def _whole(frame: Frame) -> Response:
    parts = container()
    turn, reply = wait_for_end(parts, principal(), frame.turn, watcher())
    text = reply.body if reply is not None else ""
    if turn.outcome is Outcome.FAILED:
        return failure(502, "turn_failed", text)
    usage = parts.conversations.usage(turn)
    answer = completion(frame, text, finish_reason(turn, reply), usage)
    answer["habakkuk"]["outcome"] = turn.outcome
    if reply is not None and reply.data.get("notice"):
        answer["habakkuk"]["notice"] = reply.data["notice"]
    return json_answer(answer)
