"""The parts of a client's message: text, and files that come along inside the request."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from habakkuk.blobs.incoming import IncomingFile, incoming_shown
from habakkuk.core.errors import Invalid
from habakkuk.interop.refused import RefusedParameter

_REMOTE = ("http://", "https://")
_INLINE = "send the image inside the request, as data:image/png;base64,...; addresses are not read"


class _Address(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    url: str


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    file_data: str | None = None
    file_id: str | None = None
    filename: str | None = None


class Part(BaseModel):
    """One part of a message's content; what its type does not need is ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)

    type: str = Field(max_length=100)
    text: str | None = None
    image_url: _Address | str | None = None
    file: _File | None = None


def text_of(part: Part) -> str | None:
    """Return the text of a part; None when it is none."""
    return part.text if part.type == "text" else None


def file_of(part: Part, place: str) -> IncomingFile:
    """Return the file in a part that is no text. Raises RefusedParameter, which names `place`."""
    if part.type == "image_url" and part.image_url is not None:
        url = part.image_url if isinstance(part.image_url, str) else part.image_url.url
        if url.lower().startswith(_REMOTE):
            raise RefusedParameter(_INLINE, place)
        return _read(url, None, place)
    if part.type == "file" and part.file is not None:
        if part.file.file_data is None:
            raise RefusedParameter(
                "send the file inside the request, as file_data; there are no uploads to name by"
                " file_id",
                place,
            )
        return _read(part.file.file_data, part.file.filename, place)
    raise RefusedParameter(
        f"content of the type {part.type[:40]!r} is not accepted; send text, image_url or file",
        place,
    )


def _read(text: str, name: str | None, place: str) -> IncomingFile:
    try:
        return incoming_shown(text, name)
    except Invalid as error:
        raise RefusedParameter(f"the file cannot be read: {error}", place) from error
