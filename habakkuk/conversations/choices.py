"""Choose the model of a session and how hard it thinks."""

from __future__ import annotations

from dataclasses import dataclass

from habakkuk.conversations.budgets import caps_of
from habakkuk.conversations.service import Conversations, Viewer
from habakkuk.conversations.store import choices
from habakkuk.conversations.types import Session
from habakkuk.core.config.schema import Config
from habakkuk.db.engine import Database
from habakkuk.llm.choice import DEFAULT, choose_effort, choose_model, effort_note, model_note
from habakkuk.llm.prices import Prices
from habakkuk.llm.selection import Selection
from habakkuk.llm.types import ModelRef

_UNPRICED = (
    "it is not known what it costs, so it is not asked where a budget holds; an owner can set its"
    " price under `pricing:` in config.yaml"
)


@dataclass(frozen=True)
class Chosen:
    """A session after a choice, and what the person should know of it."""

    session: Session
    notes: tuple[str, ...]


class SessionChoices:
    """The choices of one process's sessions; from a session's next model call on they count."""

    def __init__(self, database: Database, selection: Selection, config: Config) -> None:
        """Check choices against what `selection` offers; `config` says what has a price."""
        self._database = database
        self._selection = selection
        self._config = config
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
        ref = answering(self._selection, session.agent, session.model)
        chosen = session.model is not None
        notes = notes_on(ref, session.effort, chosen=chosen)
        if ref is not None and chosen:
            notes += price_notes(self._config, self._selection, ref)
        return Chosen(session, notes)


def notes_on(ref: ModelRef | None, effort: str | None, *, chosen: bool) -> tuple[str, ...]:
    """Return what is worth knowing of a session's choice: an unknown model, another level.

    `chosen` is whether the model was chosen, and not only the effort.
    """
    if ref is None:
        return ()
    notes = (
        model_note(ref) if chosen else None,
        effort_note(effort, ref) if effort else None,
    )
    return tuple(note for note in notes if note)


def price_notes(config: Config, selection: Selection, ref: ModelRef) -> tuple[str, ...]:
    """Return that a model is not asked under a budget, when it is so."""
    if config.budgets.unpriced == "allow" or not caps_of(config):
        return ()
    if Prices(config, selection.endpoints).is_known(ref):
        return ()
    return (_UNPRICED,)


def answering(selection: Selection, agent: str, model: str | None) -> ModelRef | None:
    """Return the model that is asked first; None when the agent has none."""
    if model is not None:
        return ModelRef.parse(model)
    models = selection.agents.get(agent)
    return models.chain[0] if models and models.chain else None


def _given(text: str | None) -> bool:
    return text is not None and text.strip().lower() != DEFAULT
