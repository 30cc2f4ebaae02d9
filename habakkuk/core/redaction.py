"""Take secrets out of everything that is written: by value where known, by form where not.

It stands at the sink (log records, job errors, exports), so that no caller can forget it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "[redacted]"
_MIN_SECRET = 8
# The shortest form is the password in x://:y@z; most of what a log line is made of is shorter.
_MIN_TEXT = 7
_SECRET_NAME = re.compile(r"(?i)(key|token|secret|password|passwd|credential)s?(_|$)")
_FORMS = re.compile(
    r"""
    \bsk-[A-Za-z0-9_-]{16,}                      # OpenAI, Anthropic and others that copied it
  | \bgh[pousr]_[A-Za-z0-9]{20,}                 # GitHub
  | \bxox[abeprs]-[A-Za-z0-9-]{10,}              # Slack
  | \bxapp-[A-Za-z0-9-]{10,}
  | \bAIza[A-Za-z0-9_-]{30,}                     # Google
  | \bAKIA[A-Z0-9]{16}\b                         # AWS
  | \bhab_[A-Za-z0-9_-]{20,}                     # our own tokens
  | (?<=bot)\d{6,}:[A-Za-z0-9_-]{30,}            # Telegram, as in its URL paths
  | \b[A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}   # Discord
  | (?<=://)[^\s/:@]*:[^\s/@]+(?=@)              # user:password in a URL, or :password
  | (?i:(?<=bearer\ ))[A-Za-z0-9._~+/=-]{12,}
    """,
    re.VERBOSE,
)


class Redactor:
    """Knows this process's secret values."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Keep the values, longest first, so that one inside another leaves nothing behind."""
        known = sorted({s for s in secrets if len(s) >= _MIN_SECRET}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def text(self, text: str) -> str:
        """Return `text` without secrets."""
        if len(text) < _MIN_TEXT:
            return text
        if self._known is not None:
            text = self._known.sub(MASK, text)
        return _FORMS.sub(MASK, text)

    def value(self, value: Any) -> Any:
        """Return a JSON-like value without secrets, in keys and values alike.

        What is no JSON becomes its text: a writer that came to it later would show what it holds.
        """
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return self.text(str(value))


def secret_values(variables: Mapping[str, str]) -> list[str]:
    """Return the values of the variables whose name says that they are secret."""
    return [value for name, value in variables.items() if value and _SECRET_NAME.search(name)]
