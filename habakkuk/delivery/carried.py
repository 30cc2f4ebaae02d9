"""What a delivery brings beside text, as far as its platform can show it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from habakkuk.blobs.service import Blobs
from habakkuk.channels.contract import Feature
from habakkuk.channels.messages import OutboundFile, Poll
from habakkuk.channels.registry import Adapter
from habakkuk.conversations.files import Attached
from habakkuk.core.text import size_text
from habakkuk.delivery.types import Delivery

_LINE = "📎 {name} ({size}), in the workspace: {path}"
_UNSENT = "📎 {name} ({size}) is too large to be sent here. It is in the workspace: {path}"
_REFUSED = "📎 {name} ({size}) could not be sent here ({why}). It is in the workspace: {path}"
# What was made for the chat lies in no workspace.
_ALONE = "📎 {name} ({size}) cannot be sent here; the dashboard can export it."
_GONE = "📎 {name} ({size}) is no longer there."


@dataclass(frozen=True)
class Carried:
    """A file or a poll that the platform shows, and the text that goes with it or in its place."""

    text: str = ""
    file: OutboundFile | None = None
    poll: Poll | None = None

    @classmethod
    def by(cls, adapter: Adapter, delivery: Delivery, blobs: Blobs) -> Carried:
        """Return what this adapter takes of a delivery.

        Asked at each run anew: an account may take less by then than when it was put off.
        """
        features, poll, file = adapter.manifest.features, delivery.poll, delivery.file
        if poll is not None and Feature.POLLS in features:
            made = Poll(poll["question"], tuple(poll["options"]), poll["multiple"])
            return cls(delivery.text, poll=made)
        if file is None:
            return cls(delivery.text)
        if Feature.FILES not in features:
            return cls(_told(_LINE, file, delivery.text))
        if not blobs.has(file.blob):
            return cls(_told(_GONE, file, delivery.text))
        if file.size > adapter.file_limit:
            return cls(_told(_UNSENT, file, delivery.text))
        opened = partial(blobs.open, file.blob)
        sent = OutboundFile(file.name or "file", file.mime, file.size, opened)
        return cls(delivery.text, file=sent)


def in_words(delivery: Delivery, said: str, why: str) -> str:
    """Return what is sent in the place of a file or a poll that the platform refused, and why.

    `said` is what was to stand beside it.
    """
    return said if delivery.file is None else _told(_REFUSED, delivery.file, said, why)


def _told(line: str, file: Attached, said: str, why: str = "") -> str:
    name, size = file.name or "file", size_text(file.size)
    line = line if file.path is not None or line == _GONE else _ALONE
    told = line.format(name=name, size=size, path=file.path, why=why)
    return f"{said}\n\n{told}" if said else told
