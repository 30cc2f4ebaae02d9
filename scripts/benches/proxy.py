"""The bare proxy that the product is measured against: Flask streams the model's answer through.

No authentication, no storage, no queue. Run by gunicorn with its gevent worker, as web is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import httpx2
from flask import Flask, Response, request

_UNLIMITED = httpx2.Limits(max_connections=None, max_keepalive_connections=512)


def create_app(model_url: str) -> Flask:
    """Return an app that asks the model at `model_url`."""
    app = Flask("bare")
    client = httpx2.Client(base_url=model_url, limits=_UNLIMITED, timeout=60.0, trust_env=False)

    @app.post("/v1/chat/completions")
    def complete() -> Response:
        asked = client.build_request(
            "POST",
            "/v1/chat/completions",
            content=request.get_data(),
            headers={"content-type": "application/json"},
        )
        answer = client.send(asked, stream=True)
        return Response(_through(answer), answer.status_code, mimetype="text/event-stream")

    return app


def _through(answer: httpx2.Response) -> Iterator[bytes]:
    try:
        yield from answer.iter_raw()
    finally:
        answer.close()


def command(port: int, model_url: str) -> tuple[str, ...]:
    """Return what runs it."""
    gunicorn = (sys.executable, "-m", "gunicorn", "--no-control-socket", "-k", "gevent")
    options = ("-b", f"127.0.0.1:{port}", "--log-level", "warning", "--keep-alive", "75")
    return (*gunicorn, *options, f"scripts.benches.proxy:create_app('{model_url}')")
