"""Turns over HTTP: how far one is, and its answer."""

from __future__ import annotations

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.tag import Tag

from habakkuk.accounts.types import Scope
from habakkuk.conversations.types import Turn
from habakkuk.gateway.types import Inbound
from habakkuk.jobs.types import JobState
from web.answers import json_answer
from web.api.bodies import ErrorBody, IdPath, TurnBody, WaitQuery
from web.api.chat import CHANNEL
from web.api.shown import DoneBody
from web.clients import watcher
from web.guards import needs
from web.site import container, note_session, principal
from web.waiting import wait_for_end

api = APIBlueprint(
    "turns",
    __name__,
    url_prefix="/api",
    abp_tags=[Tag(name="turns")],
    abp_security=[{"token": []}],
    abp_responses={400: ErrorBody, 401: ErrorBody, 404: ErrorBody, 503: ErrorBody},
)


@api.get("/turns/<id>", responses={200: TurnBody})
@needs(Scope.READ)
def show(path: IdPath, query: WaitQuery) -> Response:
    """Return a turn, at its end or after `wait` seconds."""
    parts = container()
    turn, reply = parts.conversations.turn_with_reply(principal(), path.id)
    if turn.ended is None and query.wait:
        turn, reply = wait_for_end(parts, principal(), path.id, watcher(), query.wait)
    note_session(turn.session_id)
    return json_answer(TurnBody.of(turn, _state(turn), reply))


@api.post("/turns/<id>/resume", responses={202: DoneBody})
@needs(Scope.CHAT)
def resume(path: IdPath) -> Response:
    """Let a paused turn go on wherever it was asked for, as /resume does there."""
    parts, own = container(), principal()
    turn = parts.conversations.turn(own, path.id)
    inbound = Inbound(
        parts.conversations.address(turn),
        own.user,
        "/resume",
        origin=CHANNEL,
        session_id=turn.session_id,
    )
    admitted = parts.gateway.admit(inbound)
    note_session(turn.session_id)
    parts.live.hint(turn.session_id)
    return json_answer(DoneBody(done=admitted.reply or ""), 202)


def _state(turn: Turn) -> str:
    if turn.ended is not None:
        return "ended"
    job = container().jobs.get(turn.id)
    if job is not None and job.state is JobState.WAITING:
        return "waiting"
    return "running" if turn.began is not None else "queued"
