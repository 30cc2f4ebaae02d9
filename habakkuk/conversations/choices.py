"""Choose the model of a session and how hard it thinks."""

from __future__ import annotations

from dataclasses import dataclass

from habakkuk.conversations.service import Conversations, Viewer
from habakkuk.conversations.store import choices
from habakkuk.conversations.types import Session
from habakkuk.db.engine import Database
from habakkuk.llm.choice import DEFAULT, choose_effort, choose_model, effort_note, model_note
from habakkuk.llm.selection import Selection
from habakkuk.llm.types import ModelRef


@dataclass(frozen=True)
class Chosen:
    """A session after a choice, and what the person should know of it."""

    session: Session
    notes: tuple[str, ...]


class SessionChoices:
    """The choices of one process's sessions; from a session's next model call on they count."""

    def __init__(self, database: Database, selection: Selection) -> None:
        """Check choices against what `selection` offers."""
        self._database = database
        self._selection = selection
        self._conversations = Conversations(database)

    def change(
        self,
        viewer: Viewer,
        session_id: str,
        *,
        model: str | None = None,
        effort: str | None = None,
    ) -> Chosen:
        """Set what is given; "default" takes a choice back. Raises NotFound and Invalid."""
        self._conversations.session(viewer, session_id)
        wanted = _given(model) and choose_model(self._selection, model or "")
        level = _given(effort) and choose_effort(effort or "")
        with self._database.transaction() as work:
            if model is not None:
                choices.set_model(work, session_id, str(wanted) if wanted else None)
            if effort is not None:
                choices.set_effort(work, session_id, level or None)
        session = self._conversations.session(viewer, session_id)
        return Chosen(
            session, notes_on(self._selection, session.agent, session.model, session.effort)
        )


def notes_on(
    selection: Selection, agent: str, model: str | None, effort: str | None
) -> tuple[str, ...]:
    """Return what is worth knowing of a session's choice: an unknown model, another level."""
    ref = answering(selection, agent, model)
    if ref is None:
        return ()
    notes = (
        model_note(ref) if model else None,
        effort_note(effort, ref) if effort else None,
    )
    return tuple(note for note in notes if note)


def answering(selection: Selection, agent: str, model: str | None) -> ModelRef | None:
    """Return the model that is asked first; None when the agent has none."""
    if model is not None:
        return ModelRef.parse(model)
    models = selection.agents.get(agent)
    return models.chain[0] if models and models.chain else None


def _given(text: str | None) -> bool:
    return text is not None and text.strip().lower() != DEFAULT
