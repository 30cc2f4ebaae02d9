"""Who sees what, and what the stores promise (blueprint §11)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from psycopg2 import IntegrityError
from sqlalchemy import text

from habakkuk.accounts.types import Principal, Role, Scope, User
from habakkuk.conversations.service import Conversations
from habakkuk.conversations.store import addresses, chat, journal, transcript, turns
from habakkuk.conversations.store.journal import Place
from habakkuk.conversations.types import (
    Address,
    Author,
    CallState,
    ChatState,
    Conversation,
    NewChatMessage,
    Outcome,
    session_of,
)
from habakkuk.core.errors import NotFound
from habakkuk.db.engine import Database
from habakkuk.llm.types import (
    Media,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from habakkuk.llm.types import (
    Role as Speaker,
)
from tests.integration.jobs.bench import in_threads

ADDRESS = Address("web", "web", "c", "")
CALL = ToolCall(id="call_1", name="look", input={"a": 1})


def who(name: str, role: Role = Role.MEMBER) -> Principal:
    return Principal(User(name, name, role), frozenset(Scope))


OWNER, ADA, BOB = who("owner", Role.OWNER), who("ada"), who("bob")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    pool = Database(database_url, pool_size=12, name="test")
    for person in (OWNER, ADA, BOB):
        pool.run(
            text("INSERT INTO users (id, name, role) VALUES (:id, :id, :role)"),
            id=person.user.id,
            role=person.user.role,
        )
    yield pool
    pool.dispose()


@pytest.fixture
def conversations(database: Database) -> Conversations:
    return Conversations(database)


def made(database: Database, user: str | None = "ada", address: Address = ADDRESS) -> Conversation:
    fresh = Conversation(
        f"conv_{address.chat}", address, user, "habakkuk", f"ses_{address.chat}", 1
    )
    with database.transaction() as work:
        addresses.create(work, fresh)
    return fresh


def turn_in(database: Database, conversation: Conversation, turn_id: str = "turn_1") -> str:
    database.run(
        text(
            "INSERT INTO turns (id, session_id, conversation_id, user_id, agent, origin, reply_to)"
            " VALUES (:id, :session, :conversation, :user, 'habakkuk', 'api', '{\"to\": 1}')"
        ),
        id=turn_id,
        session=conversation.session_id,
        conversation=conversation.id,
        user=conversation.user_id,
    )
    return turn_id


def said(database: Database, conversation: Conversation, *bodies: str, **fields: Any) -> list[int]:
    with database.transaction() as work:
        addresses.lock_by_id(work, conversation.id)
        seqs = [
            chat.add(
                work,
                conversation.id,
                NewChatMessage(
                    **{"author": Author.USER, "body": body} | {"state": ChatState.QUEUED} | fields
                ),
            )
            for body in bodies
        ]
    return [seq for seq in seqs if seq is not None]


@pytest.mark.parametrize("person", [ADA, OWNER])
def test_a_person_and_the_owner_see_what_is_the_persons(
    database: Database, conversations: Conversations, person: Principal
) -> None:
    conversation = made(database)
    turn = turn_in(database, conversation)
    assert conversations.find(person, ADDRESS).id == conversation.id
    assert conversations.session(person, "ses_c").conversation_id == conversation.id
    assert conversations.of_session(person, "ses_c").id == conversation.id
    assert conversations.transcript(person, "ses_c") == []
    assert conversations.turn(person, turn).reply_to == {"to": 1}


def test_what_is_another_persons_is_not_there(
    database: Database, conversations: Conversations
) -> None:
    turn = turn_in(database, made(database))
    looks: list[Callable[[], object]] = [
        lambda: conversations.find(BOB, ADDRESS),
        lambda: conversations.session(BOB, "ses_c"),
        lambda: conversations.of_session(BOB, "ses_c"),
        lambda: conversations.transcript(BOB, "ses_c"),
        lambda: conversations.turn(BOB, turn),
    ]
    for look in looks:
        with pytest.raises(NotFound, match="there is no"):
            look()


def test_what_does_not_exist_reads_as_what_is_another_persons(
    database: Database, conversations: Conversations
) -> None:
    made(database)
    messages = []
    for name in ("ses_c", "ses_x"):
        with pytest.raises(NotFound) as caught:
            conversations.session(BOB, name)
        messages.append(str(caught.value).replace(name, "it"))
    assert messages[0] == messages[1]
    with pytest.raises(NotFound):
        conversations.turn(BOB, "turn_x")
    with pytest.raises(NotFound):
        conversations.find(BOB, Address("web", "web", "nowhere"))


def test_nobodys_conversation_is_the_owners(
    database: Database, conversations: Conversations
) -> None:
    made(database, user=None)
    assert conversations.find(OWNER, ADDRESS).user_id is None
    with pytest.raises(NotFound):
        conversations.find(ADA, ADDRESS)


def test_sessions_are_listed_newest_first_and_ones_own(
    database: Database, conversations: Conversations
) -> None:
    for name, user in (("one", "ada"), ("two", "bob"), ("three", "ada")):
        made(database, user, Address("web", "web", name))
    assert [s.id for s in conversations.sessions(ADA)] == ["ses_three", "ses_one"]
    assert [s.id for s in conversations.sessions(OWNER)] == ["ses_three", "ses_two", "ses_one"]
    assert [s.id for s in conversations.sessions(OWNER, limit=1)] == ["ses_three"]


def test_a_conversation_that_is_there_stays_as_it_is(database: Database) -> None:
    made(database)
    made(database, "bob")
    found = addresses.get(database, "conv_c")
    assert found is not None
    assert (found.user_id, found.session_id) == ("ada", "ses_c")
    assert addresses.get(database, "conv_x") is None


def test_chat_rows_are_numbered_without_gaps(database: Database) -> None:
    conversation = made(database)
    assert said(database, conversation, "a", "b") == [1, 2]
    with pytest.raises(IntegrityError):
        said(database, conversation, "x", "y", state=None)
    assert said(database, conversation, "c", account="web", remote_id="m1") == [3]
    assert said(database, conversation, "c", account="web", remote_id="m1") == []
    assert said(database, conversation, "d") == [4]


def test_chat_rows_are_read_in_pages(database: Database, conversations: Conversations) -> None:
    conversation = made(database)
    said(database, conversation, *"abcdef")
    after = conversations.after(conversation.id, 2, limit=2)
    assert [row.body for row in after] == ["c", "d"]
    assert [row.body for row in conversations.history(conversation.id, limit=2)] == ["e", "f"]
    before = conversations.history(conversation.id, before=3, limit=5)
    assert [row.body for row in before] == ["a", "b"]
    assert conversations.after(conversation.id, 6) == []


def test_a_turns_messages_are_taken_once_and_in_order(database: Database) -> None:
    conversation = made(database)
    turn_in(database, conversation)
    said(database, conversation, "a", "b", turn_id="turn_1")
    said(database, conversation, "other", turn_id="turn_2")
    with database.transaction() as work:
        assert [m.body for m in chat.take(work, conversation.id, "turn_1")] == ["a", "b"]
        assert chat.take(work, conversation.id, "turn_1") == []
        chat.withdraw(work, conversation.id, "turn_1")
        chat.withdraw(work, conversation.id, "turn_2")
    states = [row.state for row in chat.after(database, conversation.id, 0, 10)]
    assert states == ["taken", "taken", "withdrawn"]


def test_the_first_end_of_a_turn_stands(database: Database, conversations: Conversations) -> None:
    conversation = made(database)
    turn = turn_in(database, conversation)
    (seq,) = said(database, conversation, "the answer")
    assert conversations.reply(conversations.turn(ADA, turn)) is None
    with database.transaction() as work:
        turns.end(work, turn, Outcome.ANSWERED, seq)
        turns.end(work, turn, Outcome.FAILED, None)
    found = conversations.turn(ADA, turn)
    assert (found.outcome, found.reply_seq) == (Outcome.ANSWERED, seq)
    reply = conversations.reply(found)
    assert reply is not None
    assert reply.body == "the answer"


def test_open_turns_are_listed_in_order(database: Database) -> None:
    conversation = made(database)
    for number, state in enumerate(["running", "pending", "done"]):
        turn = turn_in(database, conversation, f"turn_{number}")
        database.run(
            text("INSERT INTO jobs (id, kind, queue, state) VALUES (:id, 'turn', 'turns', :state)"),
            id=turn,
            state=state,
        )
    with database.transaction() as work:
        found = turns.open_in(work, conversation.id)
    assert [(turn.id, turn.state) for turn in found] == [
        ("turn_0", "running"),
        ("turn_1", "pending"),
    ]
    assert turns.answers(database, "ses_c")
    database.run(text("UPDATE jobs SET state = 'done'"))
    assert not turns.answers(database, "ses_c")


BLOCKS = (
    Text(text="é😀", partial=True),
    Thinking(text="", signature="s\n=", provider="mine"),
    CALL,
    ToolResult(call_id="call_0", text="", is_error=True),
    Media(blob="b", mime="image/png", name=None),
    Opaque(provider="mine", data={"k": [1, None]}),
)


def test_every_kind_of_block_comes_back_as_it_went(database: Database) -> None:
    """K24: what is signed comes back byte for byte."""
    made(database)
    message = Message(Speaker.ASSISTANT, BLOCKS)
    with database.transaction() as work:
        transcript.append(work, "ses_c", "turn_1", 0, message)
        assert transcript.count(work, "ses_c") == 1
    (stored,) = transcript.load(database, "ses_c")
    assert stored.message == message
    assert (stored.seq, stored.job_id, stored.step) == (1, "turn_1", 0)


def test_a_step_is_written_once(database: Database) -> None:
    made(database)
    message = Message(Speaker.USER, (Text(text="a"),))
    with database.transaction() as work:
        transcript.append(work, "ses_c", "turn_1", 0, message)
    with pytest.raises(IntegrityError), database.transaction() as work:
        transcript.append(work, "ses_c", "turn_1", 0, message)
    assert len(transcript.load(database, "ses_c")) == 1


PLACE = Place("ses_c", "turn_1", 1)


def test_the_journal_follows_a_call(database: Database) -> None:
    made(database)
    with database.transaction() as work:
        journal.start(work, PLACE, [CALL])
    assert journal.of_step(database, PLACE)["call_1"].state is CallState.RUNNING
    with database.transaction() as work:
        assert journal.wait(work, PLACE, CALL)
    assert journal.of_step(database, PLACE)["call_1"].state is CallState.WAITING
    with database.transaction() as work:
        journal.start(work, PLACE, [CALL])
        assert journal.end(work, PLACE, CALL, ToolResult(call_id="call_1", text="fine"))
    entry = journal.of_step(database, PLACE)["call_1"]
    assert (entry.state, entry.text, entry.is_error) == (CallState.DONE, "fine", False)
    assert (entry.name, entry.input) == ("look", {"a": 1})
    assert journal.of_step(database, Place("ses_c", "turn_1", 2)) == {}


def test_the_first_result_of_a_call_stands(database: Database) -> None:
    made(database)
    with database.transaction() as work:
        journal.start(work, PLACE, [CALL])
    kept: list[int] = []

    def end(number: int) -> None:
        with database.transaction() as work:
            result = ToolResult(call_id="call_1", text=str(number))
            if journal.end(work, PLACE, CALL, result):
                kept.append(number)

    in_threads(6, end)
    assert len(kept) == 1
    assert journal.of_step(database, PLACE)["call_1"].text == str(kept[0])


def test_a_call_that_was_given_up_does_not_wait(database: Database) -> None:
    made(database)
    with database.transaction() as work:
        assert journal.end(work, PLACE, CALL, ToolResult(call_id="call_1", text="given up"))
        assert not journal.wait(work, PLACE, CALL)
    assert journal.of_step(database, PLACE)["call_1"].state is CallState.DONE


def test_used_ids_are_known(database: Database) -> None:
    made(database)
    with database.transaction() as work:
        journal.start(work, PLACE, [CALL])
    assert journal.known_ids(database, "ses_c", ["call_1", "call_2"]) == {"call_1"}
    assert journal.known_ids(database, "ses_x", ["call_1"]) == set()


def test_a_key_says_its_session() -> None:
    assert session_of("s:ses_1") == "ses_1"
    assert session_of("c:conv") is None
    assert session_of(None) is None


def test_a_number_comes_back_as_the_kind_that_it_was(database: Database) -> None:
    """PostgreSQL writes 1e30 as a whole number, which as one no model could be sent again."""
    made(database)
    call = ToolCall(id="c", name="t", input={"n": 1e30, "m": 3, "big": 2**60})
    with database.transaction() as work:
        transcript.append(work, "ses_c", "turn_1", 0, Message(Speaker.ASSISTANT, (call,)))
    ((loaded,),) = [item.message.calls for item in transcript.load(database, "ses_c")]
    assert loaded == call
    assert orjson.loads(orjson.dumps(loaded.input)) == call.input
