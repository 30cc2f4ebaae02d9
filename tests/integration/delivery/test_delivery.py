"""Answers that leave the house: each once, as far as the platform lets that be known."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from sqlalchemy import text

from habakkuk.core.errors import NotFound, Unavailable
from habakkuk.gateway.intake import Fate
from tests.fakes.platform import DROP_AFTER, DROP_BEFORE, TAKE, Plan, Shown, refuse
from tests.fakes.stack import Points, until
from tests.integration.delivery.conftest import Phone, Phones


def test_a_message_is_answered_where_it_came_from(phones: Phones) -> None:
    phone = phones()
    phone.stack.start()
    received = phone.say("hello", thread="t1")
    assert received.fate is Fate.ACCEPTED
    until(lambda: phone.texts() == ["echo: hello"])
    shown = phone.platform.shown[0].body
    assert {k: shown[k] for k in ("chat", "thread", "reply_to", "turn", "kind")} == {
        "chat": "room",
        "thread": "t1",
        "reply_to": received.id,
        "turn": received.turn_id,
        "kind": "answer",
    }
    row = phone.delivery("sent")
    assert row.turn_id == received.turn_id
    (chunk,) = phone.rows("delivery_chunks")
    assert (chunk.state, chunk.platform_id, chunk.attempts) == ("sent", "p1", 1)


def test_a_long_answer_goes_out_in_order_in_parts(phones: Phones) -> None:
    phone = phones(limit=100)
    phone.stack.start()
    phone.say("go [[tokens 40]]")
    row = phone.delivery("sent")
    assert " ".join(phone.texts()) == row.body["text"]
    assert len(phone.texts()) > 2
    assert all(len(said) <= 100 for said in phone.texts())
    assert [s.body["part"] for s in phone.platform.shown] == [*range(1, len(phone.texts()) + 1)]


def test_what_comes_twice_is_answered_once(phones: Phones) -> None:
    phone = phones()
    phone.stack.start()
    request = phone.request("hello")
    first, second = (phone.stack.container.intake.receive("phone", request)[0][0] for _ in range(2))
    assert (first.fate, second.fate) == (Fate.ACCEPTED, Fate.DUPLICATE)
    assert first.turn_id == second.turn_id
    phone.delivery("sent")
    assert phone.texts() == ["echo: hello"]


def test_a_command_is_answered_outside_too(phones: Phones) -> None:
    phone = phones()
    phone.stack.start()
    received = phone.say("/status")
    until(lambda: len(phone.texts()) == 1)
    assert phone.texts() == [received.reply]
    assert phone.platform.shown[0].body["kind"] == "command"


def test_who_is_not_allowed_starts_nothing(phones: Phones) -> None:
    phone = phones()
    assert phone.say("hello", sender="mallory").fate is Fate.REFUSED
    assert phone.rows("jobs") == []
    assert [row.role for row in phone.rows("users")] == ["owner"]


def test_two_people_of_one_name_are_two(phones: Phones) -> None:
    phone = phones()
    for sender in ("alice", "bob"):
        phone.say("hello", sender=sender, sender_name="Bob")
    assert len({row.user_id for row in phone.rows("turns")}) == 2
    assert {row.role for row in phone.rows("users")} == {"owner", "member"}


def test_an_account_without_its_secret_takes_nothing(phones: Phones) -> None:
    phone = phones()
    with pytest.raises(Unavailable, match="not set up"):
        phone.say("hello", account="closed")
    with pytest.raises(NotFound):
        phone.say("hello", account="nobody")
    assert "NO_SECRET is not set" in phone.stack.container.channels.problems()[0]


def test_a_refusal_is_tried_again_when_the_receiver_says(phones: Phones) -> None:
    phone = phones()
    phone.platform.plans.append(refuse(503, retry_after="0"))
    phone.stack.start()
    phone.say("hello")
    phone.delivery("sent")
    (chunk,) = phone.rows("delivery_chunks")
    assert (chunk.attempts, chunk.uncertain) == (2, 0)
    assert len(phone.platform.posts) == 2
    assert len({post.key for post in phone.platform.posts}) == 1


def test_each_part_of_an_answer_has_all_tries(phones: Phones) -> None:
    """Two refusals of each part exceed the tries of one job; no part uses up its own."""
    phone = phones(limit=100)
    refused = refuse(503, retry_after="0")
    phone.platform.plans.extend([refused, refused, TAKE, refused, refused])
    points = Points({"delivery.plan.after": 1}, lambda: _allow(phone, tries=3))
    phone.stack.start(points)
    phone.say("go [[tokens 30]]")
    phone.delivery("sent")
    chunks = sorted(phone.rows("delivery_chunks"), key=lambda chunk: chunk.n)
    tries = [chunk.attempts for chunk in chunks]
    assert tries[:2] == [3, 3]


def test_a_part_that_goes_out_clears_its_worker_of_earlier_crashes(phones: Phones) -> None:
    """Else a long answer would be taken for what kills workers, and go on in the probe."""
    phone = phones(limit=100)
    points = Points({"delivery.send.before": 2})
    phone.stack.start(points)
    phone.say("go [[tokens 30]]")
    until(lambda: points.passed.count("delivery.send.before") == 2)
    phone.stack.stop()
    assert len(phone.texts()) == 1
    _free(phone)
    assert _delivery_job(phone).crashes == 1
    phone.stack.start()
    phone.delivery("sent")
    assert _delivery_job(phone).crashes == 0


def test_a_later_time_that_the_receiver_names_is_kept(phones: Phones) -> None:
    phone = phones()
    phone.platform.plans.append(refuse(429, retry_after="600"))
    phone.stack.start()
    phone.say("hello")
    until(lambda: phone.platform.posts and _delivery_job(phone).state == "pending")
    wait = _delivery_job(phone).run_at - _delivery_job(phone).created
    assert 590 < wait.total_seconds() < 700
    assert len(phone.platform.posts) == 1


def test_what_is_refused_for_good_is_a_failed_job_that_can_be_retried(phones: Phones) -> None:
    phone = phones()
    phone.platform.plans.append(refuse(400))
    phone.stack.start()
    phone.say("hello")
    row = phone.delivery("failed")
    assert "HTTP 400" in row.error
    job = _delivery_job(phone)
    assert job.state == "failed"
    with phone.stack.container.database.transaction() as work:
        assert phone.stack.container.jobs.retry(work, job.id)
    phone.delivery("sent")
    assert phone.texts() == ["echo: hello"]


@pytest.mark.parametrize("receiver", ["keyed", "read-back"])
@pytest.mark.parametrize("plan", [DROP_AFTER, DROP_BEFORE, Plan(answer=504)])
def test_an_unknown_outcome_is_made_certain(phones: Phones, receiver: str, plan: Plan) -> None:
    phone = phones(receiver)
    phone.platform.plans.append(plan)
    phone.stack.start()
    phone.say("hello")
    phone.delivery("sent")
    assert phone.texts() == ["echo: hello"]
    (chunk,) = phone.rows("delivery_chunks")
    assert chunk.uncertain == 0


def test_where_it_cannot_be_known_it_is_sent_again_and_counted(phones: Phones) -> None:
    phone = phones("plain")
    phone.platform.plans.append(DROP_AFTER)
    phone.stack.start()
    phone.say("hello")
    phone.delivery("sent")
    assert phone.texts() == ["echo: hello"] * 2
    (chunk,) = phone.rows("delivery_chunks")
    assert chunk.uncertain == 1


def test_or_held_until_a_person_lets_it_go(phones: Phones) -> None:
    phone = phones("plain", "hold")
    phone.platform.plans.append(DROP_AFTER)
    phone.stack.start()
    phone.say("hello")
    phone.delivery("held")
    assert phone.texts() == ["echo: hello"]
    with phone.stack.container.database.transaction() as work:
        phone.stack.container.jobs.retry(work, _delivery_job(phone).id)
    phone.delivery("sent")
    assert phone.texts() == ["echo: hello"] * 2


_POINTS = [
    "delivery.plan.after",
    "delivery.send.before",
    "delivery.send.after",
    "delivery.end.before",
]


@pytest.mark.parametrize("point", _POINTS)
@pytest.mark.parametrize("receiver", ["keyed", "read-back", "plain"])
def test_a_worker_that_dies_in_a_delivery(phones: Phones, point: str, receiver: str) -> None:
    phone = phones(receiver)
    points = Points({point: 1})
    phone.stack.start(points)
    phone.say("hello")
    until(lambda: point in points.passed)
    phone.stack.stop()
    _free(phone)
    phone.stack.start()
    phone.delivery("sent")
    (chunk,) = phone.rows("delivery_chunks")
    after = point in {"delivery.send.after", "delivery.end.before"}
    twice = receiver == "plain" and after
    assert phone.texts() == ["echo: hello"] * (2 if twice else 1)
    # Counted also where it had not arrived: nobody could know.
    doubtful = receiver == "plain" and point != "delivery.plan.after"
    assert chunk.uncertain == int(doubtful)


def test_a_request_that_may_still_be_on_its_way_is_given_time_to_arrive(phones: Phones) -> None:
    """Its worker is dead, and the platform, asked before it has read that, would deny it."""
    phone = phones("read-back")
    points = Points({"delivery.send.before": 1})
    phone.stack.start(points)
    phone.say("hello")
    until(lambda: "delivery.send.before" in points.passed)
    phone.stack.stop()
    _free(phone)
    (chunk,) = phone.rows("delivery_chunks")
    late = Shown(chunk.key, {"text": chunk.body})
    arrives = threading.Timer(0.3, phone.platform.shown.append, (late,))
    phone.stack.start(Points({"job.claim.after": 1}, arrives.start))
    phone.delivery("sent")
    arrives.join()
    assert phone.texts() == ["echo: hello"]


def test_a_request_that_a_proxy_gave_up_is_given_time_to_arrive(phones: Phones) -> None:
    """Its worker lives, and may come back at once: what stands behind the proxy is still at it."""
    phone = phones("read-back")
    phone.platform.plans.append(refuse(504, retry_after="0"))
    phone.stack.start()
    phone.say("hello")
    until(lambda: phone.platform.posts)
    arrives = threading.Timer(1.0, phone.platform.shown.append, phone.platform.posts[:1])
    arrives.start()
    phone.delivery("sent")
    arrives.join()
    assert phone.texts() == ["echo: hello"]


def test_a_reply_older_than_a_day_is_not_sent(phones: Phones) -> None:
    phone = phones()
    points = Points({"delivery.plan.after": 1})
    phone.stack.start(points)
    phone.say("hello")
    until(lambda: "delivery.plan.after" in points.passed)
    phone.stack.stop()
    phone.stack.container.database.run(
        text("UPDATE deliveries SET created = created - interval '25 hours'")
    )
    _free(phone)
    phone.stack.start()
    assert phone.delivery("expired").error == "it was not sent within a day"
    assert phone.texts() == []


def test_a_question_is_answered_by_the_words_of_the_one_who_asked(phones: Phones) -> None:
    phone = phones(agent="careful")
    phone.stack.start()
    phone.say("[[tool effect {}]] go")
    until(lambda: len(phone.texts()) == 1)
    asked = phone.platform.shown[0].body
    assert asked["kind"] == "approval"
    assert asked["approval"]
    assert asked["text"].startswith("May careful run effect?")
    phone.stack.read_questions()
    # To another person's words it stays a message, which waits its turn.
    assert phone.say("yes", sender="bob").turn_id is not None
    until(lambda: any("comes after the open question" in said for said in phone.texts()))
    assert phone.stack.trace("effects.log", "careful") == []
    phone.say("yes")
    until(lambda: any("done call" in said for said in phone.texts()))
    assert len(phone.stack.trace("effects.log", "careful")) == 1


def test_who_writes_after_a_question_is_told_so_while_other_calls_run(phones: Phones) -> None:
    """The turn has asked, and goes on as long as one of its calls takes."""
    phone = phones(agent="careful")
    phone.stack.start()
    turn = phone.say('[[tool effect {}]] [[tool look {"seconds": 20}]] go').turn_id
    until(lambda: len(phone.texts()) == 1)
    phone.say("what about it?")
    until(lambda: any("comes after the open question" in said for said in phone.texts()))
    (job,) = (row for row in phone.rows("jobs") if row.id == turn)
    assert job.state == "running"


def test_a_question_that_nobody_will_see_is_denied_at_once(phones: Phones) -> None:
    phone = phones(agent="careful")
    phone.platform.plans.append(refuse(410))
    phone.stack.start()
    phone.say("[[tool effect {}]] go")
    until(lambda: any("could not be asked" in said for said in phone.texts()))
    assert phone.stack.trace("effects.log", "careful") == []


def test_where_nothing_can_be_sent_nobody_is_asked(phones: Phones) -> None:
    phone = phones()
    phone.stack.start()
    received = phone.say("[[tool effect {}]] go", account="silent")
    until(lambda: phone.stack.turn(received.turn_id).ended is not None)
    assert phone.rows("deliveries") == []
    assert phone.stack.trace("effects.log", "careful") == []


def _delivery_job(phone: Phone) -> Any:
    (job,) = (row for row in phone.rows("jobs") if row.kind == "delivery")
    return job


def _allow(phone: Phone, tries: int) -> None:
    """Let the delivery's job fail for good after so many tries: a day's worth takes too long."""
    phone.stack.container.database.run(
        text("UPDATE jobs SET max_attempts = :tries WHERE kind = 'delivery'"), tries=tries
    )


def _free(phone: Phone) -> None:
    """Give back what the run that ended at a point still holds, as a sweep does."""
    phone.stack.container.database.run(
        text(
            "UPDATE jobs SET state = 'pending', crashes = crashes + 1, owner = NULL,"
            " owner_lock = NULL, lease_until = NULL WHERE kind = 'delivery' AND state = 'running'"
        )
    )
