"""OpenAI's Responses on the wire, scenario by scenario."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.contract.providers.replies import ANYWHERE, as_json, closing, stream
from tests.fakes.model_responses import (
    added,
    call,
    called,
    counted,
    done,
    end,
    event,
    failed,
    incomplete,
    message,
    piece,
    reasoned,
    searched,
    spoken,
    start,
)
from tests.fakes.model_script import Cut, Delay, Part, Reply, Stall


def _whole(*parts: Sequence[Part], usage: dict[str, Any] | None = None) -> Reply:
    return stream(start(), *parts, end(usage=usage))


def _open(*parts: Sequence[Part]) -> Reply:
    return stream(start(), *parts)


def _say(*pieces: str) -> list[bytes]:
    """Return a message that does not end."""
    return spoken(*pieces)[: 2 + len(pieces)]


def _failed(status: int, code: str, **headers: str) -> Reply:
    return as_json({"error": {"message": "no", "type": code, "code": code}}, status, **headers)


_REFUSED = [added(message("")), piece("refusal", "I cannot help with that.", content_index=0)]
_SEARCH = searched("weather")

RESPONSES: dict[str, Callable[[], Reply]] = {
    **ANYWHERE,
    "text": lambda: _whole(spoken("Hel", "lo")),
    "blank": lambda: _whole(spoken(" ", "\n")),
    "slow text": lambda: _whole(_say("Hel"), [Delay(0.05), piece("output_text", "lo")]),
    "thinking": lambda: _whole(reasoned("hm"), spoken("Hi", index=1)),
    "call": lambda: _whole(called("c1", '{"a"', ": 1}")),
    "two calls": lambda: _whole(called("c1"), called("c2", "{}", index=1)),
    "call without id": lambda: _whole(called("", "{}")),
    "cut call": lambda: _open(called("c1", '{"a')[:2], incomplete("max_output_tokens")),
    # The format names no such reason: an answer without a call is just complete.
    "promised call": lambda: _whole(spoken("Done.")),
    "unknown stop": lambda: _open(spoken("All."), incomplete("weird")),
    "refusal": lambda: _open(incomplete("content_filter")),
    "said refusal": lambda: _whole(_REFUSED),
    "surrogate": lambda: _whole(spoken("a\ud83d", "b\x00")),
    "usage": lambda: _whole(spoken("Hi"), usage=counted(20, 8, cached=5, reasoning=3)),
    "private": lambda: _whole(
        reasoned("hm", sealed="U0VBTEVE"), called("c1", "{}", index=1), spoken("Hi", index=2)
    ),
    "hosted": lambda: _whole(
        [added(_SEARCH), done(_SEARCH)], spoken("It ", "rains.", index=1, phase="final_answer")
    ),
    "talk around a search": lambda: _whole(
        spoken("Looking."), [added(_SEARCH, 1), done(_SEARCH, 1)], spoken("It ", "rains.", index=2)
    ),
    "cut": lambda: _open(_say("half", " an"), [Cut()]),
    "clean cut": lambda: closing(_open(_say("half", " an"))),
    "cut before text": lambda: _open([Cut()]),
    "cut after finish": lambda: _open(spoken("All."), end(), [Cut()]),
    "stall": lambda: _open(_say("half"), [Stall()]),
    "keep-alives": lambda: _open(_say("half"), [b": ping\n\n", Delay(0.05)] * 400),
    "error inside": lambda: _open(
        _say("half"), [event("error", code="server_error", message="no", param=None)]
    ),
    "failed inside": lambda: _open(_say("half"), [failed("server_error")]),
    "error at once": lambda: _open([failed("server_error")]),
    "error body": lambda: as_json({"error": {"message": "no", "code": "server_error"}}),
    "whole": lambda: as_json(
        {
            "object": "response",
            "status": "completed",
            "error": None,
            "output": [message("Hi"), call("c1", '{"a": 1}', 1)],
            "usage": counted(),
        }
    ),
    "401": lambda: _failed(401, "invalid_api_key"),
    "402": lambda: _failed(402, "insufficient_quota"),
    "404": lambda: _failed(404, "model_not_found"),
    "413": lambda: _failed(413, "request_too_large"),
    "429": lambda: _failed(429, "rate_limit_exceeded", retry_after="7"),
    "500": lambda: _failed(500, "server_error"),
    "too long": lambda: _failed(400, "context_length_exceeded"),
}


def responses(scenario: str) -> Reply:
    """OpenAI Responses."""
    return RESPONSES[scenario]()
