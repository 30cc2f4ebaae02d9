"""What is said of images: what a model takes, what was made of one, and why one cannot be sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Flaw(StrEnum):
    """Why an image cannot be sent, as it is said after "image x: "."""

    DAMAGED = "it is damaged or no image"
    TOO_MANY_PIXELS = "it has too many pixels"
    TOO_HEAVY = "it cannot be made small enough"
    TOO_MUCH_MEMORY = "it is damaged, or takes too much memory to read"


class Unfit(Exception):
    """A file cannot be made to fit; the message says why, after "image x: "."""


@dataclass(frozen=True)
class ImageLimits:
    """What a wire format takes. `encoded_bytes` counts base64; `side` is in pixels.

    What is larger, in bytes or pixels, is made as small as `scaled_side`, where that is another.
    """

    types: frozenset[str]
    encoded_bytes: int
    side: int
    scaled_side: int | None = None


@dataclass(frozen=True)
class Fitted:
    """An image as it is sent: its `size` as it was stored, and as it is `shown`, in pixels."""

    mime: str
    data: bytes = field(repr=False)
    size: tuple[int, int]
    shown: tuple[int, int]


def encoded_size(data: bytes) -> int:
    """Return the length of bytes in base64."""
    return (len(data) + 2) // 3 * 4
