"""Read a unified diff, of git or of any other program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from habakkuk.core.errors import ToolError
from habakkuk.tools.patches.sections import RawHunk, Section, sections
from habakkuk.tools.patches.types import Action, FilePatch, Hunk, PatchLine

_NOTHING = "/dev/null"
# The first folder of both names, as git writes it; its settings know other letters than a and b.
_PREFIXES = ("a", "b", "c", "i", "o", "w", "1", "2")
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPE = re.compile(r'\\([abtnvfr"\\]|[0-3][0-7]{2})')
_EPOCH = re.compile(
    r"(?:1970-01-01|1969-12-31) (\d\d):(\d\d):00(?:\.0+)? ([+-])(\d\d)(\d\d)", re.ASCII
)
_LINK, _REPOSITORY = "120000", "160000"
_GIT_NAMES = re.compile(r'diff --git ("(?:[^"\\]|\\.)*"|.+?) ("(?:[^"\\]|\\.)*"|.+)')


def read_unified(lines: Sequence[str]) -> list[FilePatch]:
    """Return the parts of a diff, given as lines without line ends. Raises ToolError."""
    return [_part(section) for section in sections(lines)]


def _part(section: Section) -> FilePatch:
    source, target = _names(section)
    _refuse_kinds(section, source or target or "")
    hunks = tuple(_hunk(raw, target or source or "") for raw in section.hunks)
    executable = _executable(section)
    if source is None and target is not None:
        return FilePatch(Action.ADD, target, hunks, executable=executable)
    if source is None:
        raise ToolError(f"the patch names no file: {section.head!r}")
    if target is None:
        return FilePatch(Action.DELETE, source, hunks, exact=True)
    action = Action.COPY if "copy from" in section.said else Action.UPDATE
    moved = target if target != source else None
    if not hunks and moved is None and executable is None:
        raise ToolError(f"{source}: the patch says nothing of what to change")
    return FilePatch(action, source, hunks, moved, executable)


def _names(section: Section) -> tuple[str | None, str | None]:
    """Return the file before and after; None where there is none."""
    said = section.said
    for verb in ("rename", "copy"):
        if f"{verb} from" in said and f"{verb} to" in said:
            return _unquoted(said[f"{verb} from"]), _unquoted(said[f"{verb} to"])
    if section.source is not None and section.target is not None:
        source, target = _written(section.source), _written(section.target)
    else:
        source, target = _from_head(section.head)
    if "new file mode" in said:
        source = None
    if "deleted file mode" in said:
        target = None
    return _stripped(source, target)


def _from_head(head: str) -> tuple[str | None, str | None]:
    """Return the names of a part without lines: they are the same but for their first folder."""
    rest = head.removeprefix("diff --git ")
    half = len(rest) // 2
    if rest[half : half + 1] == " ":
        source, target = _unquoted(rest[:half]), _unquoted(rest[half + 1 :])
        if source.partition("/")[2] == target.partition("/")[2]:
            return source, target
    found = _GIT_NAMES.fullmatch(head)
    if found is None:
        raise ToolError(f"the names of a file cannot be read: {head[:200]!r}")
    return _unquoted(found[1]), _unquoted(found[2])


def _written(name: str) -> str | None:
    """Return the name of a "---" or "+++" line: a time stands behind a tab, if at all."""
    shown, _, time = name.partition("\t")
    text = _unquoted(shown.rstrip())
    if not text:
        raise ToolError("a '---' or '+++' line names no file")
    return None if text == _NOTHING or _is_epoch(time) else text


def _is_epoch(time: str) -> bool:
    """Whether this is the second zero in any zone: so `diff -N` says that there is no file."""
    found = _EPOCH.fullmatch(time.strip())
    if found is None:
        return False
    hours, minutes, sign, zone_hours, zone_minutes = found.groups()
    zone = int(sign + zone_hours) * 60 + int(sign + zone_minutes)
    return (int(hours) * 60 + int(minutes) - zone) % (24 * 60) == 0


def _stripped(source: str | None, target: str | None) -> tuple[str | None, str | None]:
    """Take git's first folder away where both names have one, or the only one has."""
    first = [name.partition("/")[0] for name in (source, target) if name is not None]
    rests = [name.partition("/")[2] for name in (source, target) if name is not None]
    if not all(one in _PREFIXES for one in first) or not all(rests):
        return source, target
    # "a/x" twice is a file in a folder called a.
    if len(first) > 1 and first[0] == first[1]:
        return source, target
    cut = [None if name is None else name.partition("/")[2] for name in (source, target)]
    return cut[0], cut[1]


def _unquoted(name: str) -> str:
    """Return a name that git may have put in quotes, bytes of other alphabets as octals."""
    if len(name) < len('""') or name[0] != '"' or name[-1] != '"':
        return name
    out = bytearray()
    at = 1
    for found in _ESCAPE.finditer(name, 1, len(name) - 1):
        out += name[at : found.start()].encode()
        out.append(_ESCAPES[found[1]] if found[1] in _ESCAPES else int(found[1], 8))
        at = found.end()
    out += name[at:-1].encode()
    try:
        return out.decode()
    except UnicodeDecodeError as error:
        raise ToolError(f"the name {name[:200]} is no UTF-8") from error


def _refuse_kinds(section: Section, path: str) -> None:
    modes = {mode.strip() for words, mode in section.said.items() if words.endswith("mode")}
    if _LINK in modes:
        raise ToolError(f"{path}: the patch makes or changes a symbolic link; use exec for that")
    if _REPOSITORY in modes:
        raise ToolError(f"{path}: the patch changes a submodule; use exec for that")


def _executable(section: Section) -> bool | None:
    mode = (section.said.get("new mode") or section.said.get("new file mode") or "").strip()
    if not mode:
        return None
    return mode.endswith("755") if mode != "100644" or "new mode" in section.said else None


def _hunk(raw: RawHunk, path: str) -> Hunk:
    """Return one hunk, its lines read by the library."""
    text = "".join(f"{line}\n" for line in ("--- a/file", "+++ b/file", *raw.counted()))
    try:
        (file,) = PatchSet(StringIO(text))
        (hunk,) = file
    except (UnidiffParseError, ValueError) as error:
        raise ToolError(f"{path}: the hunk {raw.label!r} cannot be read: {error}") from error
    lines: list[PatchLine] = []
    for line in hunk:
        if line.line_type == "\\":
            # It speaks of the line before.
            last = lines[-1:]
            lines[-1:] = [PatchLine(one.kind, one.raw.removesuffix("\n")) for one in last]
        else:
            lines.append(PatchLine(line.line_type or " ", line.value))
    anchors = () if raw.anchor is None else (raw.anchor,)
    return Hunk(raw.label, tuple(lines), raw.start, anchors)
