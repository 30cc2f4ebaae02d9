"""What a refusal is about, by the words of services, and for how long it is remembered."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from habakkuk.llm.contract import BadRequest
from habakkuk.llm.types import LlmRequest, ModelRef
from habakkuk.llm.wire.refusals import Refusals, refuses_hosted_tools

MODEL = ModelRef("mine", "m")


def refusal(message: str, param: str | None = None) -> BadRequest:
    error = BadRequest(message, retryable=False)
    error.param = param
    return error


@pytest.mark.parametrize(
    ("message", "param"),
    [
        (
            "The following tools cannot be used with reasoning.effort 'minimal': web_search.",
            "tools",
        ),
        ("Invalid value: 'web_search'. Supported values are: 'function'.", "tools[0].type"),
        ("Missing required parameter: 'tools[0].name'.", "tools[0].name"),
        ("tools.0: Input tag 'web_search_20260318' found using 'type' does not match", None),
        ("Web search is not enabled for this organization.", None),
        ("Search Grounding is not supported.", None),
        ("google_search is not supported with function calling", None),
        (
            "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools",
            None,
        ),
    ],
)
def test_these_are_about_the_service_s_own_search(message: str, param: str | None) -> None:
    assert refuses_hosted_tools(refusal(message, param))


@pytest.mark.parametrize(
    ("message", "param"),
    [
        (
            "messages.3.content.1: Invalid `encrypted_content` in `web_search_tool_result` block",
            None,
        ),
        ("messages.1: `web_search` tool use with id srvtoolu_1 has no result", None),
        ("Item 'ws_1' of type 'web_search_call' was provided without its reasoning item.", "input"),
        ("No item web_search with id ws_1", "input[3]"),
        ("Invalid schema for function 'add': web_search is no type", "tools[3].parameters"),
        ("Unknown parameter: 'x'.", "x"),
        ("Unknown parameter: 'x'.", None),
    ],
)
def test_these_are_about_something_else(message: str, param: str | None) -> None:
    assert not refuses_hosted_tools(refusal(message, param))


def test_what_was_refused_long_ago_is_forgotten_first() -> None:
    refusals = Refusals(re.compile("seal"), lambda request, _: replace(request, system=""))

    def refused(session: int) -> LlmRequest:
        return LlmRequest("sealed", (), cache_key=f"s-{session}")

    def remember(session: int) -> None:
        plainer = refusals.plainer(refusal("bad seal"), refused(session), MODEL)
        assert plainer is not None
        refusals.remember([plainer])

    for session in range(600):
        remember(session)
        # Whoever goes on asking stays known.
        refusals.without_refused(refused(0), MODEL)
    known = [refusals.without_refused(refused(n), MODEL).system == "" for n in (0, 1, 599)]
    assert known == [True, False, True]
