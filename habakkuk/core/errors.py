"""The errors of Habakkuk, told apart by who is to read them.

HabakkukError
├── UserError               safe to show to the person who asked
│   ├── Invalid             the request cannot be understood or accepted
│   ├── NotFound            it does not exist, or it is another person's
│   ├── Forbidden           known, but not for this person
│   ├── Conflict            the state has moved on
│   ├── QuotaExceeded       a limit of the person or of the server
│   └── Unavailable         a part of the server is away; ask again later
├── ExternalError           another system refused or failed; says whether a retry can help
│   ├── ChannelError        a chat platform
│   └── LlmError            a model provider (habakkuk.llm.contract has its classes)
├── ToolError               shown to the model as the result of its call
└── ConfigurationError      shown to the operator, who must change something
"""

from __future__ import annotations


class HabakkukError(Exception):
    """Anything that Habakkuk raises on purpose."""


class UserError(HabakkukError):
    """Something the person who asked can read and act on."""


class Invalid(UserError):
    """The request cannot be understood or accepted as it is."""


class NotFound(UserError):
    """It does not exist, or it belongs to somebody else."""


class Forbidden(UserError):
    """The person may not do this."""


class Conflict(UserError):
    """The state moved on before the request arrived."""


class QuotaExceeded(UserError):
    """A limit of the person or of the server is reached."""


class Unavailable(UserError):
    """A part of the server is away for now."""

    def __init__(self, message: str, retry_after: float = 5.0) -> None:
        """Keep how many seconds to wait before asking again."""
        super().__init__(message)
        self.retry_after = retry_after


class ExternalError(HabakkukError):
    """Another system failed. `retryable` says whether the same call can succeed later."""

    def __init__(
        self, message: str, *, retryable: bool = False, retry_after: float | None = None
    ) -> None:
        """Keep the retry advice; `retry_after` is in seconds and None when nobody named one."""
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after


class ChannelError(ExternalError):
    """A chat platform refused or failed."""


class LlmError(ExternalError):
    """A model provider refused or failed."""


class ToolError(HabakkukError):
    """What a tool says to the model when it cannot do what was asked."""


class ConfigurationError(HabakkukError):
    """What the operator must change, with the place."""
