"""What a wire format takes of files, as its maker documents it; less where that leaves room.

Sides are those beyond which the services scale down by themselves, so that nothing is lost but
bytes. `file_bytes` is a request's documented size less room for a long conversation.
"""

from __future__ import annotations

from dataclasses import dataclass

from habakkuk.llm.contract import Endpoint, Profile
from habakkuk.llm.media.sniff import GIF, JPEG, PNG, WEBP
from habakkuk.llm.media.types import ImageLimits

_MB = 1_000_000
_LONG_WINDOW = 1_000_000


@dataclass(frozen=True)
class FileLimits:
    """Limits of a request's files; sizes count base64. `pages` None: no limit is known."""

    image: ImageLimits
    images: int
    document_bytes: int
    pages: int | None
    file_bytes: int


# https://platform.claude.com/docs/en/build-with-claude/vision and .../pdf-support: 5 MB an image,
# 8000 px (2000 px where a request has more than 20 images: kept always, so that what was sent does
# not change when the 21st comes), 32 MB a request, 100 images and pages, 600 with a long window.
_ANTHROPIC = FileLimits(
    image=ImageLimits(frozenset({JPEG, PNG, GIF, WEBP}), 5 * _MB, 2000),
    images=100,
    document_bytes=24 * _MB,
    pages=100,
    file_bytes=24 * _MB,
)
# https://developers.openai.com/api/docs/guides/images-vision and .../pdf-files: 50 MB a request.
_RESPONSES = FileLimits(
    image=ImageLimits(frozenset({JPEG, PNG, GIF, WEBP}), 20 * _MB, 2048),
    images=500,
    document_bytes=40 * _MB,
    pages=None,
    file_bytes=40 * _MB,
)
# https://ai.google.dev/gemini-api/docs/image-understanding and .../document-processing: 20 MB a
# request with everything in it, 3072 px, 1000 pages; no GIF.
_GEMINI = FileLimits(
    image=ImageLimits(frozenset({JPEG, PNG, WEBP}), 7 * _MB, 3072),
    images=500,
    document_bytes=14 * _MB,
    pages=1000,
    file_bytes=14 * _MB,
)
# Many servers, the least of what they document: Groq takes 4 MB of an image, and some local ones
# read JPEG and PNG only.
_CHAT = FileLimits(
    image=ImageLimits(frozenset({JPEG, PNG}), 4 * _MB, 2048),
    images=50,
    document_bytes=20 * _MB,
    pages=100,
    file_bytes=20 * _MB,
)
_BY_TYPE = {"anthropic": _ANTHROPIC, "responses": _RESPONSES, "gemini": _GEMINI}


def limits_for(endpoint: Endpoint | None, profile: Profile) -> FileLimits:
    """Return what can be sent to a model at an endpoint; those of Chat Completions for None."""
    limits = _BY_TYPE.get(endpoint.type, _CHAT) if endpoint else _CHAT
    if limits is _ANTHROPIC and (profile.context_window or 0) >= _LONG_WINDOW:
        return FileLimits(limits.image, 600, limits.document_bytes, 600, limits.file_bytes)
    most = endpoint.dialect.images if endpoint else None
    if most is None:
        return limits
    return FileLimits(limits.image, most, limits.document_bytes, limits.pages, limits.file_bytes)


def takes_documents(endpoint: Endpoint | None, profile: Profile) -> bool:
    """Whether PDFs can be sent: the model reads them, and the service has a form for them."""
    if not profile.documents or endpoint is None:
        return False
    return endpoint.type in _BY_TYPE or endpoint.dialect.documents
