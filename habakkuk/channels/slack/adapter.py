"""One app in its workspaces: its requests read, its messages sent."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from slack_sdk.web import SlackResponse

from habakkuk.channels.contract import (
    Account,
    Bounds,
    ChannelAdapter,
    Manifest,
    NotSent,
    WebhookRejected,
    WebhookUnreadable,
    Withheld,
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
    Reply,
)
from habakkuk.channels.outcomes import Lost
from habakkuk.channels.slack import bodies, failures, files, signature, slash, tokens, wire
from habakkuk.channels.slack.client import Client, Refused, part
from habakkuk.channels.slack.format import (
    LONGEST_TEXT,
    blocks,
    fallback,
    notice,
    notification,
    plain_blocks,
    shown_length,
)
from habakkuk.channels.slack.manifest import MANIFEST, SlackSettings
from habakkuk.channels.slack.mrkdwn import escaped
from habakkuk.channels.slack.places import withheld
from habakkuk.channels.slack.workspace import Workspace, Workspaces
from habakkuk.core.outside import OutsideHttp

_T = TypeVar("_T")
_METADATA = "habakkuk_message"
_EMOJI = {Reaction.WORKING: "eyes", Reaction.DONE: "+1", Reaction.FAILED: "cry"}
_LONGEST_DRAFT = 3000


class SlackAdapter(ChannelAdapter[SlackSettings]):
    """Talk as one app, to every workspace that it is installed in."""

    manifest: ClassVar[Manifest] = MANIFEST

    def __init__(self, account: Account, settings: SlackSettings, http: OutsideHttp) -> None:
        """Read the tokens. Raises ConfigurationError."""
        super().__init__(account, settings, http)
        token = tokens.bot_token(account, settings)
        self.app_token = tokens.app_token(account, settings)
        self._secret = tokens.signing_secret(account, settings)
        others = {
            team: Workspace(Client(other, settings.api_url, http), team)
            for team, other in tokens.workspace_tokens(account, settings).items()
        }
        self.workspaces = Workspaces(Workspace(Client(token, settings.api_url, http)), others)
        self.reader = wire.Reader(self.workspaces.of)
        # Two accounts with one app token would take each other's messages.
        proof = self.app_token or token
        self._identity = hashlib.sha256(proof.encode()).hexdigest()[:16]

    @property
    def identity(self) -> str:
        """A digest of the token that the line is opened with."""
        return self._identity

    def paste(self, commands: Sequence[OfferedCommand]) -> str:
        """Return the section of the app's manifest; without those that are Slack's own."""
        return slash.section(commands)

    def withheld(self, place: Mapping[str, Any]) -> Sequence[Withheld]:
        """Return what was missed and is still to be read."""
        return withheld(place, self.identity)

    def check(self) -> str:
        """Return the app's name and its workspaces. Raises NotSent."""
        every = [self.workspaces.own, *self.workspaces.others.values()]
        found = [_done(one.knowledge.me) for one in every]
        return f"@{found[0].user} in {', '.join(me.team for me in found)}"

    def verify(self, request: RawRequest) -> None:
        """Check signature and time."""
        if self._secret is None:
            raise WebhookRejected("this account has a line to Slack and takes no webhooks")
        signature.check(self._secret, request.headers, request.body, time.time())

    def parse(self, request: RawRequest) -> Sequence[Event]:
        """Read a request: an event, presses, a slash command, or Slack's question who is there."""
        return self.reader.events(bodies.decoded(request.body))

    def reply(self, request: RawRequest) -> Reply | None:
        """Answer nothing, which shows nothing; who asks whether the address is ours is told."""
        try:
            payload = bodies.decoded(request.body)
        except WebhookUnreadable:
            return Reply()
        if payload.get("type") == "url_verification":
            return Reply(str(payload.get("challenge", "")))
        return Reply()

    def length(self, text: str) -> int:
        """Return the characters that Slack counts."""
        return shown_length(text)

    def send(self, message: OutboundMessage) -> Receipt:
        """Send one message; formatting that Slack refuses is left out."""
        workspace, chat = self.workspaces.at(message.chat)
        message = replace(message, chat=chat)
        if message.file is not None:
            return files.send(workspace.client, message, message.file)
        forms = _forms(message)
        for form in forms:
            try:
                return self._posted(workspace, message, form)
            except Refused as refused:
                if refused.code not in failures.FORMATTING or form is forms[-1]:
                    raise failures.of_send(refused) from None
            except Lost as lost:
                raise failures.of_send(lost) from None
        raise NotSent("Slack refuses it in every form")

    def find(self, message: OutboundMessage) -> Receipt | None:
        """Look for a message by the key that it was given."""
        workspace, chat = self.workspaces.at(message.chat)
        message = replace(message, chat=chat)
        found = _done(lambda: workspace.history.find(message, _METADATA))
        return None if found is None else Receipt(_id_of(chat, found))

    def settle(self, press: Press, said: str) -> None:
        """Take the buttons of a message away, and say below it what became of them."""
        workspace, chat = self.workspaces.at(press.chat)
        ts = wire.message_ts(press.message, chat)
        if ts is None:
            return
        shown = _done(lambda: workspace.history.one(chat, press.thread, ts))
        if shown is None:
            return
        kept = [one for one in shown.get("blocks") or [] if one.get("type") != "actions"]
        changed: dict[str, Any] = {"text": shown.get("text") or said}
        changed["blocks"] = [*kept, notice(said)]
        client = workspace.client
        _done(lambda: client.chat_update(channel=chat, ts=ts, **changed), failures.GONE)

    def decline(self, press: Press, said: str) -> None:
        """Say it to who pressed alone; the buttons stay."""
        workspace, chat = self.workspaces.at(press.chat)
        user = self.workspaces.at(press.sender)[1]
        told, thread = notification(said), press.thread or None
        _done(
            lambda: workspace.client.chat_postEphemeral(
                channel=chat, user=user, text=told, thread_ts=thread
            )
        )

    def fetch(self, file: RemoteFile, bounds: Bounds) -> Iterator[bytes]:
        """Yield a file, as Slack has it now."""
        workspace = self.workspaces.of(str(file.handle.get("team", "")))
        return files.fetch(workspace.client, file, bounds)

    def react(
        self, chat: str, message: str, reaction: Reaction | None, before: Reaction | None
    ) -> None:
        """Take a reaction away and add another."""
        workspace, channel = self.workspaces.at(chat)
        client, ts = workspace.client, wire.message_ts(message, channel)
        if ts is None:
            return
        where = {"channel": channel, "timestamp": ts}
        if before is not None and before is not reaction:
            old = _EMOJI[before]
            _done(lambda: client.reactions_remove(name=old, **where), failures.NO_REACTION)
        if reaction is not None:
            new = _EMOJI[reaction]
            _done(lambda: client.reactions_add(name=new, **where), failures.REACTED)

    def draft(self, chat: str, thread: str, reply_to: str | None, text: str) -> str:  # noqa: ARG002 - Slack has threads
        """Post a message of progress."""
        workspace, channel = self.workspaces.at(chat)
        shown = _draft(text)
        posted = _done(
            lambda: _in_thread(
                workspace, thread, {"channel": channel, "unfurl_links": False, **shown}
            )
        )
        return _id_of(channel, posted.data) or ""

    def redraft(self, chat: str, draft: str, text: str) -> None:
        """Change it."""
        workspace, channel = self.workspaces.at(chat)
        ts, shown = wire.message_ts(draft, channel), _draft(text)
        if ts is not None:
            _done(lambda: workspace.client.chat_update(channel=channel, ts=ts, **shown))

    def undraft(self, chat: str, draft: str) -> None:
        """Delete it."""
        workspace, channel = self.workspaces.at(chat)
        client, ts = workspace.client, wire.message_ts(draft, channel)
        if ts is not None:
            _done(lambda: client.chat_delete(channel=channel, ts=ts), failures.GONE)

    def _posted(
        self, workspace: Workspace, message: OutboundMessage, form: Mapping[str, Any]
    ) -> Receipt:
        metadata = {"event_type": _METADATA, "event_payload": {"key": message.key}}
        looks = dict.fromkeys(("unfurl_links", "unfurl_media"), self.settings.link_previews)
        asked = {"channel": message.chat, "metadata": metadata, **looks, **form}
        posted = _in_thread(workspace, message.thread, asked)
        return Receipt(_id_of(message.chat, posted.data))


def _done(ask: Callable[[], _T], settled: frozenset[str] = frozenset()) -> Any:
    """Do what can be done twice; None for what was done already. Raises NotSent."""
    try:
        return ask()
    except Refused as refused:
        if refused.code in settled:
            return None
        raise failures.of_call(refused) from None
    except Lost as lost:
        raise failures.of_call(lost) from None


def _in_thread(workspace: Workspace, thread: str, asked: Mapping[str, Any]) -> SlackResponse:
    """Post a message in a thread, or in the chat itself below what takes none."""
    post = workspace.client.chat_postMessage
    try:
        return post(**asked, thread_ts=thread or None)
    except Refused as refused:
        if refused.code not in failures.NO_ANSWERS:
            raise
    return post(**asked)


def _id_of(chat: str, told: object) -> str | None:
    """Return the id of a message that Slack tells of, after it was posted or in a history."""
    message = part(told, "message") or part(told)
    ts, team = part(told).get("ts"), message.get("team")
    return wire.message_id(str(team or ""), chat, ts) if isinstance(ts, str) else None


def _forms(message: OutboundMessage) -> list[Mapping[str, Any]]:
    """Return what to send, best first; the last is taken whatever Slack thinks of blocks."""
    buttons = message.buttons if message.part == message.parts else ()
    told = notification(message.text)
    forms: list[Mapping[str, Any]] = [
        {"text": told, "blocks": blocks(message.text, buttons)},
        {"text": fallback(message.text) or told},
    ]
    if buttons or len(escaped(message.text)) > LONGEST_TEXT:
        forms.insert(1, {"text": told, "blocks": plain_blocks(message.text, buttons)})
    return forms


def _draft(text: str) -> Mapping[str, Any]:
    shown = text[:_LONGEST_DRAFT]
    return {"text": notification(shown), "blocks": blocks(shown, ())}
