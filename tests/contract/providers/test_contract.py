"""What every provider must do, whatever its wire format."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

import pytest

from habakkuk.core.errors import LlmError
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.llm.contract import (
    AuthFailed,
    BillingFailed,
    ContextOverflow,
    ModelMissing,
    NetworkFailed,
    Overloaded,
    Profile,
    RateLimited,
    RequestTooLarge,
)
from habakkuk.llm.types import (
    LlmEvent,
    StopReason,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolCallStarted,
    Usage,
)
from tests.contract.providers.conftest import REQUEST, Bench

Beside = Callable[[Callable[[], None]], threading.Thread]


def shown_before(
    bench: Bench, scenario: str, error: type[Exception], **changes: object
) -> tuple[str, Exception]:
    """Return the text that a failing scenario showed, and its error."""
    bench.scenario = scenario
    shown: list[LlmEvent] = []
    with bench.provider(**changes) as provider:
        events = provider.stream("m", REQUEST, Profile(), Interrupt())
        with pytest.raises(error) as caught:
            shown.extend(events)
    return "".join(event.text for event in shown if isinstance(event, TextDelta)), caught.value


# Answers.


def test_text_comes_as_deltas_and_whole(bench: Bench) -> None:
    shown, finished = bench.ask("text")
    assert shown == [TextDelta("Hel"), TextDelta("lo")]
    assert finished.blocks == (Text(text="Hello"),)
    assert finished.stop is StopReason.END
    assert str(finished.model) == "mine/m"


def test_the_request_is_one_that_services_accept(bench: Bench) -> None:
    bench.ask("text")
    assert bench.server.violations == []


def test_usage_is_told(bench: Bench) -> None:
    assert bench.ask("text")[1].usage == Usage(input=11, output=3)


def test_usage_has_the_cached_and_the_reasoning_tokens(bench: Bench) -> None:
    assert bench.ask("usage")[1].usage == Usage(20, 8, cache_read=5, reasoning=3)


def test_a_blank_answer_has_no_block(bench: Bench) -> None:
    _, finished = bench.ask("blank")
    assert finished.blocks == ()
    assert finished.notices


def test_thinking_is_kept_apart(bench: Bench) -> None:
    shown, finished = bench.ask("thinking")
    assert shown == [ThinkingDelta("hm"), TextDelta("Hi")]
    thought, said = finished.blocks
    assert isinstance(thought, Thinking)
    assert (thought.text, thought.provider, thought.signature) == ("hm", "mine", None)
    assert said == Text(text="Hi")


def test_a_tool_call(bench: Bench) -> None:
    shown, finished = bench.ask("call")
    assert shown == [ToolCallStarted(0, "add")]
    assert finished.blocks == (ToolCall(id="c1", name="add", input={"a": 1}),)
    assert finished.stop is StopReason.TOOL_USE


def test_parallel_calls(bench: Bench) -> None:
    _, finished = bench.ask("two calls")
    assert [block.id for block in finished.blocks if isinstance(block, ToolCall)] == ["c1", "c2"]


def test_a_call_without_an_id_gets_one(bench: Bench) -> None:
    (block,) = bench.ask("call without id")[1].blocks
    assert isinstance(block, ToolCall)
    assert block.id.strip()


def test_a_call_that_was_cut_has_a_fault_and_no_input(bench: Bench) -> None:
    (block,) = bench.ask("cut call")[1].blocks
    assert isinstance(block, ToolCall)
    assert block.fault
    assert block.input == {}


def test_a_promised_call_that_did_not_come_is_an_end(bench: Bench) -> None:
    _, finished = bench.ask("promised call")
    assert (finished.stop, finished.blocks) == (StopReason.END, (Text(text="Done."),))


def test_an_unknown_reason_to_stop_keeps_the_text(bench: Bench) -> None:
    _, finished = bench.ask("unknown stop")
    assert (finished.stop, finished.blocks) == (StopReason.UNKNOWN, (Text(text="All."),))
    assert finished.notices


def test_a_refusal_can_be_seen(bench: Bench) -> None:
    shown, finished = bench.ask("refusal")
    assert finished.stop is StopReason.REFUSAL
    assert any(isinstance(event, TextDelta) and event.text.strip() for event in shown)
    assert finished.blocks


def test_what_no_database_can_hold_is_replaced(bench: Bench) -> None:
    assert bench.ask("surrogate")[1].blocks == (Text(text="a\ufffdb\ufffd"),)


# Failures.


@pytest.mark.parametrize("scenario", ["cut", "clean cut"])
def test_a_stream_that_breaks_off_is_no_answer(bench: Bench, scenario: str) -> None:
    text, error = shown_before(bench, scenario, NetworkFailed)
    assert text == "half an"
    assert isinstance(error, LlmError)
    assert error.retryable


@pytest.mark.parametrize("scenario", ["cut before text", "empty"])
def test_nothing_at_all_is_a_failure_that_passes(bench: Bench, scenario: str) -> None:
    text, error = shown_before(bench, scenario, NetworkFailed)
    assert text == ""
    assert isinstance(error, LlmError)
    assert error.retryable


def test_an_answer_that_lost_only_its_tail_counts(bench: Bench) -> None:
    assert bench.ask("cut after finish")[1].blocks == (Text(text="All."),)


def test_silence_within_an_answer_ends_after_the_stall_timeout(bench: Bench) -> None:
    _, error = shown_before(bench, "stall", NetworkFailed, stall_timeout=0.2)
    assert "(stall_timeout)" in str(error)


def test_an_answer_that_does_not_begin_ends_after_the_first_byte_timeout(bench: Bench) -> None:
    _, error = shown_before(bench, "silence", NetworkFailed, first_byte_timeout=0.2)
    assert "(first_byte_timeout)" in str(error)


def test_signs_of_life_alone_are_no_answer(bench: Bench) -> None:
    _, error = shown_before(bench, "keep-alives", NetworkFailed, ping_timeout=0.3)
    assert "(ping_timeout)" in str(error)


@pytest.mark.parametrize("scenario", ["keep-alives", "flood"])
def test_a_call_ends_after_its_timeout_even_if_bytes_come(bench: Bench, scenario: str) -> None:
    _, error = shown_before(bench, scenario, NetworkFailed, timeout=0.3)
    assert "timeout" in str(error)


@pytest.mark.parametrize(
    ("scenario", "text"), [("error inside", "half"), ("error at once", ""), ("error body", "")]
)
def test_an_error_inside_a_200_is_an_error(bench: Bench, scenario: str, text: str) -> None:
    assert shown_before(bench, scenario, Overloaded)[0] == text


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        ("401", AuthFailed),
        ("402", BillingFailed),
        ("404", ModelMissing),
        ("413", RequestTooLarge),
        ("429", RateLimited),
        ("500", Overloaded),
        ("too long", ContextOverflow),
        ("html", ModelMissing),
    ],
)
def test_errors_have_their_class(bench: Bench, scenario: str, expected: type[LlmError]) -> None:
    shown_before(bench, scenario, expected)
    assert len(bench.server.requests) == 1, "a provider does not retry"


def test_a_named_wait_is_passed_on(bench: Bench) -> None:
    _, error = shown_before(bench, "429", RateLimited)
    assert isinstance(error, RateLimited)
    assert error.retry_after == 7.0


def test_a_refused_key_is_named_but_not_told(bench: Bench) -> None:
    _, error = shown_before(bench, "401", AuthFailed)
    assert "MY_KEY" in str(error)
    assert "sk-secret-key" not in str(error)


def test_a_key_that_is_not_set_is_named_and_nothing_is_sent(bench: Bench) -> None:
    _, error = shown_before(bench, "text", AuthFailed, api_key="")
    assert "set MY_KEY" in str(error)
    assert bench.server.requests == []


@pytest.mark.parametrize("key", ["ключ", "two words", "line\nend", "nul\x00"])
def test_a_key_that_cannot_be_one_is_refused_unseen(bench: Bench, key: str) -> None:
    _, error = shown_before(bench, "text", AuthFailed, api_key=key)
    assert "MY_KEY" in str(error)
    assert key not in str(error)
    assert bench.server.requests == []


def test_a_keyless_server_gets_no_key(bench: Bench) -> None:
    bench.ask("text", api_key="", api_key_env=None)
    assert not {"authorization", "x-goog-api-key"} & set(bench.server.requests[0].headers)


def test_a_header_of_ones_own_can_carry_the_key(bench: Bench) -> None:
    own = {"Authorization": "Basic abc"}
    bench.ask("text", api_key="", api_key_env=None, headers=own)
    assert bench.server.requests[0].headers["authorization"] == "Basic abc"


def test_nothing_of_another_account_is_sent(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-somebody")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-somebody")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-somebody")
    monkeypatch.setenv("GOOGLE_API_KEY", "key-of-somebody")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Other: header-of-somebody")
    bench.ask("text", headers={"X-Team": "seven"})
    assert "of-somebody" not in str(bench.server.requests[0].headers)


def test_redirects_are_not_followed(bench: Bench) -> None:
    _, error = shown_before(bench, "redirect", ModelMissing)
    assert "redirect" in str(error)


def test_nobody_there_is_said_with_the_address(bench: Bench) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        _, error = shown_before(bench, "text", NetworkFailed, base_url=url)
    assert url in str(error)


def test_own_headers_are_sent(bench: Bench) -> None:
    bench.ask("text", headers={"X-Team": "seven"})
    assert bench.server.requests[0].headers["x-team"] == "seven"


# Connections.


def test_ten_calls_need_one_connection(bench: Bench) -> None:
    with bench.provider() as provider:
        for _ in range(10):
            list(provider.stream("m", REQUEST, Profile(), Interrupt()))
    assert len(bench.server.requests) == 10
    assert bench.server.connections == 1


def test_more_calls_at_once_than_a_usual_pool_holds(bench: Bench, in_thread: Beside) -> None:
    many = 120
    all_here = threading.Barrier(many, timeout=20)
    answer = bench.server.script
    assert answer is not None

    def hold(request: object) -> object:
        all_here.wait()
        return answer(request)  # type: ignore[arg-type] # passed through

    bench.server.script = hold  # type: ignore[assignment] # passed through
    done: list[int] = []
    with bench.provider() as provider:

        def call() -> None:
            done.append(len(list(provider.stream("m", REQUEST, Profile(), Interrupt()))))

        threads = [in_thread(call) for _ in range(many)]
        for thread in threads:
            thread.join(30)
    assert done == [3] * many


# Stopping.


@pytest.mark.parametrize("scenario", ["stall", "silence"])
def test_a_trip_frees_the_socket_of_a_blocked_call(
    bench: Bench, scenario: str, in_thread: Beside, record_property: Callable[[str, object], None]
) -> None:
    bench.scenario = scenario
    interrupt = Interrupt()
    raised: list[Reason] = []
    with bench.provider(stall_timeout=300.0, first_byte_timeout=300.0) as provider:

        def call() -> None:
            try:
                list(provider.stream("m", REQUEST, Profile(), interrupt))
            except Interrupted as stop:
                raised.append(stop.reason)

        thread = in_thread(call)
        bench.server.wait_for(lambda: len(bench.server.requests) == 1)
        tripped = time.time()
        interrupt.trip(Reason.CANCELLED)
        bench.server.wait_for(lambda: len(bench.server.disconnects) == 1)
        thread.join(20)
    assert raised == [Reason.CANCELLED]
    record_property("seconds_to_free", bench.server.disconnects[0] - tripped)


def test_a_tripped_interrupt_sends_nothing(bench: Bench) -> None:
    interrupt = Interrupt()
    interrupt.trip(Reason.STOPPING)
    with bench.provider() as provider, pytest.raises(Interrupted):
        list(provider.stream("m", REQUEST, Profile(), interrupt))
    assert bench.server.requests == []


def test_a_call_works_after_another_was_stopped(bench: Bench) -> None:
    bench.scenario = "stall"
    interrupt = Interrupt()
    with bench.provider() as provider:
        events = provider.stream("m", REQUEST, Profile(), interrupt)
        assert next(events) == TextDelta("half")
        interrupt.trip(Reason.CANCELLED)
        with pytest.raises(Interrupted):
            next(events)
        bench.scenario = "text"
        assert len(list(provider.stream("m", REQUEST, Profile(), Interrupt()))) == 3


def test_a_late_trip_leaves_the_next_call_on_the_same_line_alone(bench: Bench) -> None:
    over, interrupt = Interrupt(), Interrupt()
    with bench.provider() as provider:
        list(provider.stream("m", REQUEST, Profile(), over))
        bench.scenario = "slow text"
        events = provider.stream("m", REQUEST, Profile(), interrupt)
        assert next(events) == TextDelta("Hel")
        over.trip(Reason.CANCELLED)
        assert next(events) == TextDelta("lo")
    assert bench.server.connections == 1


def test_a_reader_that_goes_away_closes_the_line(bench: Bench) -> None:
    bench.scenario = "stall"
    with bench.provider() as provider:
        events = provider.stream("m", REQUEST, Profile(), Interrupt())
        assert next(events) == TextDelta("half")
        events.close()  # type: ignore[attr-defined] # it is a generator
        bench.server.wait_for(lambda: len(bench.server.disconnects) == 1)


def test_a_trip_frees_a_call_that_waits_for_a_handshake(bench: Bench, in_thread: Beside) -> None:
    interrupt = Interrupt()
    raised: list[BaseException] = []
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"https://127.0.0.1:{mute.getsockname()[1]}/v1"
        with bench.provider(base_url=url) as provider:

            def call() -> None:
                try:
                    list(provider.stream("m", REQUEST, Profile(), interrupt))
                except Interrupted as stop:
                    raised.append(stop)

            thread = in_thread(call)
            client, _ = mute.accept()
            with client:
                # The hello has come: the call waits for the server's.
                assert client.recv(1)
                interrupt.trip(Reason.CANCELLED)
                thread.join(20)
    assert len(raised) == 1
