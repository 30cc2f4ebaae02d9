"""What Slack's words for a failure mean (https://docs.slack.dev/reference/methods, "Errors")."""

from __future__ import annotations

from habakkuk.channels.contract import NotSent, OutcomeUnknown
from habakkuk.channels.outcomes import Lost
from habakkuk.channels.slack.client import Refused
from habakkuk.core.errors import ChannelError

# What a message without formatting would not be refused for.
FORMATTING = frozenset(
    {
        "invalid_blocks",
        "invalid_blocks_format",
        "msg_blocks_too_long",
        "msg_too_long",
        "markdown_text_conflict",
        "too_many_attachments",
        "unsupported_block",
    }
)
# What was done already is no failure.
GONE = frozenset({"message_not_found", "cant_update_message", "cant_delete_message"})
REACTED = frozenset({"already_reacted", "message_not_found", "too_many_reactions"})
NO_REACTION = frozenset({"no_reaction", "message_not_found"})
# A chat that is there no more.
NO_CHAT = frozenset({"channel_not_found"})
# A thread whose first message is there no more; and a message that takes none, as one of `/me`.
NO_THREAD = frozenset({"thread_not_found", "message_not_found"})
NO_ANSWERS = frozenset({"cannot_reply_to_message"})
# The token is worth nothing any more, whatever is asked with it.
CLOSED = frozenset(
    {
        "invalid_auth",
        "not_authed",
        "account_inactive",
        "token_revoked",
        "token_expired",
        "not_allowed_token_type",
        "team_access_not_granted",
        "app_missing_action_url",
    }
)
_ADVICE = {
    "channel_not_found": "it is gone, or the app was never in it; invite the app there",
    "not_in_channel": "invite the app there: /invite with its name",
    "is_archived": "the channel is archived",
    "invalid_auth": "the token is not valid; the app's page has the current one under Install App",
    "not_authed": "the token is missing",
    "account_inactive": "the app was removed from the workspace; install it again",
    "token_revoked": "the token was revoked; install the app again",
    "token_expired": "the token has expired; switch token rotation off, or install the app again",
    "not_allowed_token_type": "this is another kind of token than is needed here",
    "restricted_action": "the workspace does not let the app write there",
    "missing_scope": "the app lacks a scope; add it under OAuth & Permissions and install it again",
    "ratelimited": "it asks to be left alone for a while",
}
# Nothing was done, and a later try can succeed.
_LATER_CODES = frozenset(
    {
        "ratelimited",
        "rate_limited",
        "message_limit_exceeded",
        "service_unavailable",
        "request_timeout",
        "team_added_to_org",
        "org_login_required",
    }
)
# "It's possible some aspect of the operation succeeded before the error was raised."
_UNKNOWN_CODES = frozenset({"internal_error", "fatal_error"})
LATER = (408, 425, 429, 500, 503)
# What a proxy says when it lost Slack in between.
_UNKNOWN = (502, 504)


def of_send(error: Refused | Lost) -> ChannelError:
    """Return what a failed send means."""
    if isinstance(error, Lost):
        return error.of_send()
    if error.status in _UNKNOWN or error.code in _UNKNOWN_CODES:
        return OutcomeUnknown(said(error), retry_after=error.retry_after)
    return NotSent(said(error), retryable=_passes(error), retry_after=error.retry_after)


def of_call(error: Refused | Lost) -> NotSent:
    """Return what the failure of something means that can be done twice."""
    if isinstance(error, Lost):
        return error.of_call()
    passes = _passes(error) or error.status in _UNKNOWN or error.code in _UNKNOWN_CODES
    return NotSent(said(error), retryable=passes, retry_after=error.retry_after)


def said(refused: Refused) -> str:
    """Say what Slack refuses, and what to do."""
    advice = _ADVICE.get(refused.code)
    scope = f" ({refused.needed})" if refused.needed else ""
    return f"Slack refuses: {refused.code}{scope}" + (f"; {advice}" if advice else "")


def _passes(refused: Refused) -> bool:
    return refused.code in _LATER_CODES or refused.status in LATER
