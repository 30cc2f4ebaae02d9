"""What is asked of outside addresses, what comes back, and how that fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from habakkuk.core.errors import ExternalError


class HttpRefused(ExternalError):
    """The address may not be called. Never tried again."""


class HttpFailed(ExternalError):
    """The address was called, and no usable answer came.

    `sent`: the request may have arrived, so that what it asks for may have happened. `late`: its
    time was over.
    """

    def __init__(
        self, message: str, *, retryable: bool = False, sent: bool = True, late: bool = False
    ) -> None:
        """Keep what is known of the request."""
        super().__init__(message, retryable=retryable)
        self.sent = sent
        self.late = late


@dataclass(frozen=True)
class Limits:
    """How much one fetch may take: seconds in all, and bytes after decoding."""

    seconds: float = 30.0
    max_bytes: int = 5_000_000


@dataclass(frozen=True)
class Fetched:
    """One answer. `url` is where it came from in the end; `cut`: the body was longer."""

    url: str
    status: int
    content_type: str
    body: bytes
    cut: bool
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Head:
    """How an answer begins whose body is read piece by piece."""

    status: int
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Request:
    """One request to an interface; headers are sent as they stand.

    A `body` that is an open file is read while it is sent.
    """

    method: str
    url: str
    body: bytes | BinaryIO = b""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
