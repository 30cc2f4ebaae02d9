"""How an agent may sound: what stands behind its prompt in sessions that chose it (seed, Channels).

Five are here; what lies in $HABAKKUK_HOME/personalities/NAME.md comes before them. Each is read at
every turn, so that a changed file counts from the next turn on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from habakkuk.core.log import get_logger
from habakkuk.core.text import clean

_log = get_logger("conversations.personalities")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_LONGEST = 20_000
_OWN = {
    "concise": "Answer in as few words as the matter allows. No preamble, no summary at the end.",
    "warm": "Be warm and encouraging. Speak as a friend would who is glad to help.",
    "formal": "Write formally and politely, in whole sentences, without colloquial words.",
    "technical": "Speak to an expert: exact terms, figures with units, trade-offs, no analogies.",
    "playful": "Be light and playful; a joke is welcome where the matter bears one.",
}


class Personalities:
    """Those of one home."""

    def __init__(self, home: Path) -> None:
        """Look in the home's folder `personalities`, which need not be there."""
        self._folder = home / "personalities"

    def names(self) -> Sequence[str]:
        """Return every name that can be chosen, in order."""
        files = self._folder.glob("*.md") if self._folder.is_dir() else ()
        return sorted({*_OWN, *(file.stem for file in files if _NAME.fullmatch(file.stem))})

    def text(self, name: str) -> str | None:
        """Return what one says; None when there is none of this name any more."""
        if not _NAME.fullmatch(name):
            return None
        try:
            with (self._folder / f"{name}.md").open(encoding="utf-8", errors="replace") as file:
                return clean(file.read(_LONGEST)).strip() or None
        except FileNotFoundError:
            return _OWN.get(name)
        except OSError as error:
            _log.warning("a personality cannot be read", name=name, reason=str(error))
            return None
