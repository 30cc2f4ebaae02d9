"""Put a question into the chat, with the wait that it opens."""

from __future__ import annotations

from habakkuk.agent.buttons import of_question
from habakkuk.agent.clarify import store
from habakkuk.agent.run import TurnRun
from habakkuk.conversations.store import chat
from habakkuk.conversations.types import Author, ChatKind, ChatState, NewChatMessage
from habakkuk.core.text import shorten
from habakkuk.db.engine import Work
from habakkuk.jobs.types import NewWait
from habakkuk.tools.asking import EXPIRES_SECONDS, in_words

BUSY = (
    "another question waits for the user's answer, so this one was not asked; put everything that"
    " you want to know into one call"
)
_HOW = f"Your next message here is the answer; after {EXPIRES_SECONDS / 60:.0f} minutes it goes on"
_LONGEST = 200


def may_ask(work: Work, run: TurnRun) -> bool:
    """Whether no other question of the conversation, which `work` has locked, is open."""
    return store.open_in(work, run.turn.conversation_id) is None


def ask(work: Work, run: TurnRun, wait: NewWait) -> None:
    """Open the wait and show the question: it survives everything and is shown once.

    `work` has locked the conversation and proved the lease.
    """
    conversation = run.turn.conversation_id
    questions = wait.payload["questions"]
    run.context.open_wait(work, wait)
    store.name(work, conversation, wait.id)
    first = shorten(questions[0]["question"], _LONGEST)
    more = f" (and {len(questions) - 1} more)" if len(questions) > 1 else ""
    row = NewChatMessage(
        Author.SYSTEM,
        f"{run.turn.agent} asks: {first}{more}",
        ChatState.SENT,
        ChatKind.QUESTION,
        {"question": wait.id, **wait.payload},
        turn_id=run.turn.id,
        target=run.turn.target,
        outside=f"{in_words(questions)}\n\n{_HOW} without.",
        buttons=of_question(wait.id, questions),
    )
    chat.add(work, conversation, row)
