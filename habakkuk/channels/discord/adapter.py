"""One bot: its messages sent, found again, changed and taken back."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, ClassVar
from urllib.parse import quote

from habakkuk.channels.contract import (
    Account,
    Bounds,
    ChannelAdapter,
    Manifest,
    NotSent,
    OutcomeUnknown,
    WebhookRejected,
    WebhookUnreadable,
)
from habakkuk.channels.discord import commands, outgoing, refusals, wire
from habakkuk.channels.discord.client import Answer, Body, Client, Refused
from habakkuk.channels.discord.files import Files
from habakkuk.channels.discord.format import render, shown_length
from habakkuk.channels.discord.ids import is_id, made_at
from habakkuk.channels.discord.manifest import MANIFEST, DiscordSettings
from habakkuk.channels.messages import (
    Event,
    OfferedCommand,
    OutboundFile,
    OutboundMessage,
    Press,
    RawRequest,
    Reaction,
    Receipt,
    RemoteFile,
)
from habakkuk.channels.outcomes import Lost
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.outside import OutsideHttp

_TOKEN = re.compile(r"[A-Za-z0-9_.-]{20,200}")
_UPDATE, _ANSWER = 7, 4
_LATE = (refusals.UNKNOWN_INTERACTION, refusals.ANSWERED_ALREADY)
# What Discord has of a press until its answer: for 15 minutes, and few are open at once.
_MOST_PRESSES = 200
# Discord remembers keys for "a few minutes": what is younger it finds itself.
_REMEMBERED_SECONDS = 120.0
_PAGE = 100


class DiscordAdapter(ChannelAdapter[DiscordSettings]):
    """Talk to Discord for one bot, over REST."""

    manifest: ClassVar[Manifest] = MANIFEST

    def __init__(self, account: Account, settings: DiscordSettings, http: OutsideHttp) -> None:
        """Read the token. Raises ConfigurationError."""
        super().__init__(account, settings, http)
        self.token = account.secret(settings.token_env)
        if _TOKEN.fullmatch(self.token) is None:
            raise ConfigurationError(
                f"channels.{account.name}.token_env: {settings.token_env} holds no bot token; it"
                " stands at discord.com/developers/applications, under Bot, and has no word before"
                " it"
            )
        self.client = Client(self.token, settings.api_url, http)
        self._files = Files(self.client, http, settings.api_url)
        self._presses = _Presses()
        self._me = ""

    @property
    def identity(self) -> str:
        """A digest of the token."""
        return hashlib.sha256(self.token.encode()).hexdigest()[:32]

    def check(self) -> str:
        """Return the bot's name. Raises NotSent, also where it may not read what it should."""
        who = self._asked_who()
        if self.settings.message_content and not self._may_read():
            raise NotSent(refusals.MAY_NOT_READ)
        return f"@{who.username}"

    def verify(self, request: RawRequest) -> None:  # noqa: ARG002 - there are none
        """Refuse: Discord brings messages at its gateway only."""
        raise WebhookRejected("this account listens at Discord's gateway and takes no webhooks")

    def parse(self, request: RawRequest) -> Sequence[Event]:  # noqa: ARG002 - there are none
        """Return nothing: there are no webhooks."""
        return []

    def length(self, text: str) -> int:
        """Return how long a text is once it is rendered."""
        return shown_length(text)

    def send(self, message: OutboundMessage) -> Receipt:
        """Send one message; a repeat within some minutes returns the one that is there."""
        asked = self._written(message)
        try:
            answer = self._posted(message.chat, asked, message.file)
        except Refused as refused:
            if refused.code == refusals.UNKNOWN_MESSAGE:
                # It was sent under this key, and deleted since.
                return Receipt()
            raise refusals.failure(refused) from None
        except Lost as lost:
            raise refusals.failure(lost) from None
        try:
            return Receipt(wire.made(answer.body))
        except ValueError:
            raise OutcomeUnknown("Discord's answer could not be read") from None

    def find(self, message: OutboundMessage) -> Receipt | None:
        """Look for an answer in its chat, below what it answers.

        Discord does not keep the key with a message, so it is known by its words and its place.
        What is young, Discord finds by the key when it is sent again; and what answers nothing
        cannot be told from another of the same words.
        """
        if message.reply_to is None:
            return None
        wanted = self._written(message)
        path = f"/channels/{_id(message.chat)}/messages?after={_id(message.reply_to)}&limit={_PAGE}"
        try:
            answer = self.client.call("GET", path)
            own = self._me or self._asked_who().id
            found = list(wire.sent_by(own, answer.body))
        except (Refused, Lost) as error:
            raise refusals.not_done(error) from None
        except WebhookUnreadable as error:
            raise NotSent(str(error), retryable=True) from None
        for sent in found:
            if outgoing.is_same(sent, wanted) and self._stands_below(sent, message):
                remembered = answer.time - made_at(int(sent.id)) < _REMEMBERED_SECONDS
                return None if remembered else Receipt(sent.id)
        return None

    def _stands_below(self, sent: wire.Message, message: OutboundMessage) -> bool:
        """Say whether a message stands where Discord puts this one: below nothing that is gone.

        A slash command is answered by its own id, which is none of a message. Raises NotSent.
        """
        wanted = message.reply_to if message.part == 1 else None
        below = sent.message_reference.message_id if sent.message_reference else None
        if below is not None or wanted is None:
            return below == wanted
        try:
            self.client.call("GET", f"/channels/{_id(message.chat)}/messages/{_id(wanted)}")
        except Refused as refused:
            if refused.code == refusals.UNKNOWN_MESSAGE:
                return True
            raise refusals.not_done(refused) from None
        except Lost as lost:
            raise refusals.not_done(lost) from None
        return False

    def _posted(self, chat: str, asked: dict[str, Any], file: OutboundFile | None = None) -> Answer:
        """Post a message, alone where the bot may not read what it would stand below.

        Raises Refused and Lost.
        """
        path = f"/channels/{_id(chat)}/messages"
        try:
            return self.client.call("POST", path, outgoing.body(asked, file))
        except Refused as refused:
            if refused.code not in refusals.MAY_NOT_REPLY or outgoing.BELOW not in asked:
                raise
        alone = {name: value for name, value in asked.items() if name != outgoing.BELOW}
        return self.client.call("POST", path, outgoing.body(alone, file))

    def typing(self, chat: str, thread: str) -> None:  # noqa: ARG002 - a thread is a chat here
        """Show "is typing…" for ten seconds."""
        self._do("POST", f"/channels/{_id(chat)}/typing")

    def react(
        self, chat: str, message: str, reaction: Reaction | None, before: Reaction | None
    ) -> None:
        """Put a reaction of the bot's at a message, in the place of the last one."""
        place = f"/channels/{_id(chat)}/messages/{_id(message)}/reactions"
        gone = (refusals.UNKNOWN_MESSAGE, refusals.UNKNOWN_REACTION)
        if before is not None and before is not reaction:
            self._do("DELETE", f"{place}/{quote(before)}/@me", ignoring=gone)
        if reaction is not None:
            self._do("PUT", f"{place}/{quote(reaction)}/@me", ignoring=gone)

    def draft(self, chat: str, thread: str, reply_to: str | None, text: str) -> str:  # noqa: ARG002 - a thread is a chat here
        """Post a message of progress that rings nowhere."""
        asked = {
            "content": self._cut(text),
            "allowed_mentions": outgoing.QUIET,
            "flags": self._flags | outgoing.SILENT,
        }
        if reply_to is not None:
            asked |= outgoing.below(reply_to)
        try:
            return wire.made(self._posted(chat, asked).body)
        except (Refused, Lost) as error:
            raise refusals.not_done(error) from None
        except ValueError:
            raise NotSent("Discord's answer could not be read", retryable=True) from None

    def redraft(self, chat: str, draft: str, text: str) -> None:
        """Edit it."""
        asked = {"content": self._cut(text), "allowed_mentions": outgoing.QUIET}
        self._do("PATCH", f"/channels/{_id(chat)}/messages/{_id(draft)}", asked)

    def undraft(self, chat: str, draft: str) -> None:
        """Delete it."""
        path = f"/channels/{_id(chat)}/messages/{_id(draft)}"
        self._do("DELETE", path, ignoring=(refusals.UNKNOWN_MESSAGE,))

    def fetch(self, file: RemoteFile, bounds: Bounds) -> Iterator[bytes]:
        """Ask for the message again, whose addresses of files are good for some hours only."""
        return self._files.fetch(file, bounds)

    # Presses: what their answers need comes with them at the gateway, and is stored nowhere.

    def keep(self, pressed: wire.Pressed) -> None:
        """Remember how a press is answered."""
        self._presses.keep(pressed)

    def settle(self, press: Press, said: str) -> None:
        """Take the buttons away in the press's own answer, and say to who pressed what it did."""
        found = self._presses.take(press.id)
        if found is None or not self._updated(found):
            # Its three seconds are over, or another process was told of it.
            path = f"/channels/{_id(press.chat)}/messages/{_id(press.message)}"
            self._do("PATCH", path, {"components": []}, ignoring=(refusals.UNKNOWN_MESSAGE,))
            return
        # Who else has the two cannot say anything either: the bot's own token is not needed.
        self._do("POST", f"/webhooks/{found.application}/{found.token}", _note(said))

    def decline(self, press: Press, said: str) -> None:
        """Answer in a message that only who pressed sees; the buttons stay."""
        found = self._presses.take(press.id)
        if found is not None:
            self._answered(found, _ANSWER, _note(said))

    def offer(self, offered: Sequence[OfferedCommand]) -> None:
        """Put the commands into the list that a slash opens, wherever the bot is."""
        try:
            told = self.client.call("GET", "/applications/@me")
            application = wire.made(told.body)
        except (Refused, Lost) as error:
            raise refusals.not_done(error) from None
        except ValueError:
            raise NotSent("what answers is not Discord", retryable=True) from None
        self._do("PUT", f"/applications/{application}/commands", commands.offered(offered))

    def took(self, picked: commands.Called) -> None:
        """Say to who picked a command that it arrived; what it answers comes as a message.

        Without it Discord would tell them after three seconds that the bot did not respond.
        """
        path = f"/interactions/{picked.message.id}/{picked.token}/callback"
        answer = {"type": _ANSWER, "data": _note(picked.message.text)}
        with suppress(NotSent):
            self._do("POST", path, answer, ignoring=_LATE)

    def _updated(self, pressed: wire.Pressed) -> bool:
        """Take the buttons away by answering; False where they have to be taken otherwise."""
        try:
            return self._answered(pressed, _UPDATE, {"components": []})
        except NotSent:
            return False

    def _answered(self, pressed: wire.Pressed, kind: int, data: dict[str, Any]) -> bool:
        """Answer a press; False when it is too late for it."""
        path = f"/interactions/{pressed.press.id}/{pressed.token}/callback"
        try:
            self.client.call("POST", path, Body.of({"type": kind, "data": data}))
        except Refused as refused:
            if refused.code in _LATE:
                return False
            raise refusals.not_done(refused) from None
        except Lost as lost:
            raise refusals.not_done(lost) from None
        return True

    def _do(
        self,
        method: str,
        path: str,
        asked: dict[str, Any] | list[Any] | None = None,
        *,
        ignoring: Sequence[int] = (),
    ) -> None:
        """Make a call that may as well be made twice. Raises NotSent."""
        try:
            self.client.call(method, path, None if asked is None else Body.of(asked))
        except Refused as refused:
            if refused.code not in ignoring:
                raise refusals.not_done(refused) from None
        except Lost as lost:
            raise refusals.not_done(lost) from None

    def _asked_who(self) -> wire.User:
        try:
            answer = self.client.call("GET", "/users/@me")
            found = wire.user(answer.body)
        except (Refused, Lost) as error:
            raise refusals.not_done(error) from None
        except ValueError:
            raise NotSent("what answers is not Discord", retryable=True) from None
        self._me = found.id
        return found

    def _may_read(self) -> bool:
        """Say whether Message Content Intent is on: in two flags, for few servers and for many."""
        try:
            return wire.may_read(self.client.call("GET", "/applications/@me").body)
        except (Refused, Lost) as error:
            raise refusals.not_done(error) from None
        except ValueError:
            raise NotSent("what answers is not Discord", retryable=True) from None

    def _written(self, message: OutboundMessage) -> dict[str, Any]:
        return outgoing.write_message(message, render(message.text), self._flags)

    def _cut(self, text: str) -> str:
        """Return a text as it is shown, without its end where it is too long."""
        while self.length(text) > self.limit:
            text = text[: len(text) * 9 // 10]
        return render(text)

    @property
    def _flags(self) -> int:
        return 0 if self.settings.link_previews else outgoing.NO_LOOKS


class _Presses:
    """The presses that nobody has answered. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[str, wire.Pressed] = OrderedDict()

    def keep(self, pressed: wire.Pressed) -> None:
        with self._lock:
            self._open[pressed.press.id] = pressed
            while len(self._open) > _MOST_PRESSES:
                self._open.popitem(last=False)

    def take(self, press_id: str) -> wire.Pressed | None:
        with self._lock:
            return self._open.pop(press_id, None)


def _note(said: str) -> dict[str, Any]:
    return {
        "content": said[: MANIFEST.limit],
        "flags": outgoing.ONLY_YOU,
        "allowed_mentions": outgoing.QUIET,
    }


def _id(known: str) -> str:
    """Return an id that may stand in an address. Raises NotSent."""
    if not is_id(known):
        raise NotSent(f"{known[:40]!r} is no id of Discord's")
    return known
