"""Make the web application of one process."""

from __future__ import annotations

import gc
from typing import Any, cast

from flask import Flask, Response
from flask_openapi.models.info import Info
from flask_openapi.models.security_scheme import SecurityScheme
from flask_openapi.openapi import OpenAPI
from werkzeug.middleware.proxy_fix import ProxyFix

from habakkuk import __version__
from habakkuk.accounts.types import Scope
from habakkuk.bootstrap import Container, build
from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.core.log import configure_logging
from habakkuk.core.redaction import Redactor
from habakkuk.ops.run_file import resolve_settings
from web.answers import json_answer
from web.api import (
    approvals,
    channels,
    chat,
    conversations,
    models,
    questions,
    sessions,
    turns,
    usage,
    work,
)
from web.auth.door import Door
from web.auth.views import add_login
from web.bodies import StrictRequest
from web.cli import group
from web.dashboard import add_dashboard
from web.errors import add_error_handlers, explain_validation
from web.guards import Guards, needs, open_to_all
from web.headers import add_headers_and_log
from web.health import Health, HealthBody
from web.hosts import allowed_hosts
from web.interop import openai
from web.site import Site
from web.webhooks.views import add_webhooks

# Of each of the two processes that deploy/gunicorn.conf.py starts.
_POOL_SIZE = 10
_APIS = (
    chat.api,
    conversations.api,
    turns.api,
    sessions.api,
    models.api,
    approvals.api,
    questions.api,
    work.api,
    usage.api,
    channels.api,
    openai.api,
)


def make_application(settings: Settings | None) -> Flask:
    """Return the application; without `settings` this process is its own: logs and memory too."""
    own = settings is None
    loaded = resolve_settings(load_settings()) if settings is None else settings
    if own:
        configure_logging(loaded.config.logs.level, Redactor(loaded.secrets), process="web")
    container = build(loaded, name="web", pool_size=_POOL_SIZE)
    app = application(container)
    if own:
        container.channels.warm()
        # What is loaded by now stays for good; the collector need not look at it again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 50, 100)
    return app


def application(container: Container) -> Flask:
    """Return the application over the parts of a process."""
    app = OpenAPI(
        "web",
        info=Info(title="Habakkuk", version=__version__),
        security_schemes={"token": SecurityScheme(type="http", scheme="bearer")},
        validation_error_status=400,
        validation_error_callback=explain_validation,
        doc_ui=False,
        static_folder=None,
    )
    settings = container.settings
    app.request_class = StrictRequest
    app.config["MAX_CONTENT_LENGTH"] = settings.config.http.max_body_bytes
    app.config["MAX_FORM_MEMORY_SIZE"] = 100_000
    app.config["MAX_FORM_PARTS"] = 50
    app.extensions["habakkuk"] = Site(container)
    health = Health(container)
    add_headers_and_log(app)
    Guards(allowed_hosts(settings), Door(container, health).principal).add_to(app)
    add_error_handlers(app)
    for api in _APIS:
        app.register_api(api)
    add_login(app, container)
    add_dashboard(app)
    add_webhooks(app, container)
    _add_own_routes(app, health)
    app.cli.add_command(group())
    hops = settings.config.trusted_proxies
    if hops:
        trust_proxies(app, hops)
    return app


def trust_proxies(app: Flask, hops: int) -> None:
    """Believe what the last `hops` proxies say of the client's address.

    The host is not taken from their headers: the guard judges what was really asked for.
    """
    app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=0)  # type: ignore[method-assign] # as Flask documents it


def _add_own_routes(app: OpenAPI, health: Health) -> None:
    @app.get("/healthz", security=[], responses={200: HealthBody, 503: HealthBody})
    @open_to_all
    def healthz() -> Response:
        """Say whether the server can take messages."""
        return health.answer()

    @app.route("/openapi.json")
    @needs(Scope.READ)
    def openapi() -> Response:
        """Return the description of this API."""
        return json_answer(cast("dict[str, Any]", app.api_doc))
