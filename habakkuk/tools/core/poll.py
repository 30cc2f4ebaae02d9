"""Putting a poll into the chat of the turn."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from habakkuk.conversations.types import ChatKind
from habakkuk.core.errors import ToolError
from habakkuk.core.text import clean
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, in_chat, tool
from habakkuk.tools.posting import Post

_NOWHERE = "there is no chat here to put a poll into; ask in your answer instead"
_TOLD = (
    "The poll is on its way to the chat. Votes are not read back: ask people to tell you what came"
    " of it, when you need to know."
)
# The least that the platforms with polls take: Discord 10 options of 55 characters, Telegram
# questions of 300.
_Option = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=55)]
_Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]
_MOST_OPTIONS = 10


class PollArgs(ToolArgs):
    """What to ask everybody."""

    question: _Question = Field(description="The question, at most 300 characters.")
    options: list[_Option] = Field(
        min_length=2,
        max_length=_MOST_OPTIONS,
        description="2 to 10 different choices, each at most 55 characters.",
    )
    multiple: bool = Field(default=False, description="Whether several may be chosen.")


@in_chat()
@tool(risk=Risk.READ, timeout_s=30, replayable=lambda _args: True, own_state=True)
def poll(args: PollArgs, context: ToolContext) -> ToolOutput:
    """Put a poll into the chat, for a question that several people decide.

    Where the chat has no polls it is a numbered list. You do not learn the votes.
    """
    desk = context.services.posts
    if desk is None:
        raise ToolError(_NOWHERE)
    options = [clean(one) for one in args.options]
    if len(set(options)) < len(options):
        raise ToolError("poll: two options are the same; each has to be another")
    question = clean(args.question)
    desk.place(context.turn_id)
    lines = [question, *(f"{number}. {option}" for number, option in enumerate(options, 1))]
    asked = {"question": question, "options": options, "multiple": args.multiple}
    said = Post(ChatKind.POLL, "\n".join(lines), {"poll": asked})
    desk.post(context.turn_id, context.call_id, said)
    return ToolOutput(_TOLD)
