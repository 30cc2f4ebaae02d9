"""Questions of agents over HTTP: what waits for a person's words, and the answer."""

from __future__ import annotations

from datetime import datetime

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.tag import Tag
from pydantic import BaseModel, ConfigDict, Field

from habakkuk.accounts.types import Scope
from habakkuk.agent.clarify.types import Question
from web.answers import json_answer
from web.api.bodies import ErrorBody, IdPath
from web.guards import needs
from web.site import container, note_session, principal

api = APIBlueprint(
    "questions",
    __name__,
    url_prefix="/api",
    abp_tags=[Tag(name="questions")],
    abp_security=[{"token": []}],
    abp_responses={400: ErrorBody, 401: ErrorBody, 404: ErrorBody, 409: ErrorBody, 503: ErrorBody},
)


class AskedBody(BaseModel):
    """One of the questions, with the likely answers that the agent offers."""

    question: str
    choices: list[str]


class QuestionBody(BaseModel):
    """What one call of an agent asks, and until when it can be answered."""

    id: str
    turn: str
    session: str
    conversation: str
    agent: str
    questions: list[AskedBody]
    created: datetime
    expires_at: datetime | None
    outcome: str | None

    @classmethod
    def of(cls, question: Question) -> QuestionBody:
        """Return the question as it is shown."""
        return cls(
            id=question.id,
            turn=question.turn_id,
            session=question.session_id,
            conversation=question.conversation_id,
            agent=question.agent,
            questions=[AskedBody.model_validate(one) for one in question.questions],
            created=question.created,
            expires_at=question.expires_at,
            outcome=question.outcome,
        )


class QuestionsBody(BaseModel):
    """The open questions, oldest first."""

    questions: list[QuestionBody]


class WordsBody(BaseModel):
    """An answer: the text that the agent reads, such as one of the choices."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, max_length=100_000)


@api.get("/questions", responses={200: QuestionsBody})
@needs(Scope.READ)
def listed() -> Response:
    """List the open questions that the person may answer."""
    found = container().questions.open(principal().user)
    return json_answer(QuestionsBody(questions=[QuestionBody.of(item) for item in found]))


@api.post("/questions/<id>", responses={200: QuestionBody})
@needs(Scope.CHAT)
def answer(path: IdPath, body: WordsBody) -> Response:
    """Answer a question; it counts once and stands in the chat as a message of the person."""
    parts = container()
    answered = parts.questions.answer(principal().user, path.id, body.text)
    note_session(answered.session_id)
    parts.live.hint(answered.session_id)
    return json_answer(QuestionBody.of(answered))
