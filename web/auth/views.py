"""Sign in and out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, g, render_template, request
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.tag import Tag
from flask_openapi.openapi import OpenAPI
from pydantic import BaseModel, ConfigDict, Field

from habakkuk.accounts.logins import LINK_MINUTES, Opened
from habakkuk.bootstrap import Container
from habakkuk.core.errors import Unavailable
from web.answers import json_answer
from web.auth.cookie import csrf_token, give_cookie, session_cookie, take_cookie
from web.auth.origin import check_origin
from web.errors import Refused
from web.guards import for_everybody_signed_in, open_to_all
from web.site import container, principal, visiting
from web.throttle import Attempt, Throttle

_HERE = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]{0,2000}")
_WRONG_LINK = (
    f"this link was used already, or is older than {LINK_MINUTES} minutes; make a new one on the"
    " server with ./scripts/habakkuk login-link"
)
_WRONG_PASSWORD = "the name or the password is wrong"  # noqa: S105 - a sentence, not a password


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class LinkBody(_Body):
    """What stands after the # of a login link."""

    secret: str = Field(max_length=200)


class PasswordBody(_Body):
    """A name and its password."""

    name: str = Field(max_length=200)
    password: str = Field(max_length=1000)


class SignOutBody(_Body):
    """Whether every browser of the person is signed out, or this one."""

    everywhere: bool = False


class SignedInBody(BaseModel):
    """Who is signed in now."""

    user: str
    role: str


class SignedOutBody(BaseModel):
    """That nobody is."""

    signed_out: bool = True


class ErrorBody(BaseModel):
    """What went wrong."""

    error: dict[str, Any]


def add_login(app: OpenAPI, parts: Container) -> None:
    """Add the login page, signing in and signing out; pages get their `csrf_token`."""
    throttle = Throttle(parts.clock, parts.redis, "failed logins")
    app.context_processor(_context)
    app.register_blueprint(_page())
    app.register_api(_api(throttle))


def _context() -> dict[str, str]:
    secret = g.get("session_secret")
    visitor = visiting()
    return {
        "csrf_token": csrf_token(secret) if secret else "",
        "who": visitor.user.name if visitor else "",
    }


def _page() -> Blueprint:
    page = Blueprint("login_page", __name__, template_folder="templates")

    @page.get("/login")
    @open_to_all
    def login() -> str:
        """Show the room for a link, and for a password where somebody has one."""
        return render_template(
            "auth/login.html",
            next=local_address(request.args.get("next", "")),
            minutes=LINK_MINUTES,
            passwords=_passwords_used(),
        )

    return page


def _api(throttle: Throttle) -> APIBlueprint:
    api = APIBlueprint(
        "login",
        __name__,
        url_prefix="/api",
        abp_tags=[Tag(name="login")],
        abp_responses={400: ErrorBody, 401: ErrorBody, 403: ErrorBody, 429: ErrorBody},
    )

    @api.post("/login/link", security=[], responses={200: SignedInBody})
    @open_to_all
    def by_link(body: LinkBody) -> Response:
        """Sign in with the secret of a login link, which is used up."""
        logins = container().logins
        return _signed_in(throttle, body.secret, lambda: logins.by_link(body.secret), _WRONG_LINK)

    @api.post("/login/password", security=[], responses={200: SignedInBody})
    @open_to_all
    def by_password(body: PasswordBody) -> Response:
        """Sign in with a password."""
        logins = container().logins
        return _signed_in(
            throttle,
            f"{body.name}\0{body.password}",
            lambda: logins.by_password(body.name, body.password),
            _WRONG_PASSWORD,
        )

    @api.post("/logout", responses={200: SignedOutBody})
    @for_everybody_signed_in
    def logout(body: SignOutBody) -> Response:
        """Sign this browser out, or every browser of the person."""
        return _signed_out(everywhere=body.everywhere)

    return api


def local_address(address: str) -> str:
    """Return an address on this server as it is, `/` for what leads or could lead elsewhere."""
    return address if _HERE.fullmatch(address) else "/"


def _passwords_used() -> bool:
    """Whether the form shows a password; without a database it shows the link alone."""
    try:
        return container().logins.passwords_used()
    except Unavailable:
        return False


def _signed_in(
    throttle: Throttle, secret: str, enter: Callable[[], Opened | None], wrong: str
) -> Response:
    """Let a browser in, counting the attempt before it is checked."""
    settings = container().settings
    check_origin(settings)
    attempt = throttle.attempt(request.remote_addr or "", secret)
    opened = _entered(throttle, attempt, enter)
    if opened is None:
        throttle.failed(attempt)
        raise Refused(401, wrong)
    throttle.succeeded(attempt, remember=False)
    before = session_cookie(settings)
    if before is not None:
        container().logins.sign_out(before)
    response = json_answer(SignedInBody(user=opened.user.name, role=opened.user.role))
    give_cookie(response, settings, opened.secret)
    return response


def _entered(
    throttle: Throttle, attempt: Attempt, enter: Callable[[], Opened | None]
) -> Opened | None:
    try:
        return enter()
    except Unavailable:
        throttle.take_back(attempt)
        raise


def _signed_out(*, everywhere: bool) -> Response:
    secret = g.get("session_secret")
    if secret is None:
        raise Refused(
            400, "this came with a token; end it with ./scripts/habakkuk tokens revoke NAME"
        )
    logins = container().logins
    if everywhere:
        logins.sign_out_everywhere(principal().user)
    else:
        logins.sign_out(secret)
    response = json_answer(SignedOutBody())
    take_cookie(response, container().settings)
    return response
