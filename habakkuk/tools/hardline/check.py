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
    # A shell's own lines are joined; in quotes they may not be, so both are looked at.
    for form in dict.fromkeys((continued(text), text)):
        found = _judged(form, str(folder) if folder is not None else None, fresh=fresh)
        if found is not None:
            return found
    return None


def _judged(text: str, folder: str | None, *, fresh: bool) -> str | None:
    try:
        if read(text).root_node.has_error and _looks_dangerous(text):
            return _INVOLVED.format(why="the command cannot be read with certainty")
        Runner().script(text, Scope(folder=folder, fresh=fresh))
    except Refused as refused:
        return _REFUSED.format(what=f"this would {refused}")
    except (TooInvolved, RecursionError) as error:
        why = str(error) if isinstance(error, TooInvolved) else "the command is nested too deeply"
        # What is typed at a program is mostly data, which may be long and need be no command.
        return _INVOLVED.format(why=why) if fresh or _looks_dangerous(text) else None
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
