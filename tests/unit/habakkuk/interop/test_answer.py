"""The text of one turn for a client that cannot take anything back (blueprint §9)."""

from __future__ import annotations

from habakkuk.events.types import Event, EventType
from habakkuk.interop.answer import AnswerText
from tests.unit.habakkuk.interop.test_live import made, text

MARK = "\n\n[interrupted, answering again]\n\n"


def shown(answer: AnswerText, *events: Event) -> str:
    return "".join(answer.see(event) for event in events)


def test_what_was_streamed_is_not_sent_again() -> None:
    answer = AnswerText("t")
    assert shown(answer, text(1, 0, "one "), text(2, 4, "two")) == "one two"
    assert answer.finish("one two") == ""


def test_without_live_events_the_stored_answer_comes_whole() -> None:
    assert AnswerText("t").finish("all of it") == "all of it"


def test_what_live_events_did_not_bring_comes_at_the_end() -> None:
    answer = AnswerText("t")
    shown(answer, text(1, 0, "one "))
    assert answer.finish("one two") == "two"


def test_blanks_that_the_stored_answer_lacks_are_no_difference() -> None:
    answer = AnswerText("t")
    shown(answer, text(1, 0, "\n one \n"))
    assert answer.finish("one") == ""


def test_a_blank_line_stands_where_a_tool_call_fell() -> None:
    answer = AnswerText("t")
    sent = shown(
        answer,
        text(1, 0, "Let me look.", step=1),
        made(EventType.STEP_DONE, 2, step=1),
        text(3, 0, "It is", step=3),
    )
    assert sent == "Let me look.\n\nIt is"
    assert answer.finish("It is done") == " done"


def test_a_crash_with_text_shown_is_said() -> None:
    answer = AnswerText("t")
    sent = shown(
        answer,
        text(1, 0, "half an ans"),
        made(EventType.STEP_RESET, 1, fence=2),
        text(2, 0, "A new answer", fence=2),
    )
    assert sent == f"half an ans{MARK}A new answer"
    assert answer.finish("A new answer") == ""


def test_a_crash_with_nothing_shown_is_not_said() -> None:
    answer = AnswerText("t")
    sent = shown(answer, made(EventType.STEP_RESET, 1, fence=2), text(2, 0, "answer", fence=2))
    assert sent == "answer"


def test_a_crash_whose_new_text_was_not_heard_is_said_at_the_end() -> None:
    answer = AnswerText("t")
    shown(answer, text(1, 0, "half"), made(EventType.STEP_RESET, 1, fence=2))
    assert answer.finish("A new answer") == f"{MARK}A new answer"


def test_an_answer_that_differs_from_what_was_shown_is_given_whole() -> None:
    answer = AnswerText("t")
    shown(answer, text(1, 0, "half"))
    assert answer.finish("A new answer") == f"{MARK}A new answer"


def test_text_before_a_tool_call_is_no_difference() -> None:
    answer = AnswerText("t")
    shown(answer, text(1, 0, "Let me look.", step=1), made(EventType.STEP_DONE, 2, step=1))
    assert answer.finish("It is done") == "\n\nIt is done"


def test_other_turns_of_the_session_are_not_shown() -> None:
    answer = AnswerText("t")
    assert shown(answer, text(1, 0, "not mine", turn="u")) == ""
    assert answer.replay([text(1, 0, "not mine", turn="u"), text(1, 0, "mine", fence=2)]) == "mine"


def test_a_gap_holds_the_text_back_until_it_is_filled() -> None:
    answer = AnswerText("t")
    assert shown(answer, text(1, 0, "a"), text(3, 2, "c")) == "a"
    assert answer.gap
    assert answer.replay([text(1, 0, "a"), text(2, 1, "b"), text(3, 2, "c")]) == "bc"


def test_a_stream_that_lost_its_beginning_shows_nothing_before_the_end() -> None:
    answer = AnswerText("t")
    assert answer.replay([text(9, 40, "tail")]) == ""
    assert shown(answer, text(10, 44, " end")) == ""
    assert answer.finish("the whole") == "the whole"


def test_a_stream_that_lost_its_middle_shows_nothing_after_it() -> None:
    answer = AnswerText("t")
    assert shown(answer, text(1, 0, "abc")) == "abc"
    assert answer.replay([text(9, 6, "ghi")]) == ""
    assert answer.finish("abcdefghi") == "defghi"


def test_a_gap_that_cannot_be_filled_is_made_good_at_the_end() -> None:
    answer = AnswerText("t")
    shown(answer, text(1, 0, "abc"))
    shown(answer, text(9, 6, "ghi"))
    assert answer.gap
    answer.replay([])
    assert answer.finish("abcdefghi") == "defghi"
