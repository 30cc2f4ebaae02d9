"""The router: what is retried, what falls back, what is raised, what is said and counted."""

from __future__ import annotations

import pytest

from habakkuk.core.errors import LlmError
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.llm.contract import (
    AuthFailed,
    BadRequest,
    BillingFailed,
    ContextOverflow,
    ModelMissing,
    NetworkFailed,
    Overloaded,
    RateLimited,
    Refused,
    StreamCut,
)
from habakkuk.llm.policy import RetryPolicy
from habakkuk.llm.router import Ports, Router
from habakkuk.llm.types import (
    Finished,
    LlmEvent,
    LlmRequest,
    Message,
    ModelRef,
    Role,
    Text,
    TextDelta,
    ThinkingDelta,
    ToolCallStarted,
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
REQUEST = LlmRequest("", (Message(Role.USER, (Text(text="hi"),)),), labels={"turn": "t1"})


class RecordedWaits(Interrupt):
    """An interrupt whose waits take no time; `trip_at` trips it at the n-th wait."""

    def __init__(self, trip_at: int = 0) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._trip_at = trip_at

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        if len(self.waits) == self._trip_at:
            self.trip(Reason.CANCELLED)
        return self.reason is not None


def overloaded(retry_after: float | None = None) -> Overloaded:
    return Overloaded("full", retryable=True, retry_after=retry_after)


def limited(retry_after: float | None = None) -> RateLimited:
    return RateLimited("slow down", retryable=True, retry_after=retry_after)


def broken() -> NetworkFailed:
    return NetworkFailed("line broke", retryable=True)


def run(
    a: ScriptedProvider,
    b: ScriptedProvider | None = None,
    interrupt: Interrupt | None = None,
    **ports: object,
) -> list[LlmEvent]:
    table = ProviderTable({"a": a, "b": b or ScriptedProvider([])})
    kinds = {name: ports.pop(name) for name in PORTS if name in ports}
    router = Router(table, Ports(**kinds), draw=lambda longest: longest, **ports)  # type: ignore[arg-type] # by name
    chain = (A, B) if b else (A,)
    return list(router.stream(chain, REQUEST, interrupt or RecordedWaits()))


def last(events: list[LlmEvent]) -> Finished:
    assert isinstance(events[-1], Finished)
    return events[-1]


@pytest.mark.parametrize("failure", [limited(), overloaded(), broken()])
def test_a_passing_failure_is_retried_unseen(failure: LlmError) -> None:
    provider = ScriptedProvider([failure], answering("yes", A))
    events = run(provider)
    assert [type(event) for event in events] == [TextDelta, Finished]
    assert len(provider.requests) == 2


def test_a_model_is_asked_as_often_as_the_policy_says() -> None:
    provider = ScriptedProvider([overloaded()])
    with pytest.raises(Overloaded):
        run(provider, policy=RetryPolicy(attempts=4))
    assert len(provider.requests) == 4


def test_waits_double_up_to_the_cap() -> None:
    waits = RecordedWaits()
    with pytest.raises(Overloaded):
        run(
            ScriptedProvider([overloaded()]),
            interrupt=waits,
            policy=RetryPolicy(attempts=5, base=1.0, cap=3.0),
        )
    assert waits.waits == [1.0, 2.0, 3.0, 3.0]


def test_waits_are_drawn_between_nothing_and_the_longest() -> None:
    waits = RecordedWaits()
    router = Router(
        ProviderTable({"a": ScriptedProvider([overloaded()], answering("yes", A))}),
        policy=RetryPolicy(base=8.0, cap=8.0),
    )
    list(router.stream((A,), REQUEST, waits))
    assert 0.0 <= waits.waits[0] <= 8.0


def test_a_named_wait_is_honoured() -> None:
    waits = RecordedWaits()
    run(ScriptedProvider([limited(7.0)], answering("yes", A)), interrupt=waits)
    assert waits.waits[0] >= 7.0


def test_a_named_wait_beyond_patience_goes_to_the_next_model() -> None:
    waits = RecordedWaits()
    a, b = ScriptedProvider([limited(3600.0)]), ScriptedProvider(answering("b", B))
    events = run(a, b, interrupt=waits)
    assert last(events).model == B
    assert waits.waits == []


def test_a_trip_while_waiting_ends_the_call() -> None:
    provider = ScriptedProvider([overloaded()])
    with pytest.raises(Interrupted):
        run(provider, interrupt=RecordedWaits(trip_at=1))
    assert len(provider.requests) == 1


def test_interrupted_passes_through() -> None:
    b = ScriptedProvider(answering("b", B))
    with pytest.raises(Interrupted):
        run(ScriptedProvider([TextDelta("x"), Interrupted(Reason.CANCELLED)]), b)
    assert b.requests == []


@pytest.mark.parametrize(
    "failure",
    [AuthFailed("key"), BillingFailed("credit"), ModelMissing("gone"), Refused("policy")],
)
def test_what_another_model_can_mend_falls_back_at_once(failure: LlmError) -> None:
    a, b = ScriptedProvider([failure]), ScriptedProvider(answering("b", B))
    events = run(a, b)
    assert last(events).model == B
    assert len(a.requests) == 1


@pytest.mark.parametrize("failure", [limited(), overloaded(), broken()])
def test_passing_failures_fall_back_after_the_retries(failure: LlmError) -> None:
    a, b = ScriptedProvider([failure]), ScriptedProvider(answering("b", B))
    assert last(run(a, b)).model == B
    assert len(a.requests) == 3


@pytest.mark.parametrize("failure", [ContextOverflow("long"), BadRequest("wrong")])
def test_what_no_model_can_mend_is_raised_at_once(failure: LlmError) -> None:
    b = ScriptedProvider(answering("b", B))
    with pytest.raises(type(failure)):
        run(ScriptedProvider([failure]), b)
    assert b.requests == []


def test_the_notice_names_who_failed_why_and_who_answered() -> None:
    notices = last(
        run(ScriptedProvider([AuthFailed("bad key")]), ScriptedProvider(answering("b", B)))
    ).failed
    assert len(notices) == 1
    assert "a/one" in notices[0]
    assert "bad key" in notices[0]
    assert "b/two answered" in notices[0]


def test_an_unseen_retry_of_the_same_model_is_no_news() -> None:
    assert last(run(ScriptedProvider([broken()], answering("yes", A)))).notices == ()


@pytest.mark.parametrize("failure", [broken(), overloaded(), Refused("policy")])
def test_an_answer_that_broke_off_after_text_is_kept_and_not_retried(failure: LlmError) -> None:
    a = ScriptedProvider([TextDelta("half "), TextDelta("an"), failure])
    b = ScriptedProvider(answering("b", B))
    with pytest.raises(StreamCut) as caught:
        run(a, b)
    assert caught.value.blocks == (Text(text="half an", partial=True),)
    assert not caught.value.retryable
    assert len(a.requests) == 1
    assert b.requests == []


def test_a_begun_tool_call_counts_as_shown() -> None:
    a = ScriptedProvider([ToolCallStarted(0, "exec"), broken()])
    with pytest.raises(StreamCut) as caught:
        run(a)
    assert caught.value.blocks == ()
    assert len(a.requests) == 1


def test_thinking_does_not_stand_in_the_way_of_a_retry() -> None:
    a = ScriptedProvider([ThinkingDelta("hm"), broken()], answering("yes", A))
    assert last(run(a)).blocks == (Text(text="yes"),)


def test_a_stream_without_an_end_is_a_failure() -> None:
    with pytest.raises(StreamCut):
        run(ScriptedProvider([TextDelta("half")]))


def test_a_silent_stream_without_an_end_is_retried() -> None:
    a = ScriptedProvider([], answering("yes", A))
    assert last(run(a)).blocks == (Text(text="yes"),)


def test_usage_is_told_with_the_labels() -> None:
    calls = RecordingCalls()
    run(ScriptedProvider(answering("yes", A, Usage(9, 2))), log=calls)
    (call,) = calls.seen
    assert (call.model, call.usage, call.labels) == (A, Usage(9, 2), {"turn": "t1"})


def test_usage_of_a_cut_call_is_told_too() -> None:
    calls = RecordingCalls()
    cut = broken()
    cut.usage = Usage(40, 1)
    with pytest.raises(StreamCut):
        run(ScriptedProvider([TextDelta("x"), cut]), log=calls)
    (call,) = calls.seen
    assert (call.model, call.usage, call.labels) == (A, Usage(40, 1), {"turn": "t1"})


def test_every_call_is_recorded_with_how_it_went() -> None:
    calls = RecordingCalls()
    run(ScriptedProvider([limited()], [broken()], answering("yes", A)), log=calls)
    assert [call.outcome for call in calls.seen] == ["rate_limited", "network_failed", "answered"]
    assert [call.last for call in calls.seen] == [False, False, True]


def test_a_call_that_was_stopped_is_recorded_too() -> None:
    calls = RecordingCalls()
    with pytest.raises(Interrupted):
        run(ScriptedProvider([TextDelta("x"), Interrupted(Reason.CANCELLED)]), log=calls)
    assert [call.outcome for call in calls.seen] == ["stopped"]


def test_a_call_is_timed_to_its_first_piece_and_to_its_end() -> None:
    calls = RecordingCalls()
    moments = iter([10.0, 10.5, 12.0])
    run(ScriptedProvider(answering("yes", A)), log=calls, now=lambda: next(moments))
    (call,) = calls.seen
    assert (call.first_token, call.seconds) == (0.5, 2.0)


def test_when_all_fail_the_error_names_each_and_is_of_the_most_telling_class() -> None:
    with pytest.raises(AuthFailed) as caught:
        run(ScriptedProvider([overloaded(5.0)]), ScriptedProvider([AuthFailed("bad key")]))
    assert "a/one: full" in str(caught.value)
    assert "b/two: bad key" in str(caught.value)


def test_when_all_fail_a_later_time_helps_if_it_helps_any() -> None:
    with pytest.raises(AuthFailed) as caught:
        run(ScriptedProvider([overloaded(5.0)]), ScriptedProvider([AuthFailed("bad key")]))
    assert caught.value.retryable
    assert caught.value.retry_after == 5.0


def test_without_a_model_it_says_what_to_set() -> None:
    with pytest.raises(ModelMissing, match="OPENAI_API_KEY"):
        list(Router(ProviderTable({})).stream((), REQUEST, Interrupt()))


def test_a_resting_provider_is_asked_last() -> None:
    a, b = ScriptedProvider(answering("a", A)), ScriptedProvider(answering("b", B))
    assert last(run(a, b, cooldowns=RecordingCooldowns(["a"]))).model == B
    assert a.requests == []


def test_a_resting_provider_is_better_than_none() -> None:
    a = ScriptedProvider(answering("a", A))
    assert last(run(a, cooldowns=RecordingCooldowns(["a"]))).model == A


def test_a_provider_that_asks_for_a_pause_gets_it() -> None:
    cooldowns = RecordingCooldowns()
    run(
        ScriptedProvider([limited(3600.0)]),
        ScriptedProvider(answering("b", B)),
        cooldowns=cooldowns,
    )
    assert cooldowns.rests == {"a": 3600.0}


def test_a_wrong_key_is_no_reason_to_rest() -> None:
    cooldowns = RecordingCooldowns()
    run(
        ScriptedProvider([AuthFailed("k")]),
        ScriptedProvider(answering("b", B)),
        cooldowns=cooldowns,
    )
    assert cooldowns.rests == {}


def test_the_profile_of_the_model_goes_along() -> None:
    a = ScriptedProvider(answering("a", ModelRef("a", "smollm2-135m-instruct")))
    router = Router(ProviderTable({"a": a}))
    list(router.stream((ModelRef("a", "smollm2-135m-instruct"),), REQUEST, Interrupt()))
    assert a.requests[0][2].tools is False
