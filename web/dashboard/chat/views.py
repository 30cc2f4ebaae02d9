"""The chat: the list, one conversation, or the room for a new one."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, make_response, render_template, request
from pydantic import ValidationError

from habakkuk.accounts.types import Role, Scope
from habakkuk.core.errors import NotFound
from web.api.bodies import ConversationPath, HistoryQuery
from web.api.conversations import page as opened
from web.api.conversations import shelf
from web.api.shown import PageBody, ShelfQuery
from web.guards import needs
from web.site import container, principal

_FIRST = 50
page = Blueprint("chat_page", __name__, template_folder="templates")


@page.get("/")
@needs(Scope.READ)
def new() -> Response:
    """Show the list and the room for a new conversation."""
    return _page(None, None)


@page.get("/c/<conversation>")
@needs(Scope.READ)
def one(conversation: str) -> Response:
    """Show one conversation; one that is not there yet begins with its first message."""
    try:
        name = ConversationPath(conversation=conversation).conversation
    except ValidationError as error:
        raise NotFound("there is no such conversation") from error
    try:
        return _page(name, opened(principal(), name, HistoryQuery(limit=_FIRST)))
    except NotFound:
        return _page(name, None)


def _page(name: str | None, shown: PageBody | None) -> Response:
    query = ShelfQuery(q=request.args.get("q", "")[:200], archived="archived" in request.args)
    listed = shelf(principal(), query)
    data: dict[str, Any] = {
        "list": listed.model_dump(mode="json"),
        "page": shown.model_dump(mode="json") if shown else None,
        "agents": list(container().settings.config.agents),
        "most": container().settings.config.http.max_body_bytes,
        "writes": principal().user.role is not Role.VIEWER and principal().may(Scope.CHAT),
    }
    steps = {turn.id: turn for turn in shown.turns} if shown else {}
    return make_response(
        render_template(
            "chat/index.html",
            name=name,
            shown=shown,
            listed=listed,
            steps=steps,
            query=query,
            data=data,
        )
    )
