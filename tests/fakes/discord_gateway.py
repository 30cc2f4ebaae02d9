"""The gateway of the fake Discord, version 10: sessions that are told events, and go on.

Every event of a session is kept, so that one who resumes gets what came after the number they name.
"""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

if TYPE_CHECKING:
    from tests.fakes.discord_server import DiscordServer

_HEARTBEAT, _IDENTIFY, _RESUME, _RECONNECT, _INVALID, _HELLO, _ACK = 1, 2, 6, 7, 9, 10, 11
_CONTENT = 1 << 15
_CLEAN = (1000, 1001)


@dataclass
class _Session:
    id: str
    intents: int
    events: list[dict[str, Any]] = field(default_factory=list)
    line: _Line | None = None


class _Line:
    """One connection, compressed as it asks for."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        assert connection.request is not None
        self.asked = parse_qs(urlsplit(connection.request.path).query)
        self._packer = zlib.compressobj() if self.asked.get("compress") == ["zlib-stream"] else None
        self._lock = threading.Lock()

    def send(self, payload: Mapping[str, Any]) -> None:
        raw = json.dumps(payload)
        with self._lock, suppress(ConnectionClosed):
            if self._packer is None:
                self.connection.send(raw)
            else:
                packed = self._packer.compress(raw.encode())
                self.connection.send(packed + self._packer.flush(zlib.Z_SYNC_FLUSH))

    def cut(self) -> None:
        with suppress(OSError):
            self.connection.socket.shutdown(2)


class FakeGateway:
    """The gateway of one fake Discord."""

    def __init__(self, discord: DiscordServer) -> None:
        self.heartbeat_ms = 41_250
        # Whether the bot may read what does not mention it, as its owner says at Discord.
        self.content_allowed = True
        self.identified = 0
        self.resumed = 0
        self.beats = 0
        # How many events a session is told once more when it goes on.
        self.again = 0
        self._discord = discord
        self._sessions: dict[str, _Session] = {}
        self._held: dict[str, Any] | None = None
        self._swap = False
        # Who sends on a line that was cut waits for its close.
        self._server: Server = serve(
            self._serve, "127.0.0.1", 0, compression=None, close_timeout=0.05
        )
        self.url = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"

    def start(self) -> None:
        """Serve in a thread of its own."""
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def stop(self) -> None:
        """End it, and every line."""
        self.drop_all()
        self._server.shutdown()
        self._thread.join()

    # What happens.

    def tell(self, kind: str, data: Mapping[str, Any]) -> None:
        """Tell every session of an event."""
        with self._discord.changed:
            held, self._held = self._held, None
            if held is not None and held["d"].get("channel_id") == data.get("channel_id"):
                # Within a channel the order stands.
                self._tell_all(held["t"], held["d"])
                held = None
            if self._swap:
                self._swap, self._held = False, {"t": kind, "d": data}
            else:
                self._tell_all(kind, data)
            if held is not None:
                self._tell_all(held["t"], held["d"])
            self._discord.changed.notify_all()

    def swap(self) -> None:
        """Tell the next two events in the other order, where they are of two channels."""
        self._swap = True

    def repeat(self, events: int) -> None:
        """Tell every session its last events once more, under new numbers."""
        with self._discord.changed:
            for session in self._sessions.values():
                last = [one for one in session.events if one["t"].startswith("MESSAGE")]
                for one in last[-events:]:
                    self._tell(session, one["t"], one["d"])

    def drop_all(self) -> None:
        """Cut every line; the sessions may go on."""
        for line in self._lines():
            line.cut()

    def ask_to_reconnect(self) -> None:
        """Send everybody away, as Discord does before a server of its is restarted."""
        for line in self._lines():
            line.send({"op": _RECONNECT, "d": None, "s": None, "t": None})

    def forget(self) -> None:
        """Forget every session and cut the lines: who wants to go on begins anew."""
        lines = self._lines()
        with self._discord.changed:
            self._sessions.clear()
        for line in lines:
            line.cut()

    def close_all(self, code: int) -> None:
        """Close every line with a code."""
        for line in self._lines():
            line.connection.close(code)

    @property
    def lines(self) -> int:
        """How many hold a session's line."""
        return len(self._lines())

    # The protocol.

    def _lines(self) -> list[_Line]:
        with self._discord.changed:
            return [one.line for one in self._sessions.values() if one.line is not None]

    def _tell_all(self, kind: str, data: Mapping[str, Any]) -> None:
        for session in self._sessions.values():
            self._tell(session, kind, data)

    def _tell(self, session: _Session, kind: str, data: Mapping[str, Any]) -> None:
        event = {
            "op": 0,
            "t": kind,
            "s": len(session.events) + 1,
            "d": json.loads(json.dumps(data)),
        }
        if not session.intents & _CONTENT and kind.startswith("MESSAGE_") and "content" in data:
            self._empty(event["d"])
        session.events.append(event)
        if session.line is not None:
            session.line.send(event)

    def _empty(self, sent: dict[str, Any]) -> None:
        """Take out what the bot may not read: it is neither told it directly nor mentioned."""
        bot = self._discord.bot["id"]
        named = any(one["id"] == bot for one in sent.get("mentions", []))
        if sent.get("guild_id") and not named and sent["author"]["id"] != bot:
            sent |= {"content": "", "embeds": [], "attachments": [], "components": []}

    def _serve(self, connection: ServerConnection) -> None:
        line = _Line(connection)
        if line.asked.get("v") != ["10"] or line.asked.get("encoding") != ["json"]:
            connection.close(4012)
            return
        line.send(
            {"op": _HELLO, "s": None, "t": None, "d": {"heartbeat_interval": self.heartbeat_ms}}
        )
        session: _Session | None = None
        beat = time.monotonic()
        try:
            while True:
                # A beat is late when two could have come.
                left = beat + 2 * self.heartbeat_ms / 1000 - time.monotonic()
                frame = json.loads(connection.recv(timeout=max(left, 0.001)))
                if frame["op"] == _HEARTBEAT:
                    beat = time.monotonic()
                    self.beats += 1
                    line.send({"op": _ACK, "s": None, "t": None, "d": None})
                elif frame["op"] in (_IDENTIFY, _RESUME):
                    session = self._begin(line, frame)
        except TimeoutError:
            self._discord.faults.append("no heartbeat")
            connection.close(4009)
        except ConnectionClosed as closed:
            # Who says goodbye ends the session.
            self._leave(session, line, ended=closed.rcvd is not None and closed.rcvd.code in _CLEAN)

    def _leave(self, session: _Session | None, line: _Line, *, ended: bool) -> None:
        with self._discord.changed:
            if session is not None and session.line is line:
                session.line = None
                if ended:
                    self._sessions.pop(session.id, None)
            self._discord.changed.notify_all()

    def _begin(self, line: _Line, frame: Mapping[str, Any]) -> _Session | None:
        asked = frame["d"]
        if asked["token"] != self._discord.token:
            line.connection.close(4004, "Authentication failed.")
            return None
        with self._discord.changed:
            made = self._identify if frame["op"] == _IDENTIFY else self._resume
            session = made(line, asked)
            self._discord.changed.notify_all()
            return session

    def _identify(self, line: _Line, asked: Mapping[str, Any]) -> _Session | None:
        self.identified += 1
        if asked["intents"] & _CONTENT and not self.content_allowed:
            line.connection.close(4014, "Disallowed intent(s).")
            return None
        session = _Session(f"session{self.identified}", asked["intents"], line=line)
        self._sessions[session.id] = session
        guilds = self._discord.guilds
        ready = {
            "v": 10,
            "user": self._discord.bot,
            "guilds": [{"id": one["id"], "unavailable": True} for one in guilds],
            "session_id": session.id,
            "resume_gateway_url": self.url,
            "application": {"id": self._discord.bot["id"], "flags": 0},
            "private_channels": [],
        }
        self._tell(session, "READY", ready)
        for guild in guilds:
            self._tell(session, "GUILD_CREATE", guild)
        return session

    def _resume(self, line: _Line, asked: Mapping[str, Any]) -> _Session | None:
        session = self._sessions.get(asked["session_id"])
        if session is None:
            line.send({"op": _INVALID, "d": False, "s": None, "t": None})
            return None
        self.resumed += 1
        session.line = line
        for event in session.events[max(asked["seq"] - self.again, 0) :]:
            line.send(event)
        self._tell(session, "RESUMED", {})
        return session


def described(
    guild: str, channels: list[dict[str, Any]], bot: Mapping[str, Any], role: str
) -> dict[str, Any]:
    """Return a server as GUILD_CREATE has it; the bot has a role of its own there."""
    threads = [one for one in channels if "thread_metadata" in one]
    plain = {"permissions": "0", "position": 0, "color": 0, "hoist": False, "mentionable": False}
    plain |= {"flags": 0, "managed": False}
    everybody = plain | {"id": guild, "name": "@everyone"}
    own = plain | {"id": role, "name": "Hab", "managed": True, "tags": {"bot_id": bot["id"]}}
    member = {"user": bot, "roles": [role], "joined_at": "2026-01-01T00:00:00+00:00", "flags": 0}
    return {
        "id": guild,
        "name": "The server",
        "icon": None,
        "owner_id": "1",
        "unavailable": False,
        "large": False,
        "member_count": 2,
        "joined_at": "2026-01-01T00:00:00+00:00",
        "verification_level": 0,
        "default_message_notifications": 0,
        "explicit_content_filter": 0,
        "mfa_level": 0,
        "nsfw_level": 0,
        "premium_tier": 0,
        "preferred_locale": "en-US",
        "afk_timeout": 300,
        "features": [],
        "emojis": [],
        "stickers": [],
        "roles": [everybody, own],
        "members": [member | {"deaf": False, "mute": False}],
        "channels": [one for one in channels if one not in threads],
        "threads": threads,
        "voice_states": [],
        "presences": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }
