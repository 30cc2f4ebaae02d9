"""Sessions over HTTP: transcripts to read, models to choose."""

from __future__ import annotations

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.tag import Tag

from habakkuk.accounts.types import Scope
from habakkuk.llm.types import blocks_to_json
from web.answers import json_answer
from web.api.bodies import (
    ChoiceBody,
    ChosenBody,
    ErrorBody,
    IdPath,
    ListQuery,
    SessionBody,
    SessionsBody,
    TranscriptBody,
    TranscriptMessage,
)
from web.api.inspected import InspectionBody, InspectQuery
from web.guards import needs
from web.site import container, principal

api = APIBlueprint(
    "sessions",
    __name__,
    url_prefix="/api",
    abp_tags=[Tag(name="sessions")],
    abp_security=[{"token": []}],
    abp_responses={400: ErrorBody, 401: ErrorBody, 404: ErrorBody, 503: ErrorBody},
)


@api.get("/sessions", responses={200: SessionsBody})
@needs(Scope.READ)
def listed(query: ListQuery) -> Response:
    """List the newest sessions that the person may see."""
    found = container().conversations.sessions(principal(), query.limit)
    return json_answer(SessionsBody(sessions=[SessionBody.of(session) for session in found]))


@api.get("/sessions/<id>", responses={200: TranscriptBody})
@needs(Scope.READ)
def show(path: IdPath) -> Response:
    """Return a session with what its model sees."""
    conversations = container().conversations
    session = conversations.session(principal(), path.id)
    messages = [
        TranscriptMessage(
            seq=item.seq,
            turn=item.job_id,
            role=item.message.role,
            blocks=blocks_to_json(item.message.blocks),
        )
        for item in conversations.transcript(principal(), path.id)
    ]
    return json_answer(TranscriptBody(session=SessionBody.of(session), messages=messages))


@api.get("/sessions/<id>/inspect", responses={200: InspectionBody})
@needs(Scope.READ)
def inspect(path: IdPath, query: InspectQuery) -> Response:
    """Return what a turn's last model call was sent, by its parts."""
    found = container().inspections().of(principal(), path.id, query.turn)
    return json_answer(InspectionBody.of(found))


@api.patch("/sessions/<id>", responses={200: ChosenBody})
@needs(Scope.CHAT)
def choose(path: IdPath, body: ChoiceBody) -> Response:
    """Choose the model of a session, and how hard it thinks."""
    chosen = container().choices.change(principal(), path.id, model=body.model, effort=body.effort)
    return json_answer(ChosenBody(session=SessionBody.of(chosen.session), notes=list(chosen.notes)))
