"""The bodies of Slack's requests: JSON, a form, or JSON in a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from pydantic_core import from_json

from habakkuk.channels.contract import WebhookUnreadable

_MOST_FIELDS = 100


def decoded(body: bytes) -> Mapping[str, Any]:
    """Return what a request holds, JSON or a form. Raises WebhookUnreadable."""
    try:
        text = body.decode()
        if text.lstrip().startswith("{"):
            return _object(text)
        form = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
        return _object(form["payload"]) if "payload" in form else form
    except ValueError:
        raise WebhookUnreadable("the body is neither JSON nor a form") from None


def _object(text: str) -> Mapping[str, Any]:
    found: object = from_json(text)
    if not isinstance(found, dict):
        raise WebhookUnreadable("the body is no object")
    return found
