"""Approvals over HTTP: what waits for a person, and the answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.tag import Tag
from pydantic import BaseModel, ConfigDict, Field

from habakkuk.accounts.types import Scope
from habakkuk.agent.approval.types import Answer, Approval
from web.answers import json_answer
from web.api.bodies import ErrorBody, IdPath
from web.guards import needs
from web.site import container, note_session, principal

api = APIBlueprint(
    "approvals",
    __name__,
    url_prefix="/api",
    abp_tags=[Tag(name="approvals")],
    abp_security=[{"token": []}],
    abp_responses={400: ErrorBody, 401: ErrorBody, 404: ErrorBody, 409: ErrorBody, 503: ErrorBody},
)


class ApprovalBody(BaseModel):
    """One question: what would run, where, and until when it can be answered."""

    id: str
    turn: str
    session: str
    conversation: str
    agent: str
    tool: str
    input: dict[str, Any]
    folder: str
    why: str
    may_repeat: bool
    created: datetime
    expires_at: datetime | None
    outcome: str | None

    @classmethod
    def of(cls, approval: Approval) -> ApprovalBody:
        """Return the question as it is shown."""
        return cls(
            id=approval.id,
            turn=approval.turn_id,
            session=approval.session_id,
            conversation=approval.conversation_id,
            agent=approval.agent,
            tool=approval.tool,
            input=approval.input,
            folder=approval.folder,
            why=approval.why,
            may_repeat=approval.may_repeat,
            created=approval.created,
            expires_at=approval.expires_at,
            outcome=approval.outcome,
        )


class ApprovalsBody(BaseModel):
    """The open questions, oldest first."""

    approvals: list[ApprovalBody]


class AnswerBody(BaseModel):
    """An answer: once, for the session, or no with a reason that the agent reads."""

    model_config = ConfigDict(extra="forbid")

    answer: Answer
    reason: str = Field(default="", max_length=2000)


@api.get("/approvals", responses={200: ApprovalsBody})
@needs(Scope.READ)
def listed() -> Response:
    """List the open questions that the person may answer."""
    found = container().approvals.open(principal().user)
    return json_answer(ApprovalsBody(approvals=[ApprovalBody.of(item) for item in found]))


@api.post("/approvals/<id>", responses={200: ApprovalBody})
@needs(Scope.APPROVE)
def answer(path: IdPath, body: AnswerBody) -> Response:
    """Answer a question; it counts once."""
    parts = container()
    answered = parts.approvals.answer(principal().user, path.id, body.answer, body.reason)
    note_session(answered.session_id)
    parts.live.hint(answered.session_id)
    return json_answer(ApprovalBody.of(answered))
