"""Sending a file to the chat of the turn."""

from __future__ import annotations

import mimetypes
import tempfile
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Annotated, BinaryIO

from pydantic import Field, StringConstraints

from habakkuk.blobs.incoming import HEAD_BYTES
from habakkuk.conversations.files import FILES, Attached
from habakkuk.conversations.types import ChatKind
from habakkuk.core.errors import ToolError
from habakkuk.core.text import clean, shorten, size_text
from habakkuk.llm.media.sniff import SHOWN, sniff
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, in_chat, tool
from habakkuk.tools.elsewhere import Limit, read_elsewhere
from habakkuk.tools.paths import inside
from habakkuk.tools.posting import Place, Post
from habakkuk.tools.workspace import open_workspace

_LONGEST_NAME = 100
_UNKNOWN = "application/octet-stream"
_NOWHERE = "there is no chat here to send a file to; tell the user where it lies instead"
_TOO_LARGE = "that this chat takes; send a smaller file, or parts of it"
_TOLD = "{name} ({size}) is on its way to the chat; it arrives before your answer."
_TOLD_LINE = (
    "This chat takes no files. The user is told that {name} ({size}) lies in the workspace at"
    " {path}."
)


class SendFileArgs(ToolArgs):
    """What to send."""

    path: str = Field(
        description="The file, from the workspace on, such as reports/june.pdf; or its whole path"
        " when it lies elsewhere, which the user may have to allow."
    )
    # Half of what Telegram takes: a character may count two there.
    caption: Annotated[str, StringConstraints(max_length=500)] = Field(
        default="", description="A short text below it, at most 500 characters."
    )


def _risk(args: SendFileArgs) -> Risk:
    # As much as a command: it can hand out whatever a command can read.
    return Risk.EXECUTE if args.path.startswith("/") else Risk.READ


def _free(args: SendFileArgs, workspace: Path) -> bool:
    """Whether it lies in the workspace, by what its path says."""
    try:
        inside(args.path, workspace)
    except ToolError:
        return False
    return True


@in_chat(free=_free)
@tool(
    risk=_risk,
    timeout_s=60,
    replayable=lambda _args: True,
    paths=lambda args: [args.path],
)
def send_file(args: SendFileArgs, context: ToolContext) -> ToolOutput:
    """Send a file to the user, in the chat that this conversation takes place in.

    It arrives before your answer. A JPEG or PNG is shown as a picture where the chat can.
    """
    desk = context.services.posts
    if desk is None:
        raise ToolError(_NOWHERE)
    place = desk.place(context.turn_id)
    name = shorten(clean(PurePosixPath(args.path).name), _LONGEST_NAME) or "file"
    # A copy: the agent's commands may change the file while it is stored.
    with tempfile.TemporaryFile() as kept:
        size = _copy(args, context, place, kept)
        kept.seek(0)
        mime = sniff(kept.read(HEAD_BYTES)) or _guessed(args.path)
        file = Attached(desk.store(kept, mime), mime, name, size, clean(args.path))
    said = Post(ChatKind.FILE, clean(args.caption), {FILES: [asdict(file)]})
    desk.post(context.turn_id, context.call_id, said)
    told = _TOLD if place.takes_files else _TOLD_LINE
    return ToolOutput(told.format(name=name, size=size_text(size), path=args.path))


def _copy(args: SendFileArgs, context: ToolContext, place: Place, kept: BinaryIO) -> int:
    limit = Limit(place.file_limit, _TOO_LARGE)
    if _free(args, context.workspace):
        with open_workspace(context.workspace) as workspace:
            return workspace.copy(args.path, kept, limit.size, limit.over)
    return kept.write(read_elsewhere(args.path, limit, context.services.commands, context.agent))


def _guessed(path: str) -> str:
    mime = mimetypes.guess_type(path, strict=False)[0] or _UNKNOWN
    # What is called a picture and is none would be shown as a broken one.
    return _UNKNOWN if mime in SHOWN else mime
