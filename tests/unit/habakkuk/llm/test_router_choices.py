"""What else the router chooses: the key, leave to spend, what to do with a request too large."""

from __future__ import annotations

from dataclasses import replace

import pytest

from habakkuk.core.errors import LlmError
from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import (
    Admission,
    AuthFailed,
    BillingFailed,
    ContextOverflow,
    NetworkFailed,
    Overloaded,
    Profile,
    RateLimited,
    RequestTooLarge,
    Screened,
    SpendCapReached,
)
from habakkuk.llm.router import Ports, Router
from habakkuk.llm.types import (
    Finished,
    LlmEvent,
    LlmRequest,
    Message,
    ModelRef,
    Payload,
    Role,
    StopReason,
    Text,
    Usage,
)
from tests.fakes.providers import (
    ProviderTable,
    RecordingCalls,
    RecordingCooldowns,
    ScriptedProvider,
    answering,
)

PORTS = ("log", "budget", "screen", "cooldowns")
A = ModelRef("a", "one")
B = ModelRef("b", "two")
C = ModelRef("c", "three")
REQUEST = LlmRequest("", (Message(Role.USER, (Text(text="hi"),)),), labels={"turn": "t1"})


class NoWaits(Interrupt):
    """An interrupt whose waits take no time."""

    def wait(self, seconds: float) -> bool:
        return False


def limited(retry_after: float) -> RateLimited:
    return RateLimited("slow down", retryable=True, retry_after=retry_after)


def overloaded() -> Overloaded:
    return Overloaded("full", retryable=True)


def broken() -> NetworkFailed:
    return NetworkFailed("line broke", retryable=True)


def run(a: ScriptedProvider, b: ScriptedProvider | None = None, **ports: object) -> list[LlmEvent]:
    table = ProviderTable({"a": a, "b": b or ScriptedProvider([])})
    kinds = {name: ports.pop(name) for name in PORTS if name in ports}
    router = Router(table, Ports(**kinds), draw=lambda longest: longest, **ports)  # type: ignore[arg-type] # by name
    return list(router.stream((A, B) if b else (A,), REQUEST, NoWaits()))


def last(events: list[LlmEvent]) -> Finished:
    assert isinstance(events[-1], Finished)
    return events[-1]


# Several keys.

KEYS = {"a": ("ONE", "TWO")}


def with_keys(
    one: ScriptedProvider, two: ScriptedProvider, cooldowns: RecordingCooldowns | None = None
) -> list[LlmEvent]:
    table = ProviderTable({"a:ONE": one, "a:TWO": two}, KEYS)
    router = Router(table, Ports(cooldowns=cooldowns))
    return list(router.stream((A,), REQUEST, NoWaits()))


@pytest.mark.parametrize("failure", [limited(3600.0), AuthFailed("key"), BillingFailed("credit")])
def test_another_key_is_tried_at_once(failure: LlmError) -> None:
    one, two = ScriptedProvider([failure]), ScriptedProvider(answering("yes", A))
    assert last(with_keys(one, two)).blocks == (Text(text="yes"),)
    assert len(one.requests) == 1


def test_an_overloaded_service_is_no_reason_to_turn_keys() -> None:
    one, two = ScriptedProvider([overloaded()]), ScriptedProvider(answering("yes", A))
    with pytest.raises(Overloaded):
        with_keys(one, two)
    assert two.requests == []


def test_a_key_that_was_limited_rests_as_long_as_it_was_told() -> None:
    cooldowns = RecordingCooldowns()
    with_keys(ScriptedProvider([limited(90.0)]), ScriptedProvider(answering("y", A)), cooldowns)
    assert cooldowns.rests == {"a:ONE": 90.0}


def test_a_resting_key_is_not_tried_first() -> None:
    one, two = ScriptedProvider(answering("1", A)), ScriptedProvider(answering("2", A))
    assert last(with_keys(one, two, RecordingCooldowns(["a:ONE"]))).blocks == (Text(text="2"),)


def test_when_every_key_fails_the_last_failure_tells() -> None:
    with pytest.raises(AuthFailed, match="second"):
        with_keys(ScriptedProvider([AuthFailed("first")]), ScriptedProvider([AuthFailed("second")]))


# Leave to spend, and files.


class Purse:
    """A budget that gives numbered holds, and refuses from the n-th on."""

    def __init__(self, calls: int) -> None:
        self._left = calls
        self.given = 0

    def admit(self, model: ModelRef, request: LlmRequest, interrupt: Interrupt) -> Admission:
        if self._left == 0:
            raise SpendCapReached("spent")
        self._left -= 1
        self.given += 1
        hold = f"hold {self.given}"
        return Admission(hold, ("most of it is spent",), max_tokens=1_000 * self.given)


def test_leave_is_asked_before_every_call_and_given_back_with_its_record() -> None:
    calls = RecordingCalls()
    run(ScriptedProvider([broken()], answering("yes", A)), log=calls, budget=Purse(9))
    assert [call.hold for call in calls.seen] == ["hold 1", "hold 2"]


def test_no_call_may_write_more_than_is_held_for_it() -> None:
    """Each attempt is told what leave it was given itself."""
    provider = ScriptedProvider([broken()], answering("yes", A))
    run(provider, budget=Purse(9))
    assert [request.max_tokens for _, request, _ in provider.requests] == [1_000, 2_000]


def test_a_limit_of_the_request_s_own_stays() -> None:
    provider = ScriptedProvider(answering("yes", A))
    router = Router(ProviderTable({"a": provider}), Ports(budget=Purse(9)))
    list(router.stream((A,), replace(REQUEST, max_tokens=77), NoWaits()))
    assert [request.max_tokens for _, request, _ in provider.requests] == [77]


def test_who_reads_a_cut_answer_hears_that_the_budget_cut_it() -> None:
    cut = Finished((Text(text="so"),), StopReason.LENGTH, Usage(3, 1_000), A)
    events = run(ScriptedProvider([cut]), budget=Purse(9))
    assert last(events).notices == (
        "most of it is spent",
        "What is left of a budget lets an answer have 1,000 tokens now",
    )
    assert last(run(ScriptedProvider([cut]))).notices == ()


def test_a_reached_cap_asks_nobody() -> None:
    a, b = ScriptedProvider(answering("a", A)), ScriptedProvider(answering("b", B))
    with pytest.raises(SpendCapReached):
        run(a, b, budget=Purse(0))
    assert (a.requests, b.requests) == ([], [])


def test_what_the_budget_says_is_told_once() -> None:
    events = run(ScriptedProvider([broken()], answering("yes", A)), budget=Purse(9))
    assert last(events).notices == ("most of it is spent",)


class OnePicture:
    """A screen that sends one file, and says so."""

    def fit(
        self, request: LlmRequest, model: ModelRef, profile: Profile, interrupt: Interrupt
    ) -> Screened:
        return Screened(replace(request, payloads={"b": Payload("image/png", b"x")}), ("scaled",))

    def without_files(self, request: LlmRequest) -> LlmRequest:
        return replace(request, payloads={})


def too_large() -> RequestTooLarge:
    return RequestTooLarge("413")


def test_files_are_left_out_once_when_the_request_is_too_large() -> None:
    a = ScriptedProvider([too_large()], answering("yes", A))
    events = run(a, screen=OnePicture())
    assert [len(request.payloads) for _, request, _ in a.requests] == [1, 0]
    assert last(events).notices[0] == "scaled"
    assert "left out" in last(events).notices[1]


def test_a_request_too_large_without_files_is_too_long() -> None:
    a = ScriptedProvider([too_large()])
    with pytest.raises(ContextOverflow):
        run(a)
    assert len(a.requests) == 1


# A conversation too long for a fallback.


def test_a_fallback_that_takes_less_is_passed_over() -> None:
    table = ProviderTable(
        {
            "a": ScriptedProvider([AuthFailed("key")]),
            "b": ScriptedProvider([ContextOverflow("long")]),
            "c": ScriptedProvider(answering("yes", C)),
        }
    )
    events = list(Router(table).stream((A, B, C), REQUEST, NoWaits()))
    assert last(events).model == C


def test_a_fallback_that_takes_less_does_not_hide_why_the_first_failed() -> None:
    """The turn would sum the session up for good because of a moment's overload."""
    a, b = ScriptedProvider([overloaded()]), ScriptedProvider([ContextOverflow("long")])
    with pytest.raises(Overloaded):
        run(a, b)


def test_an_unknown_provider_is_found_out_before_leave_is_asked() -> None:
    purse = Purse(9)
    with pytest.raises(KeyError):
        list(Router(ProviderTable({}), Ports(budget=purse)).stream((A,), REQUEST, NoWaits()))
    assert purse.given == 0


# Who rests.


def test_a_model_that_rests_is_named_when_another_answers() -> None:
    """The person who chose it must not think that it answered."""
    a, b = ScriptedProvider(answering("a", A)), ScriptedProvider(answering("b", B))
    found = last(run(a, b, cooldowns=RecordingCooldowns(["a"])))
    assert found.failed == ("a/one rests for 60 s after a failure; b/two answered",)


def test_an_answer_ends_the_rest_of_its_provider() -> None:
    cooldowns = RecordingCooldowns(["a", "b"])
    run(
        ScriptedProvider(answering("a", A)),
        ScriptedProvider(answering("b", B)),
        cooldowns=cooldowns,
    )
    assert cooldowns.rests == {"b": 60.0}


# Files that were refused.


class Pictures(OnePicture):
    """A screen whose request has the files that its text names."""

    def fit(
        self, request: LlmRequest, model: ModelRef, profile: Profile, interrupt: Interrupt
    ) -> Screened:
        names = request.messages[0].text.split()
        return Screened(
            replace(request, payloads={name: Payload("image/png", b"x") for name in names})
        )


def test_refused_files_do_not_go_out_again_in_their_session() -> None:
    a = ScriptedProvider([too_large()], answering("yes", A))
    router = Router(ProviderTable({"a": a}), Ports(screen=Pictures()))
    for said in ("one", "one", "one two"):
        asked = replace(REQUEST, messages=(Message(Role.USER, (Text(text=said),)),), cache_key="s")
        list(router.stream((A,), asked, NoWaits()))
    assert [sorted(request.payloads) for _, request, _ in a.requests] == [
        ["one"],
        [],
        [],
        ["one", "two"],
    ]
