"""One bot: its webhooks read, its messages sent."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import telegram
from telegram import InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, ReplyParameters

from habakkuk.channels.contract import (
    Account,
    ChannelAdapter,
    Manifest,
    NotSent,
    OutcomeUnknown,
    WebhookRejected,
)
from habakkuk.channels.messages import Button, Event, OutboundMessage, Press, RawRequest, Receipt
from habakkuk.channels.telegram import wire
from habakkuk.channels.telegram.client import Client, Lost, Refused
from habakkuk.channels.telegram.format import Formatted, render, shown_length
from habakkuk.channels.telegram.manifest import MANIFEST, TelegramSettings
from habakkuk.core.errors import ChannelError, ConfigurationError
from habakkuk.core.outside import OutsideHttp
from habakkuk.core.text import shorten

_TOKEN = re.compile(r"([0-9]{1,20}):[A-Za-z0-9_-]{3,200}")
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105 - a header's name
_BAD_REQUEST = 400
_NO_TOKEN = (401, 404)
_TOO_MANY = 429
# What says that nothing was done with it: a later try can succeed.
_LATER = (408, 425, _TOO_MANY, 500, 503)
# What a proxy says when it lost Telegram in between.
_UNKNOWN = (502, 504)
# A message as it is, without its formatting, to the chat's new id.
_MOST_TRIES = 3
_LONGEST_NOTE = 200
_ROW_CHARACTERS = 30
# Telegram's words for buttons that are gone already, and for a press that it has let go.
_SETTLED = ("message is not modified", "message to edit not found", "query is too old")


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
        return wire.Reader(self.bot, username)

    def length(self, text: str) -> int:
        """Return the UTF-16 units that Telegram counts once it is rendered."""
        return shown_length(text, self.limit)

    def send(self, message: OutboundMessage) -> Receipt:
        """Send one message; formatting that Telegram refuses is left out."""
        shown = render(message.text, self.limit)
        asked = self._arguments(message, shown)
        for _ in range(_MOST_TRIES):
            try:
                return self._sent(asked)
            except Refused as refused:
                eased = _eased(asked, refused, shown)
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
            if not any(words in refused.description for words in _SETTLED):
                raise _failure(refused) from None
        except Lost as lost:
            # Done twice it is the same.
            raise NotSent(lost.why, retryable=True) from None

    def _sent(self, asked: Mapping[str, Any]) -> Receipt:
        sent = self.client.call(lambda bot: bot.send_message(**asked))
        return Receipt(wire.message_id(sent.chat.id, sent.message_id))

    def _arguments(self, message: OutboundMessage, shown: Formatted) -> dict[str, Any]:
        asked = {
            **wire.write_target(message),
            "text": shown.text,
            "entities": [telegram.MessageEntity(**one.to_dict()) for one in shown.entities],
            "link_preview_options": LinkPreviewOptions(is_disabled=not self.settings.link_previews),
        }
        number = wire.message_number(message.reply_to, message.chat)
        if number is not None and message.part == 1:
            asked["reply_parameters"] = ReplyParameters(number, allow_sending_without_reply=True)
        if message.buttons and message.part == message.parts:
            asked["reply_markup"] = InlineKeyboardMarkup(_rows(message.buttons))
        return asked


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


def _eased(asked: Mapping[str, Any], refused: Refused, shown: Formatted) -> dict[str, Any] | None:
    """Return what to ask instead, None when nothing else would be taken."""
    if refused.moved_to is not None and asked["chat_id"] != str(refused.moved_to):
        # The group became a supergroup: its topics and numbers are others now.
        moved = {"chat_id": str(refused.moved_to), "message_thread_id": None}
        return {**asked, **moved, "reply_parameters": None}
    formatting = refused.status == _BAD_REQUEST and "entit" in refused.description.lower()
    if formatting and asked["entities"]:
        return {**asked, "text": shown.plain, "entities": []}
    return None


def _rows(buttons: Sequence[Button]) -> list[list[InlineKeyboardButton]]:
    """Return short buttons beside each other, longer ones each in a row."""
    made = [InlineKeyboardButton(one.label, callback_data=one.data) for one in buttons]
    if sum(len(one.label) for one in buttons) <= _ROW_CHARACTERS:
        return [made]
    return [[one] for one in made]


def _failure(error: Refused | Lost) -> ChannelError:
    """Return what a failed send means."""
    if isinstance(error, Lost):
        if error.sent:
            return OutcomeUnknown(error.why)
        return NotSent(error.why, retryable=True)
    if error.status in _UNKNOWN:
        return OutcomeUnknown(_said(error), retry_after=error.retry_after)
    return NotSent(_said(error), retryable=error.status in _LATER, retry_after=error.retry_after)


def _said(refused: Refused) -> str:
    if refused.status in _NO_TOKEN:
        return f"Telegram does not know the bot's token ({refused.description})"
    if refused.status == _TOO_MANY:
        return "Telegram asks to be left alone for a while"
    return f"Telegram refuses: {refused.description}"
