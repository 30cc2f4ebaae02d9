"""Slack in miniature, over real HTTP and websockets, from its public documentation.

It judges what it is sent (slack_rules), brings what happens (slack_socket), and keeps what its
people see. Plans, one for each message or file that is posted in its order, make it do something
else than take it.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from tests.fakes import slack_rules
from tests.fakes.platform import TAKE, Plan
from tests.fakes.slack_socket import SlackSocket

BOT_TOKEN = "xoxb-123-456-theTokenOfTheFakeBot"
APP_TOKEN = "xapp-1-A1-789-theTokenOfTheFakeApp"
BOT, TEAM, APP = "U0HAB", "T1", "A1"
# As Slack has them, and shorter: at once, after a minute, after five.
RETRIES = (0.05, 0.5, 2.0)
_UPLOAD, _FILES = "/upload/", "/files/"


class Refusal(Exception):
    """An answer with ok: false, or another status than 200."""

    def __init__(self, error: str, status: int = 200, **more: Any) -> None:
        super().__init__(error)
        self.status = status
        self.headers: dict[str, str] = more.pop("headers", {})
        self.body = {"ok": False, "error": error, **more}


@dataclass
class Shown:
    """One message as people see it."""

    ts: str
    chat: str
    thread: str
    text: str
    key: str
    asked: dict[str, Any] = field(repr=False)
    files: list[dict[str, Any]] = field(default_factory=list)
    team: str = TEAM

    def told(self, *, metadata: bool) -> dict[str, Any]:
        """Return it as a history has it."""
        made: dict[str, Any] = {"type": "message", "ts": self.ts, "user": BOT, "team": self.team}
        made |= {"bot_id": "B1", "app_id": APP, "text": self.asked.get("text", "")}
        made |= {"blocks": self.asked.get("blocks", []), "files": self.files}
        if self.thread:
            made["thread_ts"] = self.thread
        if metadata and "metadata" in self.asked:
            made["metadata"] = self.asked["metadata"]
        return made


class SlackServer:
    """The server with what it saw. Lists only grow, so tests may read them at any time."""

    def __init__(self, retries: tuple[float, ...] = RETRIES) -> None:
        # The workspaces that the app is installed in, by the bot's token there.
        self.teams = {BOT_TOKEN: TEAM}
        self.plans: deque[Plan] = deque()
        # Instead of the next answers of a method.
        self.refusals: dict[str, deque[Refusal]] = defaultdict(deque)
        # How often a method may be called; without one as often as anybody likes.
        self.budgets: dict[str, slack_rules.Budget] = {}
        # Whoever calls the method waits until all that the barrier is for do so.
        self.gathers: dict[str, threading.Barrier] = {}
        # Instead of the next bodies, whatever was done; None drops the line.
        self.bodies: deque[bytes | None] = deque()
        self.posts: list[Shown] = []
        self.shown: list[Shown] = []
        self.whispers: list[Mapping[str, Any]] = []
        self.reactions: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.files: dict[str, dict[str, Any]] = {}
        self.contents: dict[str, bytes] = {}
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.faults: list[str] = []
        self.said: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.socket = SlackSocket(retries)
        self._last = int(time.time() * 1e6)
        # Threads whose first message is deleted, and those that cannot be.
        self.gone, self.closed = set[str](), set[str]()
        self._lock = threading.RLock()
        handler = type("Handler", (_Handler,), {"slack": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/api/"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.socket.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.stop()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def ts(self) -> str:
        """Return a time stamp that no message had."""
        with self._lock:
            self._last = max(self._last + 1, int(time.time() * 1e6))
            return f"{self._last // 10**6}.{self._last % 10**6:06d}"

    def called(self, method: str) -> list[Mapping[str, Any]]:
        """Return what a method was called with."""
        return [asked for name, asked in list(self.calls) if name == method]

    def writes(self, text: str, chat: str = "D1", user: str = "U42", **more: Any) -> dict[str, Any]:
        """Let a person write; return the message, which nobody is told of yet."""
        kind = "im" if chat.startswith("D") else "channel"
        message = {"type": "message", "ts": self.ts(), "user": user, "text": text, "team": TEAM}
        message |= {"channel": chat, "channel_type": kind, **more}
        self.said[chat].append(message)
        return message

    def edits(self, message: dict[str, Any], text: str) -> None:
        """Let who wrote a message change it; nobody is told of that yet."""
        message |= {"text": text, "edited": {"user": message["user"], "ts": self.ts()}}

    @staticmethod
    def callback(event: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the Events API makes of something that happened."""
        team = event.get("team", TEAM)
        allowed = {"team_id": team, "user_id": BOT, "is_bot": True, "enterprise_id": None}
        told = {"type": "event_callback", "team_id": team, "api_app_id": APP, "token": "old"}
        number = f"Ev{abs(hash(json.dumps(event, sort_keys=True))):x}"
        return told | {"event": event, "event_id": number, "authorizations": [allowed]}

    def happens(self, event: Mapping[str, Any], delay: float = 0.0) -> None:
        """Bring something that happened, by Socket Mode."""
        self.socket.put("events_api", self.callback(event), delay)

    def says(self, text: str, chat: str = "D1", **more: Any) -> dict[str, Any]:
        """Let a person write, and bring it."""
        message = self.writes(text, chat, **more)
        self.happens(message)
        return message

    # What the handler asks for.

    def answer(self, token: str, method: str, asked: dict[str, Any]) -> tuple[Any, Plan]:
        """Return a method's result. Raises Refusal."""
        if method in self.gathers:
            self.gathers[method].wait(20)
        with self._lock:
            self.calls.append((method, asked))
            known = {APP_TOKEN} if method == "apps.connections.open" else set(self.teams)
            if token not in known:
                raise Refusal("invalid_auth")
            self._team = self.teams.get(token, TEAM)
            wait = self.budgets[method].spend() if method in self.budgets else 0
            if wait:
                raise Refusal("ratelimited", 429, headers={"retry-after": str(wait)})
            if self.refusals[method]:
                raise self.refusals[method].popleft()
            act = getattr(self, "_" + method.replace(".", "_"), None)
            if act is None:
                self.faults.append(f"the method {method}")
                raise Refusal("unknown_method")
            result = act(asked)
        told, plan = result if isinstance(result, tuple) else (result, TAKE)
        return {"ok": True, **told}, plan

    def _auth_test(self, asked: Mapping[str, Any]) -> Any:
        return {
            "url": "https://acme.slack.com/",
            "team": "Acme" if self._team == TEAM else self._team,
            "user": "habakkuk",
            "team_id": self._team,
            "user_id": BOT,
            "bot_id": "B1",
        }

    def _apps_connections_open(self, asked: Mapping[str, Any]) -> Any:
        return {"url": self.socket.ticket()}

    def _users_info(self, asked: Mapping[str, Any]) -> Any:
        if not asked["user"].startswith(("U", "W")):
            raise Refusal("user_not_found")
        profile = {"display_name": f"Person {asked['user']}", "real_name": "R"}
        return {"user": {"id": asked["user"], "name": "p", "profile": profile}}

    def _chat_postMessage(self, asked: dict[str, Any]) -> Any:
        self._judge(asked)
        key = asked.get("metadata", {}).get("event_payload", {}).get("key", "")
        return self._posted(asked, key, [])

    def _posted(self, asked: dict[str, Any], key: str, files: list[dict[str, Any]]) -> Any:
        plan = self.plans.popleft() if self.plans else TAKE
        thread = str(asked.get("thread_ts") or "")
        if thread in self.closed:
            raise Refusal("cannot_reply_to_message")
        # Slack does not say that it leaves a thread whose first message is gone.
        thread = "" if thread in self.gone else thread
        text = slack_rules.shown(asked)
        made = Shown(self.ts(), asked["channel"], thread, text, key, asked, files, self._team)
        self.posts.append(made)
        if plan.take:
            self.shown.append(made)
        if plan.answer not in (None, 200):
            raise Refusal("planned", plan.answer or 0, headers=dict(plan.headers))
        return {"channel": made.chat, "ts": made.ts, "message": made.told(metadata=True)}, plan

    def _judge(self, asked: Mapping[str, Any], longest: int = 40_000) -> None:
        for error, what in slack_rules.faults_of(asked, longest):
            self.faults.append(what)
            raise Refusal(error)
        if slack_rules.calls(asked):
            self.faults.append(f"people are called: {asked}")

    def _found(self, asked: Mapping[str, Any], name: str = "ts") -> Shown:
        for one in self.shown:
            if (one.chat, one.ts) == (asked["channel"], asked[name]):
                return one
        raise Refusal("message_not_found")

    def _chat_update(self, asked: dict[str, Any]) -> Any:
        self._judge(asked, slack_rules.UPDATED_TEXT)
        found = self._found(asked)
        found.asked, found.text = {**found.asked, **asked}, slack_rules.shown(asked)
        return {"channel": found.chat, "ts": found.ts, "text": asked.get("text")}

    def _chat_delete(self, asked: Mapping[str, Any]) -> Any:
        self.shown.remove(self._found(asked))
        return {"channel": asked["channel"], "ts": asked["ts"]}

    def _chat_postEphemeral(self, asked: dict[str, Any]) -> Any:
        self._judge(asked)
        if not asked.get("user"):
            self.faults.append("a whisper to nobody")
        self.whispers.append(asked)
        return {"message_ts": self.ts()}

    def _conversations_history(self, asked: Mapping[str, Any]) -> Any:
        return self._page(asked, "", newest_first=True)

    def _conversations_replies(self, asked: Mapping[str, Any]) -> Any:
        if asked["ts"] in self.gone:
            raise Refusal("thread_not_found")
        return self._page(asked, asked["ts"], newest_first=False)

    def _page(self, asked: Mapping[str, Any], thread: str, *, newest_first: bool) -> Any:
        metadata = asked.get("include_all_metadata") in ("1", "true", True)
        chat = asked["channel"]
        found = [dict(one) for one in self.said[chat]]
        found += [one.told(metadata=metadata) for one in self.shown if one.chat == chat]
        found = [one for one in found if _stands(one, thread) and _between(one, asked, thread)]
        writers = [one["user"] for one in found if one["ts"] != thread]
        for one in found:
            if one["ts"] == thread and writers:
                one["reply_users"] = sorted(set(writers))[:5]
        # "If oldest is provided but not latest then the messages returned are those closest to
        # oldest, allowing you to page forward": the reference of the history methods.
        forward = not newest_first or (bool(asked.get("oldest")) and not asked.get("latest"))
        found.sort(key=lambda one: one["ts"], reverse=not forward)
        start, limit = int(asked.get("cursor") or 0), int(asked.get("limit") or 100)
        following = str(start + limit) if start + limit < len(found) else ""
        page = sorted(found[start : start + limit], key=lambda one: one["ts"], reverse=newest_first)
        return {"messages": page, "response_metadata": {"next_cursor": following}}

    def _reactions_add(self, asked: Mapping[str, Any]) -> Any:
        held = self.reactions[(asked["channel"], asked["timestamp"])]
        if asked["name"] in held:
            raise Refusal("already_reacted")
        held.append(asked["name"])
        return {}

    def _reactions_remove(self, asked: Mapping[str, Any]) -> Any:
        held = self.reactions[(asked["channel"], asked["timestamp"])]
        if asked["name"] not in held:
            raise Refusal("no_reaction")
        held.remove(asked["name"])
        return {}

    def _files_getUploadURLExternal(self, asked: Mapping[str, Any]) -> Any:
        number = f"F{len(self.files) + 1}"
        self.files[number] = {"id": number, "name": asked["filename"], "size": int(asked["length"])}
        return {"upload_url": self.url.replace("/api/", f"{_UPLOAD}{number}"), "file_id": number}

    def _files_completeUploadExternal(self, asked: Mapping[str, Any]) -> Any:
        files = [
            self.files[one["id"]] | {"title": one["title"]} for one in json.loads(asked["files"])
        ]
        for one in files:
            if len(self.contents.get(one["id"], b"")) != one["size"]:
                self.faults.append(f"a file of another size: {one}")
        said = {"channel": asked["channel_id"], "text": asked.get("initial_comment", "")}
        _, plan = self._posted(said | {"thread_ts": asked.get("thread_ts")}, "", files)
        return {"files": files}, plan

    def _files_info(self, asked: Mapping[str, Any]) -> Any:
        if asked["file"] not in self.files:
            raise Refusal("file_not_found")
        place = self.url.replace("/api/", f"{_FILES}{asked['file']}")
        return {
            "file": {"url_private": place, "url_private_download": place}
            | self.files[asked["file"]]
        }


def _stands(message: Mapping[str, Any], thread: str) -> bool:
    """Say whether a message stands in a thread, or in the channel itself."""
    where = message.get("thread_ts", "")
    return thread in (message["ts"], where) if thread else where in ("", message["ts"])


def _between(message: Mapping[str, Any], asked: Mapping[str, Any], thread: str) -> bool:
    oldest, latest = asked.get("oldest") or "0", asked.get("latest") or "9" * 10
    ts = message["ts"]
    inside = float(oldest) < float(ts) < float(latest)
    bounds = asked.get("inclusive") in ("1", "true", True) and ts in (oldest, latest)
    # A thread's first message always comes along.
    return inside or bounds or ts == thread


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Say nothing of callers that were killed."""


class _Handler(BaseHTTPRequestHandler):
    slack: SlackServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        path = urlsplit(self.path).path
        if path.startswith(_UPLOAD):
            self._upload(path.removeprefix(_UPLOAD), body)
            return
        asked = _read(self.headers.get("content-type", ""), body)
        token = self.headers.get("authorization", "").removeprefix("Bearer ")
        try:
            result, plan = self.slack.answer(token, path.removeprefix("/api/"), asked)
        except Refusal as refusal:
            self._write(refusal.status, json.dumps(refusal.body).encode(), refusal.headers)
            return
        raw: bytes | None = json.dumps(result).encode()
        if self.slack.bodies:
            raw = self.slack.bodies.popleft()
        if plan.answer is None or raw is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._write(200, raw)

    def do_GET(self) -> None:
        number = urlsplit(self.path).path.removeprefix(_FILES)
        if self.headers.get("authorization") != f"Bearer {BOT_TOKEN}":
            self._write(302, b"", {"location": "https://acme.slack.com/signin"})
            return
        kind = str(self.slack.files.get(number, {}).get("mimetype", "application/octet-stream"))
        self._write(200, self.slack.contents[number], {"content-type": kind})

    def _upload(self, number: str, body: bytes) -> None:
        if self.headers.get("authorization"):
            self.slack.faults.append("the token went along with a file")
        self.slack.contents[number] = body
        self._write(200, f"OK - {len(body)}".encode(), {"content-type": "text/plain"})

    def _write(self, status: int, raw: bytes, headers: Mapping[str, str] | None = None) -> None:
        headers = {"content-type": "application/json; charset=utf-8"} | dict(headers or {})
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
        except OSError:
            # Whoever asked is gone.
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _read(kind: str, body: bytes) -> dict[str, Any]:
    if kind.startswith("application/json"):
        read: dict[str, Any] = json.loads(body)
        return read
    return dict(parse_qsl(body.decode(), keep_blank_values=True))
