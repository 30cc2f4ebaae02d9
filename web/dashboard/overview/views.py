"""The overview: what runs, what waits, what failed, and how the server is."""

from __future__ import annotations

from flask import Blueprint, render_template

from habakkuk.accounts.types import Scope
from web.api.work import overview
from web.guards import needs
from web.site import container, principal

page = Blueprint("overview_page", __name__, template_folder="templates")


@page.get("/overview")
@needs(Scope.READ)
def index() -> str:
    """Show what goes on."""
    own = principal()
    approvals = container().approvals.open(own.user)
    return render_template("overview/index.html", shown=overview(own), approvals=approvals)
