from __future__ import annotations

import pytest

from habakkuk.core.errors import (
    ChannelError,
    ConfigurationError,
    ExternalError,
    HabakkukError,
    Invalid,
    LlmError,
    NotFound,
    ToolError,
    Unavailable,
    UserError,
)


def test_an_outside_error_says_whether_a_retry_can_help() -> None:
    plain = LlmError("refused")
    assert (plain.retryable, plain.retry_after) == (False, None)
    busy = ChannelError("busy", retryable=True, retry_after=33.0)
    assert (busy.retryable, busy.retry_after) == (True, 33.0)


def test_unavailable_says_when_to_ask_again() -> None:
    assert Unavailable("away").retry_after == 5.0


@pytest.mark.parametrize("kind", [ExternalError, ToolError, ConfigurationError])
def test_what_is_not_for_the_user_is_no_user_error(kind: type[HabakkukError]) -> None:
    assert not issubclass(kind, UserError)
    assert issubclass(Invalid, UserError)
    assert issubclass(NotFound, UserError)
