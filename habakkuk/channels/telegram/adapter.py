"""One bot: its webhooks read, its messages sent."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, ClassVar

from telegram import BotCommand, ReactionTypeEmoji

from habakkuk.channels import downloads
from habakkuk.channels.contract import (
    Account,
    Bounds,
    ChannelAdapter,
    Manifest,
    NotFetched,
    NotSent,
    OutcomeUnknown,
    WebhookRejected,
)
from habakkuk.channels.messages import (
    Event,
    OfferedCommand,
    OutboundMessage,
    Press,
    RawRequest,
    Reaction,
    Receipt,
    RemoteFile,
)
from habakkuk.channels.telegram import media, outgoing, wire
from habakkuk.channels.telegram.albums import Albums
from habakkuk.channels.telegram.client import CALL_SECONDS, Client, Lost, Refused
from habakkuk.channels.telegram.format import render, shown_length
from habakkuk.channels.telegram.manifest import MANIFEST, TelegramSettings
from habakkuk.channels.telegram.outgoing import Asked
from habakkuk.core.errors import ChannelError, ConfigurationError
from habakkuk.core.http import Head, Request
from habakkuk.core.outside import OutsideHttp
from habakkuk.core.retry_after import seconds_of
from habakkuk.core.text import shorten, size_text

_TOKEN = re.compile(r"([0-9]{1,20}):[A-Za-z0-9_-]{3,200}")
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105 - a header's name
_OK, _NOT_FOUND = 200, 404
_NO_TOKEN = (401, _NOT_FOUND)
_TOO_MANY = 429
# What says that nothing was done with it: a later try can succeed.
_LATER = (408, 425, _TOO_MANY, 500, 503)
# What a proxy says when it lost Telegram in between.
_UNKNOWN = (502, 504)
# A message as it is, to the chat's new id or out of its topic, without its formatting, as a file.
_MOST_TRIES = 4
_LONGEST_NOTE = 200
# Telegram's words for buttons that are gone already, and for a press that it has let go.
_SETTLED = (
    "message is not modified",
    "message to edit not found",
    "message to delete not found",
    "query is too old",
)
_UPLOAD_SECONDS = 120.0
# https://core.telegram.org/bots/api#getfile: what bots can download; a server of one's own that
# runs with --local has no such limit, but hands out paths on its own disk.
_LARGEST_FETCHED = 20_000_000
# Far less than what such a server takes: a send may not take longer than its deadline.
_LARGEST_OWN = 100_000_000
# https://core.telegram.org/bots/api#setmycommands and #botcommand
_MOST_COMMANDS, _LONGEST_HELP = 100, 256
_TOO_LARGE = "Telegram hands files of at most {most} out to bots"


class TelegramAdapter(ChannelAdapter[TelegramSettings]):
    """Talk to one bot over the Telegram Bot API."""

    manifest: ClassVar[Manifest] = MANIFEST

    def __init__(self, account: Account, settings: TelegramSettings, http: OutsideHttp) -> None:
        """Read token and secret. Raises ConfigurationError."""
        super().__init__(account, settings, http)
        token = account.secret(settings.token_env)
        form = _TOKEN.fullmatch(token)
        if form is None:
            raise ConfigurationError(
                f"channels.{account.name}.token_env: {settings.token_env} holds no token of"
                " BotFather, which looks like 123456789:AA…"
            )
        self.bot = int(form[1])
        self.client = Client(token, settings.api_url)
        self._secret = _webhook_secret(account, settings)
        self._albums = Albums()

    @property
    def identity(self) -> str:
        """The bot's id, which it keeps when its token is replaced."""
        return str(self.bot)

    def check(self) -> str:
        """Return the bot's name. Raises NotSent."""
        try:
            me = self.client.call(lambda bot: bot.get_me())
        except Refused as refused:
            raise _failure(refused) from None
        except Lost as lost:
            raise NotSent(lost.why, retryable=True) from None
        return f"@{me.username}"

    def offer(self, commands: Sequence[OfferedCommand]) -> None:
        """Fill the menu beside the box of every chat with the bot."""
        shown = [BotCommand(one.name, shorten(one.help, _LONGEST_HELP)) for one in commands]
        self._settled(lambda bot: bot.set_my_commands(shown[:_MOST_COMMANDS]))

    def connect(self, url: str) -> bool:
        """Set the webhook with its secret; what waits at Telegram is brought there."""
        if self._secret is None:
            return False
        secret = self._secret.decode()
        kinds = list(wire.KINDS)
        self._settled(lambda bot: bot.set_webhook(url, allowed_updates=kinds, secret_token=secret))
        return True

    def verify(self, request: RawRequest) -> None:
        """Compare the secret that Telegram was told with its webhook."""
        if self._secret is None:
            raise WebhookRejected("this account fetches its messages and takes no webhooks")
        sent = request.headers.get(_SECRET_HEADER, "")
        if not hmac.compare_digest(sent.encode("utf-8", "surrogateescape"), self._secret):
            raise WebhookRejected(f"the header {_SECRET_HEADER} is wrong or missing")

    def parse(self, request: RawRequest) -> Sequence[Event]:
        """Read the one update of a request."""
        return self.reader(self.settings.username or "").body(request.body)

    def reader(self, username: str) -> wire.Reader:
        """Return what reads updates of this bot, which goes by a name."""
        return wire.Reader(self.bot, username, self._albums)

    def length(self, text: str) -> int:
        """Return the UTF-16 units that Telegram counts once it is rendered."""
        return shown_length(text, self.limit)

    def send(self, message: OutboundMessage) -> Receipt:
        """Send one message; formatting that Telegram refuses is left out.

        A picture that it refuses as a photo goes as a file.
        """
        # A file is read while it is sent, and stays open until then.
        with ExitStack() as opened:
            previews = self.settings.link_previews
            asked = outgoing.asked(message, self.limit, opened, previews=previews)
            return self._sent_somehow(asked, _UPLOAD_SECONDS if message.file is not None else None)

    def _sent_somehow(self, asked: Asked, seconds: float | None) -> Receipt:
        for _ in range(_MOST_TRIES):
            try:
                return self._sent(asked, seconds)
            except Refused as refused:
                eased = asked.eased(refused)
                if eased is None:
                    raise _failure(refused) from None
                asked = eased
            except Lost as lost:
                raise _failure(lost) from None
        raise NotSent("Telegram refuses it in every form")

    def typing(self, chat: str, thread: str) -> None:
        """Show "typing…" for five seconds."""
        where = wire.write_target(OutboundMessage("", chat, thread, "", ""))
        self._settled(lambda bot: bot.send_chat_action(action="typing", **where))

    def react(
        self,
        chat: str,
        message: str,
        reaction: Reaction | None,
        before: Reaction | None,  # noqa: ARG002 - Telegram replaces what stands
    ) -> None:
        """Let this reaction stand in the place of whatever the bot's stood there."""
        number = wire.message_number(message, chat)
        standing = [ReactionTypeEmoji(reaction.value)] if reaction is not None else []
        if number is not None:
            self._settled(lambda bot: bot.set_message_reaction(chat, number, standing))

    def draft(self, chat: str, thread: str, reply_to: str | None, text: str) -> str:
        """Send a message that rings nowhere."""
        message = OutboundMessage("", chat, thread, text, "", reply_to)
        asked = outgoing.asked(message, self.limit, ExitStack(), previews=False)
        quiet = replace(asked, arguments={**asked.arguments, "disable_notification": True})
        try:
            return self._sent(quiet, None).id or ""
        except (Refused, Lost) as error:
            raise _unsent(error) from None

    def redraft(self, chat: str, draft: str, text: str) -> None:
        """Edit it; one that says this already is right."""
        shown = render(text, self.limit)
        number = wire.message_number(draft, chat)
        self._settled(
            lambda bot: bot.edit_message_text(
                shown.text,
                chat_id=chat,
                message_id=number,
                entities=outgoing.entities(shown),
            )
        )

    def undraft(self, chat: str, draft: str) -> None:
        """Delete it."""
        number = wire.message_number(draft, chat)
        if number is not None:
            self._settled(lambda bot: bot.delete_message(chat, number))

    def fetch(self, file: RemoteFile, bounds: Bounds) -> Iterator[bytes]:
        """Download a file; the public API hands out 20 MB at most."""
        bounds = replace(bounds, limit=min(bounds.limit, _LARGEST_FETCHED))
        _expect_size(file.size, bounds.limit)
        try:
            url, size = self.client.place(media.file_id(file), bounds)
        except Refused as refused:
            # It says "file is too big" of one whose size it did not tell.
            later = refused.status in _LATER
            raise NotFetched(
                _said(refused), retryable=later, retry_after=refused.retry_after
            ) from None
        except Lost as lost:
            raise NotFetched(lost.why, retryable=True) from None
        _expect_size(size, bounds.limit)
        request = Request("GET", url)
        return downloads.pieces(self.http, request, bounds, _expect_file, trusted=not self._public)

    @property
    def file_limit(self) -> int:
        """What Telegram takes; a server of one's own takes more."""
        return self.manifest.file_limit if self._public else _LARGEST_OWN

    @property
    def _public(self) -> bool:
        public: str = TelegramSettings.model_fields["api_url"].default
        return self.settings.api_url == public

    def settle(self, press: Press, said: str) -> None:
        """Answer a press, which ends the button's clock, and take the buttons away."""
        self._note(press, said, lasting=False)
        number = wire.message_number(press.message, press.chat)
        self._settled(
            lambda bot: bot.edit_message_reply_markup(chat_id=press.chat, message_id=number)
        )

    def decline(self, press: Press, said: str) -> None:
        """Answer a press in a box that only who pressed sees; the buttons stay."""
        self._note(press, said, lasting=True)

    def _note(self, press: Press, said: str, *, lasting: bool) -> None:
        note = shorten(said, _LONGEST_NOTE)
        self._settled(
            lambda bot: bot.answer_callback_query(press.id, text=note, show_alert=lasting)
        )

    def _settled(self, ask: Any) -> None:
        try:
            self.client.call(ask)
        except Refused as refused:
            if not any(words in refused.words for words in _SETTLED):
                raise _unsent(refused) from None
        except Lost as lost:
            raise _unsent(lost) from None

    def _sent(self, asked: Asked, seconds: float | None) -> Receipt:
        arguments = dict(asked.arguments)
        if seconds is not None:
            arguments |= {"read_timeout": seconds, "write_timeout": seconds}
        sent = self.client.call(
            lambda bot: getattr(bot, asked.method)(**arguments),
            seconds=seconds or CALL_SECONDS,
        )
        return Receipt(wire.message_id(sent.chat.id, sent.message_id))


def _expect_size(size: int | None, most: int) -> None:
    if (size or 0) > most:
        raise NotFetched(_TOO_LARGE.format(most=size_text(most)))


def _expect_file(head: Head) -> None:
    if head.status == _NOT_FOUND:
        raise NotFetched("the file is not there any more")
    if head.status != _OK:
        later = head.status in (*_LATER, *_UNKNOWN)
        raise NotFetched(
            f"Telegram answers HTTP {head.status} for it",
            retryable=later,
            retry_after=seconds_of(head.headers),
        )


def _webhook_secret(account: Account, settings: TelegramSettings) -> bytes | None:
    if settings.webhook_secret_env is None:
        return None
    secret = account.secret(settings.webhook_secret_env)
    if _SECRET.fullmatch(secret) is None:
        raise ConfigurationError(
            f"channels.{account.name}.webhook_secret_env: the secret has at most 256 letters,"
            ' digits, - and _; make one with: python3 -c "import secrets;'
            ' print(secrets.token_urlsafe(32))"'
        )
    return secret.encode()


def _failure(error: Refused | Lost) -> ChannelError:
    """Return what a failed send means."""
    if isinstance(error, Lost):
        return error.of_send()
    if error.status in _UNKNOWN:
        return OutcomeUnknown(_said(error), retry_after=error.retry_after)
    return NotSent(_said(error), retryable=error.status in _LATER, retry_after=error.retry_after)


def _unsent(error: Refused | Lost) -> NotSent:
    """Return what the failure of something means that is as good done twice."""
    failure = _failure(error)
    if isinstance(failure, NotSent):
        return failure
    return NotSent(str(failure), retryable=True, retry_after=failure.retry_after)


def _said(refused: Refused) -> str:
    if refused.status in _NO_TOKEN:
        return f"Telegram does not know the bot's token ({refused.words})"
    if refused.status == _TOO_MANY:
        return "Telegram asks to be left alone for a while"
    return f"Telegram refuses: {refused.words}"
