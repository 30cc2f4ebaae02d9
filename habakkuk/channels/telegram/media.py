"""The files of Telegram's messages, and what of a message is neither text nor a file.

Every kind of file has the same few fields (https://core.telegram.org/bots/api#document and the
like); a photo is a list of its sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from habakkuk.channels.messages import RemoteFile

# What a message can hold beside text, and what it is called.
_KINDS = {
    "animation": "an animation",
    "audio": "an audio file",
    "checklist": "a checklist",
    "contact": "a contact",
    "dice": "a die",
    "document": "a file",
    "game": "a game",
    "invoice": "an invoice",
    "live_photo": "a live photo",
    "location": "a location",
    "paid_media": "paid media",
    "photo": "a photo",
    "poll": "a poll",
    "sticker": "a sticker",
    "story": "a story",
    "venue": "a place",
    "video": "a video",
    "video_note": "a video message",
    "voice": "a voice message",
}
# Sent beside what says the same more exactly.
_DOUBLED = {"animation": "document", "venue": "location"}
# The kinds that are files, with the name and the type of one that tells none.
_FILES = {
    "animation": ("animation.mp4", "video/mp4"),
    "audio": ("audio.mp3", "audio/mpeg"),
    "document": ("", "application/octet-stream"),
    "photo": ("photo.jpg", "image/jpeg"),
    "video": ("video.mp4", "video/mp4"),
    "video_note": ("video-message.mp4", "video/mp4"),
    "voice": ("voice-message.ogg", "audio/ogg"),
}


class _File(BaseModel):
    model_config = ConfigDict(strict=True)

    file_id: str = Field(min_length=1, max_length=500)
    file_name: str = ""
    mime_type: str = ""
    file_size: int | None = None
    width: int = 0


_PHOTO: TypeAdapter[list[_File]] = TypeAdapter(list[_File])


def read(held: Mapping[str, Any]) -> tuple[tuple[RemoteFile, ...], tuple[str, ...]]:
    """Return a message's files, and the names of what it holds that is none, from its fields."""
    kinds = [kind for kind in _KINDS if kind in held]
    doubled = {_DOUBLED[kind] for kind in kinds if kind in _DOUBLED}
    found = {
        kind: _file(kind, held[kind]) if kind in _FILES else None
        for kind in kinds
        if kind not in doubled
    }
    files = tuple(file for file in found.values() if file is not None)
    return files, tuple(_KINDS[kind] for kind, file in found.items() if file is None)


def file_id(file: RemoteFile) -> str:
    """Return what Telegram knows a file by."""
    return str(file.handle.get("file_id", ""))


def _file(kind: str, given: Any) -> RemoteFile | None:
    try:
        sizes = _PHOTO.validate_python(given if kind == "photo" else [given])
    except ValidationError:
        # The words beside it are worth reading all the same.
        return None
    if not sizes:
        return None
    largest = max(sizes, key=lambda one: (one.width, one.file_size or 0))
    name, mime = _FILES[kind]
    return RemoteFile(
        largest.file_name or name,
        largest.mime_type or mime,
        largest.file_size,
        {"file_id": largest.file_id},
    )
