"""A tool call in one line, for people who wait for what comes of it."""

from __future__ import annotations

from habakkuk.core.redaction import Redactor
from habakkuk.core.text import clean, shorten
from habakkuk.llm.types import ToolCall

# What says most of a call, in this order.
_TELLING = ("command", "path", "url", "query", "pattern", "question", "name", "id")
_LONGEST = 80


def telling(call: ToolCall, redactor: Redactor) -> str:
    """Return the tool and what it is for, as Markdown; secrets are taken out."""
    said = next((str(call.input[key]) for key in _TELLING if call.input.get(key)), "")
    shown = shorten(redactor.text(clean(said)), _LONGEST).replace("`", "'")
    return f"{call.name}: `{shown}`" if shown else call.name
