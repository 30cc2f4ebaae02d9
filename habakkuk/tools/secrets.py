"""Secrets that an agent uses by name and never holds.

The operator says which tool may use which one, and where it may go. The value is put in where the
request leaves or the command starts, taken out of everything that comes back, and logged by its
name alone.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.entities import codepoint2name
from urllib.parse import quote_plus

from habakkuk.core.config.schema import SecretConfig
from habakkuk.core.errors import ToolError
from habakkuk.core.http import HttpRefused
from habakkuk.core.log import get_logger

_log = get_logger("tools.secrets")
_PLACE = re.compile(r"\{\{secret:([^{}]*)\}\}")
# Less could not be taken out of a text without taking out ordinary words.
_SHORTEST = 8
# Programs that encode end their lines after 76, 64 or 60 characters; in JSON the end is written
# out. No letter of an encoding is one of these, so each place is looked at once.
_WRAPPED = r"(?:(?:\r|\\r)?(?:\n|\\n)[ \t]{0,16})?"


class Secrets:
    """The secrets of the configuration. Thread-safe; without any it does nothing."""

    def __init__(
        self,
        secrets: Mapping[str, SecretConfig] | None = None,
        value: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        """`value` returns a variable's value, None when it is unset."""
        self._secrets = dict(secrets or {})
        self._value = value
        forms = [
            (len(form), pattern, name)
            for name, secret in self._secrets.items()
            for form, pattern in _patterns(value(secret.env) or "")
        ]
        # Longest first, so that one inside another leaves nothing behind.
        forms.sort(key=lambda form: form[0], reverse=True)
        self._names = [name for _, _, name in forms]
        spelled = "|".join(f"({pattern})" for _, pattern, _ in forms)
        self._known = re.compile(spelled) if forms else None

    def filled(self, text: str, tool: str, agent: str, url: str) -> str:
        """Return a header's text with the secrets that it names, as `{{secret:NAME}}`.

        Raises ToolError where one may not go to that address.
        """
        return _PLACE.sub(lambda match: self._for_url(match[1].strip(), tool, agent, url), text)

    def names_any(self, text: str) -> bool:
        """Whether a text names a secret."""
        return _PLACE.search(text) is not None

    def variables(self, names: Sequence[str], tool: str, agent: str) -> dict[str, str]:
        """Return the variables of secrets for a command. Raises ToolError."""
        found = {}
        for name in names:
            secret, value = self._allowed(name, tool, agent)
            found[secret.env] = value
            _log.info("secret used", secret=name, tool=tool, agent=agent)
        return found

    def redacted(self, text: str) -> str:
        """Return a text with names in the place of secrets, also of encoded ones."""
        if self._known is None:
            return text
        return self._known.sub(self._name_of, text)

    def _name_of(self, match: re.Match[str]) -> str:
        assert match.lastindex is not None  # noqa: S101 - each form is a group
        return f"[secret:{self._names[match.lastindex - 1]}]"

    def _for_url(self, name: str, tool: str, agent: str, url: str) -> str:
        # It brings httpx2, which the web process does without.
        from habakkuk.core.fetch import checked_url  # noqa: PLC0415 - see above

        secret, value = self._allowed(name, tool, agent)
        try:
            # The reading by which it is called, or another part of it could pass for the host.
            target = checked_url(url)
        except HttpRefused as error:
            raise ToolError(f"this address is not read: {error}") from error
        host = target.host.rstrip(".").casefold()
        if host not in {allowed.casefold() for allowed in secret.hosts}:
            allowed = ", ".join(secret.hosts) or "no host"
            raise ToolError(f"the secret {name!r} may not be sent to {host}; it is for {allowed}")
        if target.scheme != "https":
            raise ToolError(f"the secret {name!r} is sent over https only")
        _log.info("secret used", secret=name, tool=tool, agent=agent, host=host)
        return value

    def _allowed(self, name: str, tool: str, agent: str) -> tuple[SecretConfig, str]:
        secret = self._secrets.get(name)
        if secret is None or (secret.agents and agent not in secret.agents):
            names = ", ".join(self.of(agent)) or "none"
            raise ToolError(f"there is no secret {name!r} for this agent; there are: {names}")
        if tool not in secret.tools:
            raise ToolError(f"the secret {name!r} is not for {tool}, but for {_list(secret.tools)}")
        value = self._value(secret.env)
        if value is None:
            raise ToolError(f"the secret {name!r} has no value: the operator sets {secret.env}")
        if len(value) < _SHORTEST:
            raise ToolError(
                f"the secret {name!r} has fewer than {_SHORTEST} characters and could not be taken"
                " out of what comes back; the operator chooses a longer one"
            )
        return secret, value

    def of(self, agent: str) -> dict[str, SecretConfig]:
        """Return the secrets that an agent may use, by name."""
        return {
            name: secret
            for name, secret in self._secrets.items()
            if not secret.agents or agent in secret.agents
        }


def told(secrets: Mapping[str, SecretConfig]) -> str:
    """Return what an agent is told of its secrets, empty when it has none."""
    if not secrets:
        return ""
    lines = [
        f"- {name}: for {_list(secret.tools)}"
        + (f", at {_list(secret.hosts)}" if secret.hosts else "")
        for name, secret in sorted(secrets.items())
    ]
    return (
        "You can use these secrets by name without seeing them. In a header of fetch_url write"
        " {{secret:NAME}}; exec takes their names in `secrets` and has them in its environment."
        " Never ask the user for their values.\n" + "\n".join(lines)
    )


def _spelled(character: str) -> str:
    """Return a pattern of what a character may become in Markdown, JSON, HTML and URLs.

    Letters and digits stay as they are there, and keep the search quick.
    """
    if character.isascii() and character.isalnum():
        return character
    code = ord(character)
    escape = "".join(f"%(?i:{byte:02x})" for byte in character.encode("utf-8", "surrogatepass"))
    spelled = [
        rf"\\{{0,2}}{re.escape(character)}",
        rf"\\u(?i:{code:04x})",
        escape,
        rf"&\#0*{code};",
        rf"&\#[xX]0*(?i:{code:x});",
    ]
    if (name := codepoint2name.get(code)) is not None:
        spelled.append(f"&{name};")
    return f"(?:{'|'.join(spelled)})"


def _patterns(value: str) -> Iterator[tuple[str, str]]:
    """Yield a value as it may come back, with the pattern by which that is found."""
    if len(value) < _SHORTEST:
        return
    for form in (value, quote_plus(value)):
        yield form, "".join(map(_spelled, form))
    for form in _encoded(value.encode("utf-8", "surrogatepass")):
        yield form, _WRAPPED.join(map(re.escape, form))


def _encoded(raw: bytes) -> Iterator[str]:
    """Yield a value as hex, and in base64 at each offset."""
    yield raw.hex()
    yield raw.hex().upper()
    for offset in range(3):
        # What stands before shifts the groups; of the ends, which its neighbours change, none.
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            encoded = encode(b"\0" * offset + raw).decode()
            first, rest = (offset * 8 + 5) // 6, (len(raw) + offset) % 3
            last = len(encoded) if rest == 0 else len(encoded) - (4 - rest)
            if last - first >= _SHORTEST:
                yield encoded[first:last]


def _list(words: Sequence[str]) -> str:
    return ", ".join(words) or "nothing"
