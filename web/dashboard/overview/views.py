"""The overview: what runs, what waits, what failed, and how the server is."""

from __future__ import annotations

from flask import Blueprint, render_template

from habakkuk.accounts.types import Scope
from habakkuk.tools.asking import lettered
from web.api.work import overview
from web.guards import needs
from web.site import container, principal

page = Blueprint("overview_page", __name__, template_folder="templates")


@page.get("/overview")
@needs(Scope.READ)
def index() -> str:
    """Show what goes on."""
    own, parts = principal(), container()
    shown = overview(own)
    return render_template(
        "overview/index.html",
        shown=shown,
        approvals=parts.approvals.open(own.user),
        questions=parts.questions.open(own.user),
        lettered=lettered,
        chats={row.turn: row.conversation for row in (*shown.waiting, *shown.paused)},
    )
