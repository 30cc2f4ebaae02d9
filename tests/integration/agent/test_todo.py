"""The task list of a session: shown while a task is open, never lost, nothing of it twice."""

from __future__ import annotations

import json
import threading
from functools import partial
from typing import Any

import pytest

from habakkuk.conversations.todo import TodoList, TodoLists
from habakkuk.core.errors import NotFound
from habakkuk.gateway.types import Admitted
from tests.fakes.stack import Points, Stack, until


def _todo(**arguments: Any) -> str:
    return f"[[tool todo {json.dumps(arguments)}]]"


def _user_message(stack: Stack, admitted: Admitted) -> str:
    """Return the turn's message as it stands in the transcript."""
    stored = stack.container.conversations.transcript(stack.principal, admitted.session_id)
    return next(m.message.text for m in stored if m.job_id == admitted.turn_id)


ADD = _todo(action="add", items=["write it", "test it"])
NOTE = "\n\n[Your task list:\n1. [ ] write it\n2. [ ] test it]"


def test_an_open_list_stands_in_each_turns_message_until_all_is_done(stack: Stack) -> None:
    stack.start()
    first = stack.say(f"{ADD} begin")
    stack.reply(first)
    second = stack.say("go on")
    stack.reply(second)
    assert not _user_message(stack, first).endswith("]]")
    assert _user_message(stack, second).endswith(f"go on{NOTE}")
    stack.reply(stack.say(f"{_todo(action='complete', ids=[1, 2])} finish"))
    last = stack.say("and now?")
    stack.reply(last)
    assert "task list" not in _user_message(stack, last)
    # What was sent before stays as it was: the cached prefix of the session stands on it.
    assert _user_message(stack, second).endswith(NOTE)


def test_another_session_has_another_list(stack: Stack) -> None:
    stack.start()
    stack.reply(stack.say(f"{ADD} begin"))
    stack.say("/new")
    fresh = stack.say("hello")
    stack.reply(fresh)
    assert "task list" not in _user_message(stack, fresh)


@pytest.mark.parametrize(
    "point", ["tool.start.after", "tool.run.after", "tool.record.after", "turn.append.before"]
)
def test_a_crash_at_any_step_adds_once(stack: Stack, point: str) -> None:
    points = Points({point: 2 if point == "turn.append.before" else 1})
    stack.start(points)
    admitted = stack.say(f"{ADD} begin")
    until(lambda: points.passed.count(point) >= points.due[point])
    stack.stop()
    stack.take_over(admitted)
    stack.start()
    assert "1. [ ] write it" in stack.reply(admitted).body
    after = stack.say("go on")
    stack.reply(after)
    assert _user_message(stack, after).endswith(NOTE)


def test_changes_at_the_same_time_are_all_kept(stack: Stack) -> None:
    lists = TodoLists(stack.container.database)
    stack.start()
    session = stack.say("hello").session_id

    def add(name: int) -> None:
        for n in range(5):
            lists.change(session, partial(TodoList.add, texts=[f"{name} {n}"], call=f"{name}.{n}"))

    threads = [threading.Thread(target=add, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    todo = lists.change(session, lambda todo: todo)
    assert [item.number for item in todo.items] == list(range(1, 21))
    assert len({item.text for item in todo.items}) == 20


def test_a_session_that_is_gone_has_no_list(stack: Stack) -> None:
    with pytest.raises(NotFound):
        TodoLists(stack.container.database).change("ses_none", lambda todo: todo)


def test_a_wrong_call_is_told_to_the_model(stack: Stack) -> None:
    stack.start()
    reply = stack.reply(stack.say(f"{_todo(action='complete', ids=[9])} work"))
    assert "the task list has no item 9" in reply.body
    reply = stack.reply(stack.say(f"{_todo(action='add')} work"))
    assert "add needs items" in reply.body
