"""Programs in other languages that do the same: found by how they are written, not followed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from habakkuk.tools.hardline.calls import Call
from habakkuk.tools.hardline.places import protected
from habakkuk.tools.hardline.shells import interpreter_programs, is_interpreter
from habakkuk.tools.hardline.values import quoted

_FORKS = re.compile(
    r"fork\s*(\(\))?\s+while\s+(fork|1|true)|while[\s(]*(1|true|True|fork(\(\))?)[\s):{;]*"
    r"((os|posix|Process)\.)?fork\b|fork\s*\{\s*fork|loop\s*(do|\{)\s*(Process\.)?fork"
    r"|:\(\)\s*\{\s*:\s*\|\s*:",
)
_STRING = r"""(?:[rbfu]{0,2})(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)')"""
_REMOVES = re.compile(
    r"(?:rmtree|rm_rf|rm_r|remove_dir_all|rmSync|rmdirSync|rimraf|remove_entry|removeSync)"
    rf"\s*\(?\s*(?:(?:os\.path\.)?expanduser\(\s*)?{_STRING}"
)
_REMOVES_HOME = re.compile(
    r"(?:rmtree|rm_rf|rmSync)\s*\(?\s*(?:Path\.home\(\)|Dir\.home|os\.homedir\(\))"
)
_RUNS = re.compile(
    r"\b(?:system|popen\d?|Popen|run|call|check_call|check_output|getoutput|getstatusoutput|exec\w*"
    rf"|spawn\w*|shell_exec|passthru|execSync|qx)\s*\(?\s*(\[?)\s*{_STRING}((?:\s*,\s*{_STRING})*)"
)
_ITEM = re.compile(_STRING)
_BACKTICKS = re.compile(r"`([^`\n]+)`|%x[\[({]([^\])}]+)[\])}]|qx[\[({/]([^\])}/]+)")
_MOST = 64


def judge(call: Call) -> str | None:
    """Look at the code that an interpreter is given."""
    if not is_interpreter(call.name):
        return None
    for code in interpreter_programs(call):
        if _FORKS.search(code):
            return "start processes without end (a fork bomb)"
        if _REMOVES_HOME.search(code):
            return "remove everything in a home folder"
        for found in _REMOVES.finditer(code):
            what = protected(_path(found[1] or found[2] or "."), call.scope)
            if what is not None:
                return f"remove everything in {what}"
    return None


def scripts_in(code: str) -> Iterator[str]:
    """Yield the shell commands that a program in another language gives to a shell."""
    for count, found in enumerate(_RUNS.finditer(code)):
        if count >= _MOST:
            return
        first = found[2] if found[2] is not None else found[3] or ""
        rest = [one[1] if one[1] is not None else one[2] for one in _ITEM.finditer(found[4] or "")]
        yield " ".join([_unescaped(first), *map(_unescaped, rest)] if rest else [_unescaped(first)])
    for count, found in enumerate(_BACKTICKS.finditer(code)):
        if count >= _MOST:
            return
        yield next(part for part in found.groups() if part is not None)


def _path(text: str) -> str:
    return text if text.startswith("~") else quoted(text)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
