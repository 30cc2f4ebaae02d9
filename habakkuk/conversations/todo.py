"""The task list of a session: what an agent means to do, one line each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from habakkuk.conversations.store import todo as store
from habakkuk.core.errors import Invalid
from habakkuk.core.text import clean, shorten
from habakkuk.db.engine import Database

MOST_ITEMS = 50
LONGEST = 200


@dataclass(frozen=True)
class Item:
    """One task. `number` names it for good; `call` is the tool call that added it."""

    number: int
    text: str
    done: bool = False
    call: str = ""


@dataclass(frozen=True)
class TodoList:
    """The tasks in their order; `last` is the highest number given so far."""

    items: tuple[Item, ...] = ()
    last: int = 0

    def add(self, texts: Sequence[str], call: str) -> TodoList:
        """Add tasks at the end, once a call: the same again changes nothing.

        Done ones make room, the oldest first. Raises Invalid when too many are open.
        """
        if any(item.call == call for item in self.items):
            return self
        numbered = enumerate(texts, self.last + 1)
        items = [*self.items, *(Item(n, _line(text), call=call) for n, text in numbered)]
        if sum(not item.done for item in items) > MOST_ITEMS:
            raise Invalid(f"a task list has at most {MOST_ITEMS} open items; complete some first")
        surplus = [item for item in items if item.done][: max(0, len(items) - MOST_ITEMS)]
        return TodoList(tuple(i for i in items if i not in surplus), self.last + len(texts))

    def update(self, number: int, text: str) -> TodoList:
        """Give a task another text, which opens it again. Raises Invalid for an unknown one."""
        self._check([number])
        return self._each(lambda i: replace(i, text=_line(text), done=False), [number])

    def complete(self, numbers: Sequence[int]) -> TodoList:
        """Mark tasks as done. Raises Invalid, and changes nothing, when one is unknown."""
        self._check(numbers)
        return self._each(lambda item: replace(item, done=True), numbers)

    @property
    def is_open(self) -> bool:
        """Whether any task is still to be done."""
        return any(not item.done for item in self.items)

    @property
    def text(self) -> str:
        """The list as a model reads it, one line a task."""
        return "\n".join(f"{i.number}. [{'x' if i.done else ' '}] {i.text}" for i in self.items)

    def _check(self, numbers: Sequence[int]) -> None:
        unknown = sorted(set(numbers) - {item.number for item in self.items})
        if unknown:
            raise Invalid(f"the task list has no item {', '.join(map(str, unknown))}")

    def _each(self, change: Callable[[Item], Item], numbers: Sequence[int]) -> TodoList:
        items = (change(item) if item.number in numbers else item for item in self.items)
        return replace(self, items=tuple(items))


class TodoLists:
    """The lists of a server's sessions."""

    def __init__(self, database: Database) -> None:
        """Use the pool of this process."""
        self._database = database

    def change(self, session_id: str, change: Callable[[TodoList], TodoList]) -> TodoList:
        """Change a session's list under its lock, in one transaction, and return it.

        What `change` raises leaves the list as it was. Raises NotFound without the session.
        """
        with self._database.transaction() as work:
            before = todo_from_json(store.lock(work, session_id))
            after = change(before)
            if after != before:
                store.save(work, session_id, todo_to_json(after))
        return after


def todo_from_json(value: dict[str, Any] | None) -> TodoList:
    """Return the list that a session's row holds."""
    if value is None:
        return TodoList()
    return TodoList(tuple(Item(**item) for item in value["items"]), value["last"])


def todo_to_json(todo: TodoList) -> dict[str, Any] | None:
    """Return the list as a session's row holds it; one that was never used is None."""
    return {"items": [asdict(i) for i in todo.items], "last": todo.last} if todo.last else None


def _line(text: str) -> str:
    line = shorten(clean(text), LONGEST)
    if not line:
        raise Invalid("a task has no text")
    return line
