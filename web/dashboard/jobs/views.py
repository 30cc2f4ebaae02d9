"""The jobs: what waits, runs, failed or was set aside; for the owner."""

from __future__ import annotations

from flask import Blueprint, render_template, request
from pydantic import ValidationError

from habakkuk.accounts.types import Scope
from web.api.shown import JobsQuery
from web.api.work import jobs
from web.guards import needs
from web.site import principal

page = Blueprint("jobs_page", __name__, template_folder="templates")
_GROUPS = (
    ("open", "Open"),
    ("pending", "Pending"),
    ("running", "Running"),
    ("waiting", "Waiting for a person"),
    ("failed", "Failed"),
    ("aside", "Set aside"),
    ("ended", "Ended"),
    ("all", "All"),
)


@page.get("/jobs")
@needs(Scope.READ)
def index() -> str:
    """Show the jobs that the address asks for; an address that asks for nonsense shows the open."""
    try:
        query = JobsQuery.model_validate(request.args.to_dict())
    except ValidationError:
        query = JobsQuery()
    return render_template(
        "jobs/index.html", shown=jobs(principal(), query), query=query, groups=_GROUPS
    )
