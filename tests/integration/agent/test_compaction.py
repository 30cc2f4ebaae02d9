"""Long sessions are summed up before they are too long, and nothing is lost (K31 to K34)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from habakkuk.agent.compaction.window import GAP
from habakkuk.conversations.store import compactions, transcript
from habakkuk.conversations.types import ChatKind, Outcome
from habakkuk.gateway.types import Admitted
from tests.fakes.model_script import DONE, Reply, Stall, chunk, sums_up, text_of
from tests.fakes.model_server import ModelServer, Recorded
from tests.fakes.stack import Points, Stack, until

SUMMARY = "The user is called Ada. Open: the report."
AGENTS = """
  short: {model: mine/fake-model, permissions: full, compact_at: 3000}
  twice: {model: mine/first-model, fallbacks: [mine/fake-model], permissions: full}
  never: {model: mine/fake-model, permissions: full, compact_at: -1}
"""


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str, model: ModelServer) -> Iterator[Stack]:
    model.script = scripted
    made = Stack(home, database_url, redis_url, model, more=AGENTS)
    yield made
    made.close()


def scripted(request: Recorded) -> Reply | None:
    return saying(SUMMARY) if sums_up(request.text) else None


def shown(request: Recorded) -> str:
    """Return all that the model was sent."""
    return "\n".join(text_of(message.get("content")) for message in request.body["messages"])


def saying(words: str) -> Reply:
    return Reply([chunk({"content": words}), chunk({}, "stop"), DONE])


def summaries(stack: Stack) -> list[Recorded]:
    return [request for request in stack.model.requests if sums_up(request.text)]


def say(stack: Stack, body: str, agent: str = "short") -> Admitted:
    return stack.say(body, agent=agent)


def grow(stack: Stack, turns: int, agent: str = "short") -> Admitted:
    """Say long things; each turn takes some 500 tokens, question and echo together."""
    said = [f"part {number} " + "word " * 200 for number in range(turns)]
    admitted = [stack.say(body, agent=agent) for body in said]
    stack.ended(admitted[-1])
    return admitted[-1]


def test_a_session_over_its_limit_is_summed_up_before_the_next_call(stack: Stack) -> None:
    stack.start()
    admitted = grow(stack, 9)
    (asked,) = summaries(stack)
    assert "part 0" in asked.text
    last = shown(stack.model.requests[-1])
    assert SUMMARY in last
    assert "part 0" not in last
    assert "part 8" in last
    assert stack.ended(admitted).outcome is Outcome.ANSWERED


def test_the_transcript_keeps_every_word(stack: Stack) -> None:
    stack.start()
    admitted = grow(stack, 9)
    stored = stack.container.conversations.transcript(stack.principal, admitted.session_id)
    assert len(stored) == 18
    assert "part 0" in stored[0].message.text


def test_the_session_stays_the_same(stack: Stack) -> None:
    stack.start()
    first = say(stack, "hello")
    assert grow(stack, 9).session_id == first.session_id


def test_the_prompt_stays_the_same_before_and_after(stack: Stack) -> None:
    stack.start()
    grow(stack, 9)
    systems = {
        r.body["messages"][0]["content"] for r in stack.model.requests if not sums_up(r.text)
    }
    assert len(systems) == 1


def test_what_is_sent_grows_at_its_end_alone_until_the_next_summary(stack: Stack) -> None:
    stack.start()
    grow(stack, 9)
    say(stack, "and now?")
    stack.ended(say(stack, "and then?"))
    before, after = (r.body["messages"] for r in stack.model.requests[-2:])
    assert after[: len(before)] == before


def test_summing_up_is_counted_as_a_call_of_its_own(stack: Stack) -> None:
    stack.start()
    admitted = grow(stack, 9)
    rows = stack.container.database.run(
        text("SELECT count(*) AS n FROM usage WHERE session_id = :id"), id=admitted.session_id
    )
    assert rows[0].n == 10


def test_a_session_is_never_summed_up_where_its_agent_says_so(stack: Stack) -> None:
    stack.start()
    grow(stack, 9, "never")
    assert summaries(stack) == []


def test_a_summary_that_fails_drops_the_old_part_and_says_so(stack: Stack) -> None:
    def script(request: Recorded) -> Reply | None:
        return Reply([], status=400) if sums_up(request.text) else None

    stack.model.script = script
    stack.start()
    admitted = grow(stack, 9)
    assert len(summaries(stack)) == 1
    assert "part 0" not in shown(stack.model.requests[-1])
    notices = [str(row.data.get("notice", "")) for row in stack.rows(admitted)]
    assert any("could not be summed up" in notice for notice in notices)


def test_a_summary_that_is_no_shorter_is_not_used(stack: Stack) -> None:
    def script(request: Recorded) -> Reply | None:
        return saying("long " * 9_000) if sums_up(request.text) else None

    stack.model.script = script
    stack.start()
    grow(stack, 9)
    assert len(shown(stack.model.requests[-1])) < 4 * 3000


def test_an_overflow_below_the_limit_is_summed_up_once_and_asked_again(stack: Stack) -> None:
    refused: list[Recorded] = []

    def script(request: Recorded) -> Reply | None:
        if (
            sums_up(request.text)
            or "part 0" not in shown(request)
            or "part 3" not in shown(request)
        ):
            return scripted(request)
        refused.append(request)
        error = '{"error": {"code": "context_length_exceeded", "message": "too long"}}'
        return Reply([error.encode()], status=400, content_type="application/json")

    stack.model.script = script
    stack.start()
    admitted = grow(stack, 4)
    assert stack.ended(admitted).outcome is Outcome.ANSWERED
    assert (len(refused), len(summaries(stack))) == (1, 1)


def test_an_overflow_that_nothing_helps_ends_with_what_to_do(stack: Stack) -> None:
    error = b'{"error": {"code": "context_length_exceeded", "message": "too long"}}'
    stack.model.script = lambda _: Reply([error], status=400, content_type="application/json")
    stack.start()
    reply = stack.reply(say(stack, "hello"))
    assert "longer than" in reply.body
    assert len(stack.model.requests) == 1


@pytest.mark.parametrize("point", ["compaction.write.before", "compaction.write.after"])
def test_a_kill_around_the_record_leaves_one_answer_and_a_short_session(
    stack: Stack, point: str
) -> None:
    stack.start()
    admitted = grow(stack, 6)
    stack.stop()
    points = Points({point: 1})
    stack.start(points)
    last = say(stack, "part 6 " + "word " * 200)
    until(lambda: point in points.passed)
    stack.stop()
    stack.take_over(last)
    stack.start()
    stack.container.wake.wake("turns", last.turn_id or "")
    assert stack.ended(last).outcome is Outcome.ANSWERED
    records = compactions.of_session(stack.container.database, admitted.session_id)
    assert len(records) == 1


def test_one_result_too_long_for_the_model_is_cut_and_the_task_answered(stack: Stack) -> None:
    stack.start()
    admitted = say(stack, '[[tool misbehave {"how": "flood"}]] [[next]] [[tool look {}]] sum it up')
    assert stack.ended(admitted).outcome is Outcome.ANSWERED
    last = shown(stack.model.requests[-1])
    assert "sum it up" in last
    assert "characters left out" in last
    assert len(last) < 4 * 3000


# Asked for.


def test_compact_sums_up_now_and_says_what_became_of_it(stack: Stack) -> None:
    stack.start()
    admitted = grow(stack, 4)
    say(stack, "/compact")
    until(lambda: any("Summed up: about" in row.body for row in stack.rows(admitted)))
    stack.ended(say(stack, "and now?"))
    assert SUMMARY in shown(stack.model.requests[-1])
    assert "part 3" in shown(stack.model.requests[-1])


def test_compact_of_a_short_session_says_that_there_is_nothing_to_do(stack: Stack) -> None:
    stack.start()
    admitted = say(stack, "hello")
    stack.ended(admitted)
    say(stack, "/compact")
    until(lambda: any("nothing to sum up" in row.body for row in stack.rows(admitted)))
    assert summaries(stack) == []


def test_a_message_meanwhile_waits_and_is_answered(stack: Stack) -> None:
    stack.start()
    admitted = grow(stack, 4)

    def script(request: Recorded) -> Reply | None:
        if sums_up(request.text):
            late.append(say(stack, "meanwhile"))
        return scripted(request)

    late: list[Admitted] = []
    stack.model.script = script
    say(stack, "/compact")
    until(lambda: late)
    assert "meanwhile" in stack.reply(late[0]).body
    kinds = [row.kind for row in stack.rows(admitted)]
    assert ChatKind.NOTICE in kinds
    loaded = transcript.from_compaction(stack.container.database, admitted.session_id)
    assert loaded.compaction is not None


# When no summary can be made.


def failing_summaries(stack: Stack, reply: Reply) -> None:
    stack.model.script = lambda request: reply if sums_up(request.text) else None


REFUSED = Reply([chunk({"content": "No."}), chunk({}, "content_filter"), DONE])
CUT_SHORT = Reply([chunk({"content": "- The user wants"}), chunk({}, "length"), DONE])


@pytest.mark.parametrize("reply", [REFUSED, CUT_SHORT, saying("")])
def test_what_is_no_summary_never_stands_for_the_conversation(stack: Stack, reply: Reply) -> None:
    stack.start()
    failing_summaries(stack, reply)
    admitted = grow(stack, 9)
    records = compactions.of_session(stack.container.database, admitted.session_id)
    assert {record.summary for record in records} == {GAP}


def test_an_outage_takes_nothing_away_while_the_session_still_fits(stack: Stack) -> None:
    stack.start()
    failing_summaries(stack, Reply([], status=401))
    admitted = grow(stack, 9)
    assert "part 0" in shown(stack.model.requests[-1])
    assert compactions.of_session(stack.container.database, admitted.session_id) == []


def test_compact_takes_nothing_away_without_a_summary(stack: Stack) -> None:
    stack.start()
    failing_summaries(stack, REFUSED)
    admitted = grow(stack, 4)
    say(stack, "/compact")
    until(lambda: any("nothing of it was left out" in row.body for row in stack.rows(admitted)))
    assert compactions.of_session(stack.container.database, admitted.session_id) == []


def test_stop_ends_summing_up(stack: Stack) -> None:
    stack.start()
    admitted = grow(stack, 4)
    failing_summaries(stack, Reply([], before=[Stall()]))
    say(stack, "/compact")
    until(lambda: summaries(stack))
    say(stack, "/stop")
    until(lambda: any("was not summed up" in row.body for row in stack.rows(admitted)))
    assert "and now?" in stack.reply(say(stack, "and now?")).body


def test_a_long_request_is_not_summed_up_around_at_every_step(stack: Stack) -> None:
    stack.start()
    steps = " [[next]] ".join(f'[[tool effect {{"mark": "{n}"}}]]' for n in range(6))
    stack.ended(say(stack, f"{steps} " + "word " * 2_600))
    assert len(summaries(stack)) <= 1


# What is to be said of a turn.


def test_what_a_step_leaves_to_be_said_is_said_at_the_end(stack: Stack) -> None:
    """A fallback that answered with a call first: who failed is said with the answer."""
    left = [Reply([], status=401)]
    stack.model.script = lambda _: left.pop() if left else None
    stack.start()
    reply = stack.reply(say(stack, "[[tool look {}]] hello", "twice"))
    assert "failed" in reply.data["notice"]


def test_a_chosen_model_that_is_gone_is_passed_over_and_said(stack: Stack) -> None:
    stack.start()
    admitted = say(stack, "hello")
    stack.ended(admitted)
    stack.container.database.run(
        text("UPDATE sessions SET model = 'gone/model' WHERE id = :id"), id=admitted.session_id
    )
    reply = stack.reply(say(stack, "still there?"))
    assert "still there?" in reply.body
    assert "passed over" in reply.data["notice"]


def test_the_summary_after_an_overflow_is_asked_with_less_than_was_refused(stack: Stack) -> None:
    """A server with a shorter window than is known of its model."""

    def script(request: Recorded) -> Reply | None:
        if len(json.dumps(request.body["messages"])) < 8_000:
            return scripted(request)
        error = b'{"error": {"code": "context_length_exceeded", "message": "too long"}}'
        return Reply([error], status=400, content_type="application/json")

    stack.model.script = script
    stack.start()
    admitted = grow(stack, 12, "never")
    assert stack.ended(admitted).outcome is Outcome.ANSWERED
    records = compactions.of_session(stack.container.database, admitted.session_id)
    assert records
    assert all(SUMMARY in record.summary for record in records)
