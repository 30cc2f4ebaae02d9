"""Discord's REST API and gateway in miniature, over real sockets, from its public documentation.

It keeps the messages of its channels, remembers the nonces of sends for some minutes, judges what
it is sent (2,000 characters, nobody pinged, presses answered within three seconds), and keeps what
its people see. Plans, one for each message posted in its order, make it do something else than
take the message.
"""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any, Self

from tests.fakes import discord_rules
from tests.fakes.discord_gateway import FakeGateway, described
from tests.fakes.discord_rest import Refusal, RestServer
from tests.fakes.discord_rooms import BOT, BOT_ROLE, GUILD, ROOM, Room, Shown, now
from tests.fakes.platform import TAKE, Plan

TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GfakeX.a-token_of-the-fake-bot-0001"
_LIMIT = 2000
_PRESS_SECONDS = 3.0
_NONCE_SECONDS = 300.0
_EPOCH_MS = 1_420_070_400_000


class DiscordServer:
    """The server with what it saw. Lists only grow, so tests may read them at any time."""

    def __init__(self, token: str = TOKEN) -> None:
        self.token = token
        self.bot = BOT
        self.plans: deque[Plan] = deque()
        # Instead of the next answers to a method and path, such as "POST /channels/42/typing".
        self.refusals: dict[str, deque[Refusal]] = defaultdict(deque)
        # Instead of the next answers, whatever was done; None drops the line.
        self.bodies: deque[bytes | None] = deque()
        self.posts: list[Shown] = []
        self.shown: list[Shown] = []
        self.calls: list[tuple[str, str, Mapping[str, Any]]] = []
        self.faults: list[str] = []
        self.files: dict[str, bytes] = {}
        self.nonce_seconds = _NONCE_SECONDS
        self.rooms = {ROOM: Room(ROOM, GUILD)}
        self.changed = threading.Condition(threading.RLock())
        self._nonces: dict[str, tuple[float, dict[str, Any]]] = {}
        self.commands: dict[str, str] = {}
        self._presses: dict[str, float] = {}
        self._numbers = itertools.count()
        self._fetches = itertools.count()
        self._rest = RestServer(self)
        self.url = self._rest.url
        self.gateway = FakeGateway(self)

    def __enter__(self) -> Self:
        self._rest.start()
        self.gateway.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.gateway.stop()
        self._rest.stop()

    # What people do.

    def says(
        self, text: str, chat: str = "42", sender: str = "42", *, hidden: bool = False, **more: Any
    ) -> str:
        """Let somebody write; return the message's id. `hidden`: no session is told."""
        with self.changed:
            room = self.room(chat)
            author: dict[str, Any] = {
                "id": sender,
                "username": f"u{sender}",
                "global_name": f"P{sender}",
            }
            author |= {"discriminator": "0", "avatar": None, "bot": False}
            sent = self._message(room, text, author) | more
            room.messages.append(sent)
            if not hidden:
                self.gateway.tell("MESSAGE_CREATE", self.told(room, sent))
            return str(sent["id"])

    def edits(self, chat: str, message: str, text: str, *, hidden: bool = False) -> None:
        """Let its writer change a message. `hidden`: no session is told."""
        with self.changed:
            room = self.room(chat)
            sent = next(one for one in room.messages if one["id"] == message)
            sent |= {"content": text, "edited_timestamp": now()}
            if not hidden:
                self.gateway.tell("MESSAGE_UPDATE", self.told(room, sent))

    def deletes(self, chat: str, message: str) -> None:
        """Let a message be deleted."""
        with self.changed:
            room = self.room(chat)
            room.messages = [one for one in room.messages if one["id"] != message]
            about = {"id": message, "channel_id": chat}
            self.gateway.tell("MESSAGE_DELETE", about | _guild_of(room))

    def picks(self, name: str, words: str = "", sender: str = "42", chat: str = "7") -> str:
        """Let somebody pick a slash command; return the interaction's id."""
        with self.changed:
            room, picked = self.room(chat), self.number()
            who = {"id": sender, "username": f"u{sender}", "discriminator": "0", "avatar": None}
            options = [{"name": "text", "type": 3, "value": words}] if words else []
            told: dict[str, Any] = {
                "id": picked,
                "application_id": BOT["id"],
                "type": 2,
                "version": 1,
                "token": f"token-of-{picked}",
                "channel_id": room.id,
                "channel": {"id": room.id, "type": room.type},
                "user": who,
                "data": {"id": "9", "name": name, "type": 1, "options": options},
                "locale": "en-US",
                "entitlements": [],
                "authorizing_integration_owners": {},
                "attachment_size_limit": 10485760,
            }
            self._presses[picked] = time.monotonic()
            self.gateway.tell("INTERACTION_CREATE", told)
            return picked

    def presses(self, shown: Shown, custom_id: str, sender: str = "42") -> str:
        """Let somebody press a button of the bot's; return the press's id."""
        with self.changed:
            room, press = self.room(shown.chat), self.number()
            who = {"id": sender, "username": f"u{sender}", "discriminator": "0", "avatar": None}
            below = next(one for one in room.messages if one["id"] == shown.id)
            told: dict[str, Any] = {
                "id": press,
                "application_id": BOT["id"],
                "type": 3,
                "version": 1,
                "token": f"token-of-{press}",
                "channel_id": room.id,
                "channel": {"id": room.id, "type": room.type},
                "user": who,
                "message": below,
                "data": {"component_type": 2, "custom_id": custom_id, "id": 1},
                "locale": "en-US",
                "entitlements": [],
                "authorizing_integration_owners": {},
                "attachment_size_limit": 10485760,
            }
            self._presses[press] = time.monotonic()
            self.gateway.tell("INTERACTION_CREATE", told)
            return press

    def room(self, chat: str) -> Room:
        """Return a channel; a chat with one person comes about by itself."""
        return self.rooms.setdefault(chat, Room(chat, None, 1))

    def told(self, room: Room, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Return a message as the gateway has it, which names the server."""
        return {**sent, **_guild_of(room)}

    @property
    def guilds(self) -> list[dict[str, Any]]:
        """The servers that the bot is in, as the gateway tells them."""
        rooms = [one for one in self.rooms.values() if one.guild == GUILD]
        return [described(GUILD, [one.described for one in rooms], BOT, BOT_ROLE)] if rooms else []

    # What tests look at.

    def wait(self, condition: Callable[[], object], seconds: float = 20.0) -> None:
        """Wait for a condition on what was seen; fails loudly when it does not come."""
        with self.changed:
            if not self.changed.wait_for(condition, seconds):
                raise AssertionError("the awaited condition did not come about")

    def called(self, method: str, path: str) -> list[Mapping[str, Any]]:
        """Return what a method was called with, at a path that a pattern fits."""
        form = re.compile(path)
        return [
            asked for name, at, asked in list(self.calls) if name == method and form.fullmatch(at)
        ]

    def number(self) -> str:
        """Return a new id of now."""
        stamp = round(time.time() * 1000) - _EPOCH_MS
        return str((stamp << 22) | (next(self._numbers) & 0x3FFFFF))

    # What the REST server asks for.

    def note(self, method: str, path: str, asked: Mapping[str, Any]) -> None:
        """Keep a call, and answer it as a test wants. Raises Refusal."""
        with self.changed:
            self.calls.append((method, path, asked))
            self.changed.notify_all()
            planned = self.refusals.get(f"{method} {path}")
            if planned:
                raise planned.popleft()

    def post(
        self, chat: str, asked: Mapping[str, Any], file: bytes | None
    ) -> tuple[dict[str, Any], Plan]:
        """Take a message of the bot. Raises Refusal."""
        with self.changed:
            plan = self.plans.popleft() if self.plans else TAKE
            self._judge(asked, file)
            room, key = self.room(chat), str(asked.get("nonce", ""))
            found = self._nonces.get(key)
            again = found is not None and time.monotonic() - found[0] < self.nonce_seconds
            sent = found[1] if found is not None and again else self._own(room, asked)
            shown = Shown(sent["id"], chat, asked.get("content", ""), asked, file)
            self.posts.append(shown)
            if plan.take and not again:
                self._show(room, sent, shown)
            self.changed.notify_all()
            if plan.answer not in (None, 200):
                raise _planned(plan)
            return sent | {"nonce": asked.get("nonce")}, plan

    def acted(self, method: str, path: str, asked: Mapping[str, Any]) -> Any:
        """Do anything else. Raises Refusal."""
        with self.changed:
            for (wanted, form), act in _ROUTES.items():
                match = re.fullmatch(form, path) if wanted == method else None
                if match is not None:
                    return act(self, asked, *match.groups())
        raise Refusal(404, "404: Not Found")

    def _show(self, room: Room, sent: dict[str, Any], shown: Shown) -> None:
        self.shown.append(shown)
        room.messages.append(sent)
        if shown.key:
            self._nonces[shown.key] = (time.monotonic(), sent)
        told = self.told(room, sent) | {"nonce": shown.asked.get("nonce")}
        self.gateway.tell("MESSAGE_CREATE", told)

    def _judge(self, asked: Mapping[str, Any], file: bytes | None) -> None:
        content = asked.get("content", "")
        if not content.strip() and not asked.get("poll") and file is None:
            raise Refusal(400, "Cannot send an empty message", 50006)
        if len(content) > _LIMIT:
            self.faults.append(f"a text of {len(content)}")
            raise Refusal(400, "Invalid Form Body", 50035)
        self.faults += discord_rules.faults_of(asked)

    def _own(self, room: Room, asked: Mapping[str, Any]) -> dict[str, Any]:
        # The nonce comes back to who sent it, and is not kept with the message.
        sent = self._message(room, asked.get("content", "").strip(), BOT)
        sent["attachments"] = [self._attached(one) for one in asked.get("attachments", [])]
        sent |= {key: asked[key] for key in ("components", "poll", "flags") if key in asked}
        reference = asked.get("message_reference")
        before = {one["id"]: one for one in room.messages}
        if reference is not None and reference["message_id"] in before:
            sent |= {"type": 19, "message_reference": {"channel_id": room.id, **reference}}
            sent["referenced_message"] = before[reference["message_id"]]
        return sent

    def _attached(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        made = self.attachment(asked["filename"], b"")
        return made | {key: asked[key] for key in ("description",) if key in asked}

    def _message(self, room: Room, text: str, author: Mapping[str, Any]) -> dict[str, Any]:
        return discord_rules.message(self.number(), room.id, text, author)

    def attachment(self, name: str, content: bytes, mime: str = "text/plain") -> dict[str, Any]:
        """Return a file at a message, for `says(attachments=[…])`."""
        number = self.number()
        self.files[number] = content
        about = {"id": number, "filename": name, "size": len(content), "content_type": mime}
        return about | {"url": "https://cdn.discordapp.com/old", "proxy_url": "https://old"}

    def fresh(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Return a message whose files have addresses that are good for now."""
        made = next(self._fetches)
        base = self.url.removesuffix("/api/v10")
        files = [
            one | {"url": f"{base}/files/{one['id']}?ex={made}"} for one in sent["attachments"]
        ]
        return {**sent, "attachments": files}

    # The routes, by what they are called with.

    def _history(self, asked: Mapping[str, Any], chat: str) -> Any:
        if chat not in self.rooms:
            raise Refusal(404, "Unknown Channel", 10003)
        after, limit = int(asked.get("after", 0)), int(asked.get("limit", 50))
        found = [one for one in self.rooms[chat].messages if int(one["id"]) > after]
        # The newest first, as Discord has them; of many, those next to the given one.
        return [self.fresh(one) for one in reversed(found[:limit])]

    def _one(self, asked: Mapping[str, Any], chat: str, message: str) -> Any:
        return self.fresh(self._there(chat, message))

    def _there(self, chat: str, message: str) -> dict[str, Any]:
        for one in self.room(chat).messages:
            if one["id"] == message:
                return one
        raise Refusal(404, "Unknown Message", 10008)

    def _patch(self, asked: Mapping[str, Any], chat: str, message: str) -> Any:
        sent = self._there(chat, message)
        sent |= asked
        return sent

    def _delete(self, asked: Mapping[str, Any], chat: str, message: str) -> None:
        room = self.room(chat)
        room.messages.remove(self._there(chat, message))

    def _react(self, asked: Mapping[str, Any], chat: str, message: str, emoji: str) -> None:
        self._there(chat, message)

    def _typing(self, asked: Mapping[str, Any], chat: str) -> None:
        if chat not in self.rooms:
            raise Refusal(404, "Unknown Channel", 10003)

    def _answered(self, asked: Mapping[str, Any], press: str, token: str) -> None:
        began = self._presses.pop(press, None)
        if began is None:
            raise Refusal(404, "Unknown interaction", 10062)
        if time.monotonic() - began > _PRESS_SECONDS:
            self.faults.append("a press was answered too late")
            raise Refusal(404, "Unknown interaction", 10062)

    def _listed(self, asked: Mapping[str, Any], application: str) -> Any:
        if application != BOT["id"] or not discord_rules.takes_commands(asked["list"]):
            raise Refusal(400, "Invalid Form Body", 50035)
        self.commands = {one["name"]: one["description"] for one in asked["list"]}
        return asked["list"]

    def _followed(self, asked: Mapping[str, Any], application: str, token: str) -> Any:
        return {"id": self.number()}


_MESSAGE = r"/channels/(\d+)/messages/(\d+)"
_ROUTES: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("GET", "/users/@me"): lambda *_: BOT,
    ("GET", "/oauth2/applications/@me"): lambda *_: discord_rules.application(str(BOT["id"])),
    ("GET", "/applications/@me"): lambda server, *_: {
        "id": BOT["id"],
        "name": "Hab",
        "flags": 1 << 19 if server.gateway.content_allowed else 0,
    },
    ("PUT", r"/applications/(\d+)/commands"): DiscordServer._listed,
    ("GET", r"/channels/(\d+)/messages"): DiscordServer._history,
    ("GET", _MESSAGE): DiscordServer._one,
    ("PATCH", _MESSAGE): DiscordServer._patch,
    ("DELETE", _MESSAGE): DiscordServer._delete,
    ("PUT", _MESSAGE + r"/reactions/([^/]+)/@me"): DiscordServer._react,
    ("DELETE", _MESSAGE + r"/reactions/([^/]+)/@me"): DiscordServer._react,
    ("POST", r"/channels/(\d+)/typing"): DiscordServer._typing,
    ("POST", r"/interactions/(\d+)/([^/]+)/callback"): DiscordServer._answered,
    ("POST", r"/webhooks/(\d+)/([^/]+)"): DiscordServer._followed,
}


def _planned(plan: Plan) -> Refusal:
    wait = plan.headers.get("retry-after")
    limited: dict[str, Any] = {"retry_after": float(wait), "global": False} if wait else {}
    refusal = Refusal(plan.answer or 0, "Planned", **limited)
    refusal.headers = plan.headers
    return refusal


def _guild_of(room: Room) -> dict[str, Any]:
    return {"guild_id": room.guild} if room.guild else {}
