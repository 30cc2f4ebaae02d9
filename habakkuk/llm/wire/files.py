"""Files of a message as the wire formats send them: images and PDFs, in base64."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from habakkuk.core.text import clean
from habakkuk.llm.types import Block, Media, Payload
from habakkuk.llm.wire.outgoing import spoken

_PDF = "application/pdf"


@dataclass(frozen=True)
class File:
    """An image, or else a PDF. `name` is what people call it."""

    mime: str
    name: str
    base64: str

    @property
    def is_image(self) -> bool:
        """Whether it is an image."""
        return self.mime.startswith("image/")

    @property
    def uri(self) -> str:
        """The whole file as a data: URI."""
        return f"data:{self.mime};base64,{self.base64}"


def file_of(block: Block, payloads: Mapping[str, Payload]) -> File | None:
    """Return the file that a block brings; None where it is to be told as a note, or is none."""
    payload = payloads.get(block.blob) if isinstance(block, Media) else None
    if payload is None or not isinstance(block, Media):
        return None
    if payload.mime != _PDF and not payload.mime.startswith("image/"):
        return None
    return File(
        payload.mime, clean(block.name or "file"), base64.b64encode(payload.data).decode("ascii")
    )


def spoken_parts(blocks: Iterable[Block], payloads: Mapping[str, Payload]) -> Iterator[str | File]:
    """Yield texts and files in their order; texts that stand together are one."""
    texts: list[str] = []
    for block in blocks:
        file = file_of(block, payloads)
        if file is None:
            texts.append(spoken(block))
            continue
        yield from _joined(texts)
        texts = []
        yield file
    yield from _joined(texts)


def _joined(texts: Iterable[str]) -> Iterator[str]:
    text = "\n".join(filter(None, texts))
    if text.strip():
        yield text
