"""A service that refuses a part of a request is asked without it, and not again with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import BadRequest, NetworkFailed, Profile, Provider
from habakkuk.llm.types import Finished, LlmRequest
from tests.contract.providers.asking import ADD, request, talk
from tests.contract.providers.conftest import Bench
from tests.contract.providers.replies import as_json
from tests.contract.providers.wires import knowing
from tests.fakes.model_script import Delay, Reply

SEAL = "U0VBTEVE"
SEARCHING = Profile(hosted_web=True, thinking="level", efforts=("low", "high"))
ASKED = request(tools=(ADD,), web=True, effort="low")
with_search = pytest.mark.parametrize("bench", knowing("hosted"), indirect=True)
with_seals = pytest.mark.parametrize("bench", ["anthropic", "responses", "gemini"], indirect=True)
# As each service words it; the first two name the place of a seal, and so do gateways.
BAD_SEAL = (
    "messages.1.content.0: Invalid `signature` in `thinking` block."
    " The encrypted content could not be verified. Thought signature is not valid."
)
NO_SEARCH = "tools.0: 'web_search' and 'google_search' are not supported"

Refuses = Callable[[str], str | None]


def refusing(bench: Bench, refuses: Refuses) -> None:
    """Refuse a body, in small letters, with what `refuses` says of it; answer the others."""
    text = bench.reply("text")

    def answer(body: object) -> Reply:
        said = refuses(json.dumps(body).lower())
        error = {"message": said, "code": 400, "type": "invalid_request_error"}
        told = {"error": {**error, "status": "INVALID_ARGUMENT"}}
        return text if said is None else as_json(told, 400)

    bench.server.script = lambda one: answer(one.body)


def ask(provider: Provider, asked: LlmRequest) -> None:
    *_, last = provider.stream("m", asked, SEARCHING, Interrupt())
    assert isinstance(last, Finished)


def having(bench: Bench, word: str) -> list[bool]:
    """Return which of the requests so far have a word in them."""
    return [word.lower() in json.dumps(one.body).lower() for one in bench.server.requests]


# The service's own search.


@with_search
def test_a_search_refused_at_one_effort_is_still_offered_at_another(bench: Bench) -> None:
    """OpenAI refuses its search to models that are asked to think the least."""
    refusing(bench, lambda body: NO_SEARCH if "search" in body and '"low"' in body else None)
    with bench.provider() as provider:
        for effort in ("low", "high", "low"):
            ask(provider, replace(ASKED, effort=effort))
    assert having(bench, "search") == [True, False, True, False]


@with_search
def test_a_search_that_was_not_the_reason_is_offered_again(bench: Bench) -> None:
    refusing(bench, lambda _: NO_SEARCH)
    with bench.provider() as provider:
        with pytest.raises(BadRequest):
            ask(provider, ASKED)
        refusing(bench, lambda _: None)
        ask(provider, ASKED)
    assert having(bench, "search") == [True, False, True]


# What the service had sealed.


def sealed(bench: Bench, session: str | None = "s-1") -> LlmRequest:
    """Return a conversation in which a sealed answer of the service stands."""
    return replace(talk(*bench.ask("private")[1].blocks), cache_key=session)


def refusing_seals(bench: Bench) -> None:
    refusing(bench, lambda body: BAD_SEAL if SEAL.lower() in body else None)
    bench.server.requests.clear()


@with_seals
def test_refused_seals_are_not_sent_again_in_their_session(bench: Bench) -> None:
    asked, other = sealed(bench), sealed(bench, "s-2")
    refusing_seals(bench)
    with bench.provider() as provider:
        for one in (asked, asked, other):
            ask(provider, one)
    assert having(bench, SEAL) == [True, False, False, True, False]


@with_seals
def test_without_a_session_each_request_stands_for_itself(bench: Bench) -> None:
    asked = sealed(bench, None)
    refusing_seals(bench)
    with bench.provider() as provider:
        for _ in range(2):
            ask(provider, asked)
    assert having(bench, SEAL) == [True, False, True, False]


@with_seals
def test_seals_and_a_search_may_both_be_refused(bench: Bench) -> None:
    asked = replace(sealed(bench), tools=(ADD,), web=True)
    bench.server.requests.clear()

    def refuses(body: str) -> str | None:
        if SEAL.lower() in body:
            return BAD_SEAL
        return NO_SEARCH if "search" in body else None

    refusing(bench, refuses)
    with bench.provider() as provider:
        for _ in range(2):
            ask(provider, asked)
    assert having(bench, SEAL) == [True, False, False, False]
    assert having(bench, "search") == [True, True, False, False]


@with_seals
def test_what_is_refused_in_vain_is_told(bench: Bench) -> None:
    asked = sealed(bench)
    refusing(bench, lambda _: BAD_SEAL)
    bench.server.requests.clear()
    with bench.provider() as provider, pytest.raises(BadRequest, match="signature"):
        ask(provider, asked)
    assert having(bench, SEAL) == [True, False]


# Time.


@with_search
def test_all_of_it_happens_within_the_time_of_one_call(bench: Bench) -> None:
    refused, text = as_json({"error": {"message": NO_SEARCH}}, 400), bench.reply("text")
    wait = [Delay(0.6)]
    bench.server.script = lambda one: replace(text if one.id else refused, before=wait)
    with (
        bench.provider(timeout=1.0) as provider,
        pytest.raises(NetworkFailed, match=r"1 s \(timeo"),
    ):
        ask(provider, ASKED)
    assert having(bench, "search") == [True, False]
