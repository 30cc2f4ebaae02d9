"""Conversations over HTTP: send, follow, read back, stop."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flask import Response, request
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.tag import Tag

from habakkuk.accounts.types import Principal, Scope
from habakkuk.blobs.incoming import IncomingFile, incoming
from habakkuk.conversations.files import Attached
from habakkuk.conversations.store.shelf import Page
from habakkuk.conversations.types import Address, Author, ChatKind, Conversation
from habakkuk.core.errors import Invalid
from habakkuk.core.ids import derive
from habakkuk.gateway.types import Admitted, Inbound
from web.answers import json_answer
from web.apart import apart
from web.api.bodies import (
    ConversationPath,
    ErrorBody,
    EventsQuery,
    FileBody,
    GuidanceBody,
    HistoryBody,
    HistoryQuery,
    ListBody,
    ListedBody,
    ListQuery,
    MessageBody,
    SendBody,
    Sent,
)
from web.api.stream import ChatStream
from web.auth.lasting import until_signed_out
from web.clients import watcher
from web.files import keep
from web.guards import needs, takes_files
from web.site import container, note_session, principal
from web.sse import sse_response

CHANNEL = "web"
_NUMBER = re.compile(r"[0-9]{1,18}")
api = APIBlueprint(
    "chat",
    __name__,
    url_prefix="/api",
    abp_tags=[Tag(name="chat")],
    abp_security=[{"token": []}],
    abp_responses={400: ErrorBody, 401: ErrorBody, 404: ErrorBody, 503: ErrorBody},
)


@api.post("/chat", responses={202: Sent})
@needs(Scope.CHAT)
@takes_files
def send(body: SendBody) -> Response:
    """Send a message; its turn is stored when this returns."""
    return json_answer(_send(principal(), body), 202)


@api.get("/chat", responses={200: ListBody})
@needs(Scope.READ)
def listed(query: ListQuery) -> Response:
    """List the person's conversations, the newest first."""
    own = principal()
    prefix = f"{own.user.id}/"
    found = container().shelf.listed(own, CHANNEL, Page(limit=query.limit))
    rows = [
        ListedBody(
            conversation=row.chat.removeprefix(prefix),
            agent=row.agent,
            session=row.session_id,
            title=row.title,
            last_seq=row.last_seq,
            updated=row.updated,
        )
        for row in found
    ]
    return json_answer(ListBody(conversations=rows))


@api.get("/chat/<conversation>", responses={200: HistoryBody})
@needs(Scope.READ)
def history(path: ConversationPath, query: HistoryQuery) -> Response:
    """Return the newest messages of a conversation, oldest first."""
    found = _find(principal(), path.conversation)
    rows = container().conversations.history(found.id, query.before, query.limit)
    return json_answer(
        HistoryBody(
            conversation=path.conversation,
            session=found.session_id,
            messages=[MessageBody.of(row) for row in rows],
        )
    )


@api.get("/chat/<conversation>/events")
@needs(Scope.READ)
def events(path: ConversationPath, query: EventsQuery) -> Response:
    """Follow a conversation: every message after `after` once and in order, and live text."""
    after = query.after if query.after is not None else _last_event_id()
    own = principal()
    address = address_of(own, path.conversation)
    parts = container()
    gone = until_signed_out(watcher(), parts.clock)
    stream = ChatStream(parts, own, address, after or 0, gone)
    return sse_response(stream.parts())


@api.post("/chat/<conversation>/stop", responses={202: Sent})
@needs(Scope.CHAT)
def stop(path: ConversationPath) -> Response:
    """Stop the turn that runs or is next, as /stop does."""
    return _commanded(path.conversation, "/stop")


@api.post("/chat/<conversation>/pause", responses={202: Sent})
@needs(Scope.CHAT)
def pause(path: ConversationPath) -> Response:
    """Let the running turn finish its step, then wait until it is resumed, as /pause does."""
    return _commanded(path.conversation, "/pause")


@api.post("/chat/<conversation>/resume", responses={202: Sent})
@needs(Scope.CHAT)
def resume(path: ConversationPath) -> Response:
    """Let what was paused go on, as /resume does."""
    return _commanded(path.conversation, "/resume")


@api.post("/chat/<conversation>/steer", responses={202: Sent})
@needs(Scope.CHAT)
def steer(path: ConversationPath, body: GuidanceBody) -> Response:
    """Guide the running turn, as /steer does; with none it is an ordinary message."""
    return _commanded(path.conversation, f"/steer {body.text}", body.id)


def _commanded(conversation: str, text: str, once: str | None = None) -> Response:
    """Send a command to a conversation that is there."""
    _find(principal(), conversation)
    body = SendBody(conversation=conversation, text=text, id=once)
    return json_answer(_send(principal(), body), 202)


def address_of(own: Principal, conversation: str) -> Address:
    """Return where a person's conversation is: names are each person's own."""
    return Address(CHANNEL, CHANNEL, f"{own.user.id}/{conversation}")


def _find(own: Principal, conversation: str) -> Conversation:
    return container().conversations.find(own, address_of(own, conversation))


def _send(own: Principal, body: SendBody) -> Sent:
    remote_id = None
    if body.id is not None:
        remote_id = derive("web", own.user.id, body.conversation, body.id)
    files = apart(_read, body.files) if body.files else []
    inbound = Inbound(
        address_of(own, body.conversation),
        own.user,
        body.text,
        origin=CHANNEL,
        remote_id=remote_id,
        agent=body.agent,
        attended=True,
        approves=own.may(Scope.APPROVE),
        files=tuple(Attached(one.blob, one.mime, one.name, len(one.data)) for one in files),
        unplaced=bool(files),
    )
    parts = container()
    if files:
        parts.gateway.check(inbound)
        keep(files)
    admitted = parts.gateway.admit(inbound)
    session = admitted.session_id or _find(own, body.conversation).session_id
    note_session(session)
    parts.live.hint(session)
    return Sent(
        conversation=body.conversation,
        turn=admitted.turn_id,
        session=session,
        seq=admitted.seq,
        duplicate=admitted.duplicate,
        reply=admitted.reply or _earlier_reply(admitted),
    )


def _read(files: Sequence[FileBody]) -> list[IncomingFile]:
    return [_one(file, number) for number, file in enumerate(files)]


def _one(file: FileBody, number: int) -> IncomingFile:
    try:
        return incoming(file.data, file.name)
    except Invalid as error:
        raise Invalid(f"files.{number} cannot be read: {error}") from error


def _earlier_reply(admitted: Admitted) -> str | None:
    """Return what a command answered when it came before: the row after it."""
    if not admitted.duplicate or admitted.turn_id is not None:
        return None
    rows = container().conversations.after(admitted.conversation_id, admitted.seq, limit=1)
    answers = [r.body for r in rows if r.author is Author.SYSTEM and r.kind is ChatKind.COMMAND]
    return answers[0] if answers else None


def _last_event_id() -> int | None:
    given = request.headers.get("Last-Event-ID", "").strip()
    if not given:
        return None
    if not _NUMBER.fullmatch(given):
        raise Invalid("Last-Event-ID must be the number of the last message that was seen")
    return int(given)
