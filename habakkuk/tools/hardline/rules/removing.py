"""Removing everything of `/`, of a home folder or of a top-level system folder."""

from __future__ import annotations

import re

from habakkuk.tools.hardline.calls import Call, is_unknown
from habakkuk.tools.hardline.finding import find_starts, narrowed
from habakkuk.tools.hardline.places import protected
from habakkuk.tools.hardline.values import EVERY, plain

_SENTENCE = "remove everything in {what}"


def judge(call: Call) -> str | None:
    """Look at what removes whole folders."""
    found = _targets(call)
    for target in found:
        what = protected(target, call.scope)
        if what is not None:
            return _SENTENCE.format(what=what)
    return None


def _targets(call: Call) -> list[str]:
    if call.name in {"rm", "grm", "srm", "wipe", "unlink", "shred"}:
        whole = call.has("rR", "recursive") and call.name not in {"unlink", "shred"}
        # Of what find names one by one, as much is gone without that option.
        return [one for one in call.operands("ns") if whole or EVERY in one]
    if is_unknown(call.name) and call.has("rR", "recursive") and call.has("f", "force"):
        # Nobody knows what it runs; with these arguments it looks like rm.
        return call.operands()
    if call.name in {"find", "fd", "bfs"}:
        deletes = "-delete" in call.words and not narrowed(call)
        return find_starts(call) if deletes else []
    if call.name == "rsync":
        deletes = any(re.match(r"--del(ete.*)?$", word) for word in call.words)
        return call.operands("e")[-1:] if deletes else []
    if call.name == "mv":
        operands = call.operands("tS")
        return operands[:-1] if operands and plain(operands[-1]) == "/dev/null" else []
    if call.name in {"rimraf", "trash", "del-cli"}:
        return call.operands()
    return []
