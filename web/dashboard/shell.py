"""What every page has around it: its headers, the addresses of its files, how times are said."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, render_template, request

from web.dashboard.assets import Assets
from web.site import visiting

# Nothing inline and nothing from elsewhere: what a message smuggles in can neither run nor call.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_STYLES = (
    "tokens",
    "base",
    "shell",
    "list",
    "chat",
    "composer",
    "prose",
    "cards",
    "tables",
    "inspect",
)
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


class Shell:
    """Dresses the pages of one application."""

    def __init__(self, assets: Assets) -> None:
        """Take where the files are."""
        self._assets = assets

    def add_to(self, app: Flask) -> None:
        """Give templates what they use, and pages their headers."""
        app.context_processor(self._context)
        app.after_request(_dress)
        app.add_template_filter(ago)
        app.add_template_filter(exact)
        app.add_template_filter(left)

    def _context(self) -> dict[str, Any]:
        assets = self._assets
        visitor = visiting()
        return {
            "asset": assets.url,
            "styles": [assets.url(f"style/{name}.css") for name in _STYLES],
            "modules": [assets.bundle, *assets.modules],
            "here": request.path,
            "owner": visitor is not None and visitor.sees(None),
            "who": visitor.user.name if visitor is not None else "",
        }


def _dress(response: Response) -> Response:
    if response.status_code >= HTTPStatus.BAD_REQUEST and _is_for_a_person(response):
        _as_page(response)
    if response.mimetype == "text/html":
        response.headers["Content-Security-Policy"] = POLICY
    return response


def _is_for_a_person(response: Response) -> bool:
    programs = request.path.startswith(("/api/", "/v1/", "/static/"))
    return (
        response.mimetype == "application/json"
        and not programs
        and request.accept_mimetypes.best_match(["application/json", "text/html"]) == "text/html"
    )


def _as_page(response: Response) -> None:
    """Say an error's one sentence on a page; status and headers stay."""
    error = response.get_json()["error"]
    message = error["message"]
    sentence = message[:1].upper() + message[1:]
    title = HTTPStatus(response.status_code).phrase.capitalize()
    response.set_data(render_template("error.html", title=title, sentence=sentence))
    response.mimetype = "text/html"


def ago(moment: datetime | None, now: datetime | None = None) -> str:
    """Return a moment as people say it: `just now`, `5 minutes ago`, else its date."""
    if moment is None:
        return "never"
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    if seconds < _UNITS[-1][0]:
        return "just now"
    for size, unit in _UNITS:
        count = int(seconds // size)
        if count and unit != "day":
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
        if count:
            break
    return moment.strftime("%Y-%m-%d")


def exact(moment: datetime | None) -> str:
    """Return a moment for machines and for whoever hovers over it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment else ""


def left(moment: datetime, now: datetime | None = None) -> str:
    """Return how long it is until a moment: `34 s`, `15 min`, `2 h 5 min`."""
    seconds = max(0, int((moment - (now or datetime.now(UTC))).total_seconds()))
    minutes, rest = divmod(seconds, 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
