"""A person's conversations as a list: found, named, put away, exported, removed."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from habakkuk.accounts.types import Principal, Role, Scope, User
from habakkuk.conversations.shelf import Shelf
from habakkuk.conversations.store.shelf import Page, Shelved
from habakkuk.conversations.types import Address
from habakkuk.core.errors import Conflict, Invalid, NotFound
from tests.fakes.stack import Stack, until


@pytest.fixture
def shelf(stack: Stack) -> Shelf:
    return stack.container.shelf


def at(chat: str) -> Address:
    return Address("web", "web", chat)


def listed(stack: Stack, *, archived: bool = False, limit: int = 50) -> list[Shelved]:
    page = Page(archived=archived, limit=limit)
    return list(stack.container.shelf.listed(stack.principal, "web", page))


def found(stack: Stack, words: str) -> list[str]:
    return [row.chat for row in stack.container.shelf.search(stack.principal, "web", words)]


def stranger() -> Principal:
    return Principal(User("someone", "someone", Role.MEMBER), frozenset(Scope))


def test_the_newest_come_first_with_the_first_line_as_title(stack: Stack) -> None:
    stack.say("Sow the barley\nand the oats", "one")
    stack.say("Mend the roof", "two")
    assert [row.title for row in listed(stack)] == ["Mend the roof", "Sow the barley"]
    assert [row.named for row in listed(stack)] == [False, False]


def test_a_long_first_line_is_shortened(stack: Stack) -> None:
    stack.say("word " * 100, "one")
    (row,) = listed(stack)
    assert row.title is not None
    assert len(row.title) == 80
    assert row.title.endswith("…")


def test_the_session_keeps_the_automatic_title(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("Sow the barley", "one")
    stack.ended(admitted)
    row = stack.container.database.run(
        text("SELECT title, title_source FROM sessions WHERE id = :id"), id=admitted.session_id
    )[0]
    assert (row.title, row.title_source) == ("Sow the barley", "auto")


def test_a_title_by_hand_outlives_turns_and_an_empty_one_goes_back(
    stack: Stack, shelf: Shelf
) -> None:
    stack.say("Sow the barley", "one")
    shelf.name(stack.principal, at("one"), "  My\n field ")
    stack.start()
    stack.ended(stack.say("And more", "one"))
    assert [(row.title, row.named) for row in listed(stack)] == [("My field", True)]
    shelf.name(stack.principal, at("one"), " ")
    assert [(row.title, row.named) for row in listed(stack)] == [("Sow the barley", False)]


def test_a_fresh_session_keeps_the_conversations_title(stack: Stack) -> None:
    stack.say("Sow the barley", "one")
    stack.start()
    stack.say("/new", "one")
    stack.ended(stack.say("Something else", "one"))
    assert [row.title for row in listed(stack)] == ["Sow the barley"]


def test_a_title_has_an_end(stack: Stack, shelf: Shelf) -> None:
    stack.say("x", "one")
    with pytest.raises(Invalid, match="200"):
        shelf.name(stack.principal, at("one"), "x" * 201)


def test_pages_follow_each_other(stack: Stack, shelf: Shelf) -> None:
    for name in ("one", "two", "three"):
        stack.say(name, name)
    first = listed(stack, limit=2)
    page = Page(limit=2, before=first[-1].updated)
    rest = shelf.listed(stack.principal, "web", page)
    assert [row.chat for row in [*first, *rest]] == ["three", "two", "one"]
    assert shelf.count(stack.principal, "web") == 3


def test_archived_ones_stand_apart(stack: Stack, shelf: Shelf) -> None:
    stack.say("x", "one")
    shelf.archive(stack.principal, at("one"), archived=True)
    assert listed(stack) == []
    assert [row.chat for row in listed(stack, archived=True)] == ["one"]
    shelf.archive(stack.principal, at("one"), archived=False)
    assert [row.chat for row in listed(stack)] == ["one"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("The Harvest plan", "harvest"),
        ("今日は畑の計画について", "計画"),
        ("오늘의 밭 계획", "계획"),
        ("100 % of it_all", "% of it_"),
        ("quote ' and \\ back", "' and \\"),
    ],
)
def test_search_finds_words_as_they_are(stack: Stack, body: str, words: str) -> None:
    stack.say(body, "one")
    stack.say("nothing of it", "two")
    assert found(stack, words) == ["one"]


def test_a_hit_names_its_message_and_the_words_around(stack: Stack, shelf: Shelf) -> None:
    stack.say("first", "one")
    stack.say("a" * 300 + " needle " + "b" * 300, "one")
    (row,) = shelf.search(stack.principal, "web", "needle")
    assert row.hit is not None
    assert row.hit.seq == 2
    assert "needle" in row.hit.excerpt
    assert len(row.hit.excerpt) == 160


def test_search_finds_titles_and_archived_ones(stack: Stack, shelf: Shelf) -> None:
    stack.say("x", "one")
    shelf.name(stack.principal, at("one"), "Granary")
    shelf.archive(stack.principal, at("one"), archived=True)
    assert found(stack, "granary") == ["one"]


def test_search_passes_over_what_was_withdrawn(stack: Stack) -> None:
    stack.say("x", "one")
    admitted = stack.say("secret", "one")
    stack.container.amendments.withdraw(stack.principal, at("one"), admitted.seq)
    assert found(stack, "secret") == []


@pytest.mark.parametrize("words", ["", "  ", "x" * 201])
def test_a_search_needs_words(shelf: Shelf, stack: Stack, words: str) -> None:
    with pytest.raises(Invalid):
        shelf.search(stack.principal, "web", words)


def test_what_is_being_answered_is_said(stack: Stack) -> None:
    stack.say("x", "one")
    assert [row.busy for row in listed(stack)] == ["pending"]
    stack.start()
    stack.ended(stack.say("y", "one"))
    assert [row.busy for row in listed(stack)] == [None]


def test_what_a_person_paused_is_said_also_when_more_waits_behind_it(stack: Stack) -> None:
    stack.start()
    stack.say('[[tool look {"seconds": 1.5}]] [[next]] work', "one")
    until(lambda: stack.trace("looks.log"))
    stack.say("/pause", "one")
    until(lambda: [row.busy for row in listed(stack)] == ["paused"])
    stack.say("and then?", "one")
    assert [row.busy for row in listed(stack)] == ["paused"]
    stack.say("/stop", "one")


def test_removal_is_refused_while_a_turn_is_alive(stack: Stack, shelf: Shelf) -> None:
    stack.say("x", "one")
    with pytest.raises(Conflict, match="still being answered"):
        shelf.remove(stack.principal, at("one"))
    assert [row.chat for row in listed(stack)] == ["one"]


def test_removal_leaves_nothing(stack: Stack, shelf: Shelf) -> None:
    stack.start()
    stack.ended(stack.say("[[tool look {}]] go", "one"))
    shelf.remove(stack.principal, at("one"))
    tables = (
        "conversations",
        "sessions",
        "messages",
        "turns",
        "tool_calls",
        "chat_messages",
        "jobs",
    )
    left = {
        name: stack.container.database.run(text(f"SELECT count(*) AS n FROM {name}"))[0].n
        for name in tables
    }
    assert left == dict.fromkeys(tables, 0)


def test_a_removed_name_begins_anew(stack: Stack, shelf: Shelf) -> None:
    stack.start()
    stack.ended(stack.say("old", "one"))
    shelf.remove(stack.principal, at("one"))
    assert stack.reply(stack.say("new", "one")).body == "echo: new"
    assert [row.title for row in listed(stack)] == ["new"]


def test_the_export_has_every_message_in_order(stack: Stack, shelf: Shelf) -> None:
    stack.start()
    stack.ended(stack.say("**one**", "one"))
    stack.ended(stack.say("Broken [[status 400]]", "one"))
    exported = "".join(shelf.export(stack.principal, at("one")))
    assert exported.startswith("# **one**\n")
    assert exported.index("**one**\n") < exported.index("echo: **one**") < exported.index("Broken")
    assert "## Habakkuk (error), " in exported


def test_another_persons_is_not_there(stack: Stack, shelf: Shelf) -> None:
    stack.say("x", "one")
    own = stranger()
    assert shelf.listed(own, "web", Page()) == []
    assert shelf.search(own, "web", "x") == []
    for attempt in (
        lambda: shelf.one(own, at("one")),
        lambda: shelf.name(own, at("one"), "mine"),
        lambda: shelf.archive(own, at("one"), archived=True),
        lambda: shelf.remove(own, at("one")),
        lambda: shelf.export(own, at("one")),
    ):
        with pytest.raises(NotFound):
            attempt()
