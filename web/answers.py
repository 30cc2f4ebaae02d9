"""Answers in JSON."""

from __future__ import annotations

from typing import Any

import orjson
from flask import Response
from pydantic import BaseModel

JSON = "application/json"


def json_answer(body: BaseModel | dict[str, Any], status: int = 200) -> Response:
    """Return `body` as JSON."""
    value = body.model_dump(mode="json") if isinstance(body, BaseModel) else body
    return Response(orjson.dumps(value), status, content_type=JSON)
