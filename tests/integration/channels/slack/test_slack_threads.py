"""Answers whose thread is gone or cannot be: seen once, in the chat itself (cases: K2, K14)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from habakkuk.channels.contract import NotSent, OutcomeUnknown
from habakkuk.channels.messages import OutboundMessage
from tests.fakes.platform import DROP_AFTER, DROP_BEFORE
from tests.fakes.slack_server import TEAM, Refusal, SlackServer
from tests.integration.channels.slack.parts import app

_THREAD = "1515449522.000016"
_ANSWER = OutboundMessage("key1", "C1", _THREAD, "**hello**", "answer")


@pytest.mark.parametrize(("plan", "there"), [(DROP_AFTER, True), (DROP_BEFORE, False)])
def test_an_answer_whose_thread_is_gone_is_found_in_the_chat(
    slack: SlackServer, plan: Any, there: bool
) -> None:
    """Slack posts it there when the first message was deleted meanwhile, and says nothing."""
    slack.gone.add(_THREAD)
    slack.plans.append(plan)
    with pytest.raises(OutcomeUnknown):
        app(slack).send(_ANSWER)
    found = app(slack).find(_ANSWER)
    wanted = f"{TEAM}:C1:{slack.posts[0].ts}" if there else None
    assert (found.id if found else None) == wanted


def test_a_thread_that_cannot_be_read_is_no_proof(slack: SlackServer) -> None:
    slack.refusals["conversations.replies"].append(
        Refusal("missing_scope", needed="groups:history")
    )
    with pytest.raises(NotSent):
        app(slack).find(_ANSWER)


def test_what_takes_no_thread_is_answered_in_the_chat(slack: SlackServer) -> None:
    """As a message of `/me`."""
    slack.closed.add(_THREAD)
    app(slack).send(_ANSWER)
    assert app(slack).draft("C1", _THREAD, None, "at work")
    assert [(one.text, one.thread) for one in slack.shown] == [("**hello**", ""), ("at work", "")]
    assert app(slack).find(_ANSWER) is not None
    assert app(slack).find(replace(_ANSWER, key="key2")) is None
