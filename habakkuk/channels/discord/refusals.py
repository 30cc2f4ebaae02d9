"""What a call that failed means for what was to be sent, and what to do about it."""

from __future__ import annotations

from habakkuk.channels.contract import NotSent, OutcomeUnknown
from habakkuk.channels.discord.client import Refused
from habakkuk.channels.outcomes import Lost
from habakkuk.core.errors import ChannelError

NO_TOKEN = 401
TOO_MANY = 429
UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
UNKNOWN_REACTION = 10014
UNKNOWN_INTERACTION = 10062
ANSWERED_ALREADY = 40060
# To stand below a message takes Read Message History, and to be posted does not.
MAY_NOT_REPLY = (160002, 160009)
UNKNOWN_BOT = (
    "Discord does not know the bot's token; reset it at discord.com/developers/applications, under"
    " Bot, and put the new one into .env"
)
MAY_NOT_READ = (
    "Discord does not let the bot read messages: switch Message Content Intent on at"
    " discord.com/developers/applications, under Bot, or set message_content: false here, so that"
    " it reads direct messages and what mentions it only"
)
# What says that nothing was done with it: a later try can succeed.
_LATER = (408, 425, TOO_MANY)
_SERVER_FAULT = 500
# Discord's codes for why, and what helps (its reference, "JSON Error Codes").
_ADVICE = {
    UNKNOWN_CHANNEL: "the channel is gone, or the bot is not in its server any more",
    UNKNOWN_MESSAGE: "the message is gone",
    50001: "the bot may not see this channel; give it View Channel there",
    50007: (
        "this person takes no direct messages from the bot: they must share a server with it and"
        " allow direct messages there, or unblock it"
    ),
    50013: (
        "the bot lacks a permission in this channel; it needs Send Messages (in threads: Send"
        " Messages in Threads), Read Message History, Attach Files and Add Reactions"
    ),
    50083: "the thread is archived or locked",
    40005: "the file is too large for this server",
}


def failure(error: Refused | Lost) -> ChannelError:
    """Return what a failed send means."""
    if isinstance(error, Lost):
        return error.of_send()
    if error.status >= _SERVER_FAULT:
        # Discord fails before and after it has stored a message, and does not say which.
        return OutcomeUnknown(said(error), retry_after=error.retry_after)
    return not_done(error)


def not_done(error: Refused | Lost) -> NotSent:
    """Return what a failed call means that may as well be made twice."""
    if isinstance(error, Lost):
        return error.of_call()
    later = error.status in _LATER or error.status >= _SERVER_FAULT
    return NotSent(said(error), retryable=later, retry_after=error.retry_after)


def is_for_good(refused: Refused) -> bool:
    """Say whether Discord itself will never do it: what stands before it knows none of its codes.

    Of a token that it does not know it has no code either: that is no channel's fault.
    """
    return refused.code != 0 and not not_done(refused).retryable


def said(refused: Refused) -> str:
    """Return a refusal in words."""
    if refused.status == NO_TOKEN:
        return UNKNOWN_BOT
    if refused.status == TOO_MANY:
        return "Discord asks to be left alone for a while"
    advice = _ADVICE.get(refused.code)
    told = f"Discord refuses: {refused.words}"
    return f"{told} ({advice})" if advice else told
