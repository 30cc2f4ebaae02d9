"""The one question: would this command do what nobody can allow."""

from __future__ import annotations

import re
from pathlib import Path

from habakkuk.tools.hardline.calls import Refused
from habakkuk.tools.hardline.reader import continued, read
from habakkuk.tools.hardline.runner import Runner
from habakkuk.tools.hardline.scope import Scope
from habakkuk.tools.hardline.values import TooInvolved, clean

_LONGEST = 200_000
_REFUSED = (
    "{what}: that is on the list of what Habakkuk never runs, whatever the permissions, and nobody"
    " can allow it. The command was not run. Name exactly the files or programs that are needed;"
    " when the user truly wants this, say what you would have run, so that they do it themselves."
)
_INVOLVED = (
    "this was not run: {why}, so nobody can say that it does nothing of what Habakkuk never runs."
    " Write it more simply: one plain command at a time, with the paths written out; a long text"
    " goes into a file by write_file."
)
# What is worth a refusal where the words cannot be told for certain: they are looked for with
# everything taken out that only hides them.
_NOISE = re.compile(r"[\\'\"]|\$\{?IFS\}?")
# Each in time that grows as the text does: what cannot be read may be made to be slow to look at.
_REMOVES = re.compile(r"\brm\b|\brmtree\b|-delete\b")
_EVERYTHING = re.compile(
    r"(?<![\w./~-])(/|~|\$\{?HOME\}?)[/.*]*(?![\w/.*-])|(?<![\w.])/(etc|usr|home|var)\b"
)
_DISKS = re.compile(
    r"\bmkfs|\bwipefs|\bblkdiscard|\bof=/dev/|>[|&>]?\s?/dev/[a-z]*d[a-z0-9]|/dev/nvme"
)
_FETCHES = re.compile(r"\b(curl|wget|fetch)\b")
_RUNS = re.compile(r"\||<\(|\$\(|`|\beval\b")
_BOMBS = re.compile(r"\(\s?\)\s?\{")
_PARALLEL = re.compile(r"[^&]&(?![&>])")


def hardline(script: str, folder: Path | str | None = None, *, fresh: bool = True) -> str | None:
    """Return why a script must not run, None when it may: for the model, never raises.

    `folder` is where it starts, None when nobody knows. `fresh` False is for what is typed at a
    program that runs already: what was set before then is not known. A guard against a confused or
    misled model: who means harm finds a way past it, as past every list.
    """
    text = clean(script)
    if len(script) > _LONGEST:
        why = "the command is too long to be checked"
        return _INVOLVED.format(why=why) if fresh or _looks_dangerous(text) else None
    start = str(folder) if folder is not None else None
    return next(filter(None, (_judged(form, start, fresh=fresh) for form in _forms(text))), None)


def typed_hardline(before: str, text: str) -> str | None:
    """Return why a text must not be typed at a program, which was given `before` already.

    A shell runs lines, however they are cut into pieces: the one that the text goes on is judged as
    a line, and all of it for what it does as a whole.
    """
    found = hardline(before.rpartition("\n")[2] + text, fresh=False)
    if found is not None or not before:
        return found
    try:
        told = (_refusal(form, Scope(None, fresh=False)) for form in _forms(clean(before + text)))
        return next(filter(None, told), None)
    except (TooInvolved, RecursionError):
        # Most of what programs are given is data; the line itself was followed.
        return None


def _forms(text: str) -> list[str]:
    """Return a text as it is read: a shell's own lines are joined; in quotes they may not be."""
    return list(dict.fromkeys((continued(text), text)))


def _judged(text: str, folder: str | None, *, fresh: bool) -> str | None:
    try:
        if read(text).root_node.has_error and _looks_dangerous(text):
            return _INVOLVED.format(why="the command cannot be read with certainty")
        return _refusal(text, Scope(folder=folder, fresh=fresh))
    except (TooInvolved, RecursionError) as error:
        why = str(error) if isinstance(error, TooInvolved) else "the command is nested too deeply"
        # What is typed at a program is mostly data, which may be long and need be no command.
        return _INVOLVED.format(why=why) if fresh or _looks_dangerous(text) else None


def _refusal(text: str, scope: Scope) -> str | None:
    """Return why what is followed must not run. Raises TooInvolved, RecursionError."""
    try:
        Runner().script(text, scope)
    except Refused as refused:
        return _REFUSED.format(what=f"this would {refused}")
    return None


def _looks_dangerous(text: str) -> bool:
    """Whether something of the list may be meant, by the words alone."""
    shown = _NOISE.sub("", text)
    return bool(
        (_REMOVES.search(shown) and _EVERYTHING.search(shown))
        or _DISKS.search(shown)
        or (_FETCHES.search(shown) and _RUNS.search(shown))
        or (_BOMBS.search(shown) and _PARALLEL.search(shown))
    )
