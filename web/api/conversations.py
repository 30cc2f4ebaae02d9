"""The person's conversations: list, search, open, name, put away, remove, export; the queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO
from urllib.parse import quote

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.tag import Tag

from habakkuk.accounts.types import Principal, Scope
from habakkuk.conversations.choices import answering
from habakkuk.conversations.store.shelf import Page, Shelved
from habakkuk.conversations.types import ChatMessage, ChatState, Conversation
from web.answers import json_answer
from web.api.bodies import (
    ConversationPath,
    ErrorBody,
    HistoryQuery,
    IdPath,
    MessageBody,
    Sent,
)
from web.api.chat import CHANNEL, address_of
from web.api.shown import (
    CallQuery,
    ChoiceShownBody,
    DoneBody,
    FilePath,
    MessagePath,
    NameBody,
    OpenBody,
    PageBody,
    ShelfBody,
    ShelfQuery,
    ShelvedBody,
    ShownTurnBody,
    TextBody,
    WholeCallBody,
)
from web.guards import needs
from web.site import container, note_session, principal

_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})
_PIECE = 262_144
api = APIBlueprint(
    "conversations",
    __name__,
    url_prefix="/api",
    abp_tags=[Tag(name="conversations")],
    abp_security=[{"token": []}],
    abp_responses={
        400: ErrorBody,
        401: ErrorBody,
        404: ErrorBody,
        409: ErrorBody,
        503: ErrorBody,
    },
)


@api.get("/conversations", responses={200: ShelfBody})
@needs(Scope.READ)
def listed(query: ShelfQuery) -> Response:
    """List the person's conversations, or those that hold the words `q`."""
    return json_answer(shelf(principal(), query))


@api.get("/conversations/<conversation>", responses={200: PageBody})
@needs(Scope.READ)
def show(path: ConversationPath, query: HistoryQuery) -> Response:
    """Return a conversation with its newest messages and what their turns did."""
    return json_answer(page(principal(), path.conversation, query))


@api.patch("/conversations/<conversation>", responses={200: ShelvedBody})
@needs(Scope.CHAT)
def change(path: ConversationPath, body: NameBody) -> Response:
    """Give a conversation a title, put it away or take it back."""
    own, shelves = principal(), container().shelf
    address = address_of(own, path.conversation)
    if body.title is not None:
        shelves.name(own, address, body.title)
    if body.archived is not None:
        shelves.archive(own, address, archived=body.archived)
    return json_answer(ShelvedBody.of(shelves.one(own, address), path.conversation))


@api.delete("/conversations/<conversation>", responses={200: DoneBody})
@needs(Scope.CHAT)
def remove(path: ConversationPath) -> Response:
    """Remove a conversation for good; refused while something of it is being answered."""
    own = principal()
    container().shelf.remove(own, address_of(own, path.conversation))
    return json_answer(DoneBody(done="removed"))


@api.get("/conversations/<conversation>/open", responses={200: OpenBody})
@needs(Scope.READ)
def still_open(path: ConversationPath) -> Response:
    """Return what is still to be answered."""
    own, conversations = principal(), container().conversations
    found = conversations.find(own, address_of(own, path.conversation))
    untaken = conversations.untaken(found.id)
    return json_answer(
        OpenBody(
            open=[ShownTurnBody.of(turn) for turn in conversations.shown_open_turns(found)],
            queued=[MessageBody.of(row) for row in untaken if row.state is ChatState.QUEUED],
            withdrawn=[row.seq for row in untaken if row.state is ChatState.WITHDRAWN],
        )
    )


@api.get("/conversations/<conversation>/export")
@needs(Scope.READ)
def export(path: ConversationPath) -> Response:
    """Return the conversation as a Markdown file."""
    own = principal()
    address = address_of(own, path.conversation)
    row = container().shelf.one(own, address)
    pieces = container().shelf.export(own, address)
    name = quote(f"{row.title or path.conversation}.md", safe="")
    return Response(
        _encoded(pieces),
        content_type="text/markdown; charset=utf-8",
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{name}"},
    )


@api.patch("/conversations/<conversation>/messages/<id>", responses={200: DoneBody})
@needs(Scope.CHAT)
def edit(path: MessagePath, body: TextBody) -> Response:
    """Replace the text of a message that nobody has begun to answer."""
    own = principal()
    container().amendments.edit(own, address_of(own, path.conversation), path.id, body.text)
    return json_answer(DoneBody(done="edited"))


@api.delete("/conversations/<conversation>/messages/<id>", responses={200: DoneBody})
@needs(Scope.CHAT)
def withdraw(path: MessagePath) -> Response:
    """Take back a message that nobody has begun to answer."""
    own = principal()
    container().amendments.withdraw(own, address_of(own, path.conversation), path.id)
    return json_answer(DoneBody(done="withdrawn"))


@api.get("/conversations/<conversation>/messages/<id>/files/<number>")
@needs(Scope.READ)
def file(path: FilePath) -> Response:
    """Return a file of a message; what a browser may not show is to be saved."""
    own, parts = principal(), container()
    found = parts.conversations.find(own, address_of(own, path.conversation))
    attached = parts.conversations.file(found.id, path.id, path.number)
    shown = attached.mime in _SHOWN
    name = quote(attached.name or "file", safe="")
    place = "inline" if shown else "attachment"
    opened = parts.blobs.open(attached.blob)
    answer = Response(
        _pieces(opened),
        content_type=attached.mime if shown else "application/octet-stream",
        headers={
            "Content-Disposition": f"{place}; filename*=UTF-8''{name}",
            "Cache-Control": "private, max-age=86400, immutable",
            "Content-Length": str(attached.size),
        },
    )
    answer.call_on_close(opened.close)
    return answer


def _pieces(opened: BinaryIO) -> Iterator[bytes]:
    """Yield a file while it is taken: a slow reader may not hold all of it in memory."""
    while piece := opened.read(_PIECE):
        yield piece


@api.post("/conversations/<conversation>/retry", responses={202: Sent})
@needs(Scope.CHAT)
def retry(path: ConversationPath) -> Response:
    """Ask the person's last message again, as a new turn."""
    own, parts = principal(), container()
    admitted = parts.amendments.retry(own, address_of(own, path.conversation))
    note_session(admitted.session_id)
    parts.live.hint(admitted.session_id)
    sent = Sent(
        conversation=path.conversation,
        turn=admitted.turn_id,
        session=admitted.session_id,
        seq=admitted.seq,
        duplicate=admitted.duplicate,
        reply=None,
    )
    return json_answer(sent, 202)


@api.get("/turns/<id>/steps", responses={200: ShownTurnBody})
@needs(Scope.READ)
def steps(path: IdPath) -> Response:
    """Return what a turn did before its answer."""
    conversations = container().conversations
    turn = conversations.turn(principal(), path.id)
    found = conversations.shown_turns(turn.conversation_id, [turn.id])
    return json_answer(ShownTurnBody.of(found[0]))


@api.get("/turns/<id>/call", responses={200: WholeCallBody})
@needs(Scope.READ)
def call(path: IdPath, query: CallQuery) -> Response:
    """Return one tool call of a turn, uncut."""
    given, result = container().conversations.whole_call(principal(), path.id, query.call)
    return json_answer(WholeCallBody(input=given, result=result))


def shelf(own: Principal, query: ShelfQuery) -> ShelfBody:
    """Return a page of the person's list, or what a search finds."""
    shelves = container().shelf
    if query.q.strip():
        found = shelves.search(own, CHANNEL, query.q, query.limit)
        return ShelfBody(conversations=[_shelved(own, row) for row in found], total=0)
    part = Page(query.archived, query.limit, query.before)
    rows = shelves.listed(own, CHANNEL, part)
    total = shelves.count(own, CHANNEL, archived=query.archived)
    return ShelfBody(conversations=[_shelved(own, row) for row in rows], total=total)


def page(own: Principal, conversation: str, query: HistoryQuery) -> PageBody:
    """Return a conversation as its page shows it. Raises NotFound."""
    conversations = container().conversations
    address = address_of(own, conversation)
    found = conversations.find(own, address)
    rows = conversations.history(found.id, query.before, query.limit)
    turns = conversations.shown_turns(found.id, _turn_ids(rows))
    return PageBody(
        conversation=_shelved(own, container().shelf.one(own, address)),
        session=found.session_id,
        choice=_choice(own, found),
        messages=[MessageBody.of(row) for row in rows],
        earlier=bool(rows) and rows[0].seq > 1,
        turns=[ShownTurnBody.of(turn) for turn in turns],
        open=[ShownTurnBody.of(turn) for turn in conversations.shown_open_turns(found)],
    )


def _choice(own: Principal, found: Conversation) -> ChoiceShownBody:
    session = container().conversations.session(own, found.session_id)
    first = answering(container().selection, found.agent, None)
    return ChoiceShownBody(
        own=str(first) if first else None, model=session.model, effort=session.effort
    )


def _turn_ids(rows: Sequence[ChatMessage]) -> list[str]:
    return list(dict.fromkeys(row.turn_id for row in rows if row.turn_id is not None))


def _shelved(own: Principal, row: Shelved) -> ShelvedBody:
    return ShelvedBody.of(row, row.chat.removeprefix(f"{own.user.id}/"))


def _encoded(pieces: Iterator[str]) -> Iterator[bytes]:
    for piece in pieces:
        yield piece.encode()
