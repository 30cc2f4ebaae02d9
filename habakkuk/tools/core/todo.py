"""The session's task list."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from habakkuk.conversations.todo import LONGEST, MOST_ITEMS, TodoList
from habakkuk.core.errors import ToolError, UserError
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool


class TodoArgs(ToolArgs):
    """What to do with the list, and with which of its items."""

    action: Literal["add", "update", "complete", "list", "clear"] = Field(
        description="add tasks, update the text of one, complete some, list or clear all."
    )
    items: list[str] = Field(
        default=[],
        max_length=MOST_ITEMS,
        description=f"add: the tasks, one line of at most {LONGEST} characters each.",
    )
    ids: list[int] = Field(
        default=[], max_length=MOST_ITEMS, description="complete: the numbers of the tasks done."
    )
    id: int | None = Field(default=None, description="update: the number of the task.")
    text: str | None = Field(default=None, description="update: its new text; it is open again.")

    @model_validator(mode="after")
    def _whole(self) -> TodoArgs:
        wanted = {"add": self.items, "complete": self.ids}.get(self.action, [True])
        if not wanted or (self.action == "update" and (self.id is None or self.text is None)):
            needs = {"add": "items", "complete": "ids", "update": "id and text"}[self.action]
            raise ValueError(f"{self.action} needs {needs}")
        return self


@tool(risk=Risk.READ, timeout_s=30, own_state=True, replayable=lambda _: True)
def todo(args: TodoArgs, context: ToolContext) -> ToolOutput:
    """Keep this session's task list: what is to be done, and what is done.

    Use it for work of several steps. While a task is open you are shown the list at the start of
    each turn. Every action returns the whole list.
    """
    lists = context.services.todo
    if lists is None:
        raise ToolError("there is no task list here")

    def change(before: TodoList) -> TodoList:
        if args.action == "add":
            return before.add(args.items, context.call_id)
        if args.action == "complete":
            return before.complete(args.ids)
        if args.action == "update" and args.id is not None and args.text is not None:
            return before.update(args.id, args.text)
        return TodoList(last=before.last) if args.action == "clear" else before

    context.interrupt.check()
    try:
        after = lists.change(context.session_id, change)
    except UserError as error:
        raise ToolError(str(error)) from error
    return ToolOutput(after.text or "The task list is empty.")
