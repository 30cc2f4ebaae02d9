"""Telegram's Bot API in miniature, over real HTTP, from its public documentation.

It holds updates until a later offset is asked for, gives each poller the line of the one before,
judges messages as the documentation says (4096 UTF-16 units, 1024 in a caption, entities within the
text and not across half a character, a hundred of them; photos of 10 MB, files of 50 MB, polls of 2
to 12 options), and keeps what its people see. Plans, one for each message that is sent in its
order, make it do something else than take the message.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote

from tests.fakes import telegram_rules
from tests.fakes.platform import TAKE, Plan
from tests.fakes.telegram_forms import File, read

TOKEN = "123456789:AAbot-token_of-the-fake-bot-00000001"
BOT = {"id": 123456789, "is_bot": True, "first_name": "Hab", "username": "hab_bot"}
LIMIT = 4096
CAPTION = 1024
MOST_PHOTO, MOST_FILE, MOST_FETCHED = 10_000_000, 50_000_000, 20_000_000
# https://core.telegram.org/bots/api#reactiontypeemoji: a few of those that need no premium.
REACTIONS = {"👍", "👎", "❤", "🔥", "👏", "😢", "🎉", "👀", "🤔"}


class Refusal(Exception):
    """An answer with ok: false."""

    def __init__(
        self, status: int, description: str, parameters: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.parameters = dict(parameters or {})

    @property
    def body(self) -> dict[str, Any]:
        """What is answered."""
        more = {"parameters": self.parameters} if self.parameters else {}
        return {"ok": False, "error_code": self.status, "description": self.description} | more


@dataclass(frozen=True)
class Shown:
    """One message as people see it."""

    id: int
    chat: str
    text: str
    asked: Mapping[str, Any]
    entities: tuple[Mapping[str, Any], ...]
    method: str = "sendMessage"

    @property
    def key(self) -> str:
        """Telegram knows no keys."""
        return ""

    def marked(self, entity: Mapping[str, Any]) -> str:
        """Return the piece of the text that an entity is of."""
        units = self.text.encode("utf-16-le")
        end = entity["offset"] + entity["length"]
        return units[2 * entity["offset"] : 2 * end].decode("utf-16-le")


class TelegramServer:
    """The server with what it saw. Lists only grow, so tests may read them at any time."""

    def __init__(self, token: str = TOKEN) -> None:
        self.token = token
        self.plans: deque[Plan] = deque()
        # Instead of the next answers of a method, whatever it is.
        self.refusals: dict[str, deque[Refusal]] = defaultdict(deque)
        # Instead of the next answers, whatever was done; None drops the line.
        self.bodies: deque[bytes | None] = deque()
        self.posts: list[Shown] = []
        self.shown: list[Shown] = []
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.faults: list[str] = []
        self.moved: dict[str, int] = {}
        self.webhook = ""
        # What bots may fetch, by its id: its path at this server and its bytes.
        self.files: dict[str, tuple[str, bytes]] = {}
        # The paths that lead nowhere any more.
        self.expired: set[str] = set()
        # The paths of files whose size is not told.
        self.unsized: set[str] = set()
        # What stands at messages and what they say now, by chat and number.
        self.reactions: dict[tuple[str, int], list[str]] = {}
        self.texts: dict[tuple[str, int], str] = {}
        self.connections = 0
        self.lines: set[socket.socket] = set()
        self._updates: list[dict[str, Any]] = []
        self._next = 1000
        self._poller = 0
        self._changed = threading.Condition()
        handler = type("Handler", (_Handler,), {"telegram": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            # Whoever polls is let go.
            self._poller += 1
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def happens(self, number: int | None = None, **what: Any) -> int:
        """Let something happen, such as message={…}; return the update's number."""
        with self._changed:
            self._next = self._next + 1 if number is None else number
            self._updates.append({"update_id": self._next, **what})
            self._changed.notify_all()
            return self._next

    def drop_all(self) -> None:
        """Cut every line that somebody is at."""
        for line in list(self.lines):
            line.shutdown(socket.SHUT_RDWR)

    def wait(self, condition: Any, seconds: float = 20.0) -> None:
        """Wait for a condition on what was seen; fails loudly when it does not come."""
        with self._changed:
            if not self._changed.wait_for(condition, seconds):
                raise AssertionError("the awaited condition did not come about")

    @property
    def waiting(self) -> list[int]:
        """The numbers of the updates that nobody has confirmed."""
        return [one["update_id"] for one in self._updates]

    def called(self, method: str) -> list[Mapping[str, Any]]:
        """Return what a method was called with."""
        return [asked for name, asked in list(self.calls) if name == method]

    # What the handler asks for.

    def answer(self, token: str, method: str, asked: Mapping[str, Any]) -> tuple[Any, Plan]:
        """Return a method's result. Raises Refusal."""
        if token != self.token:
            raise Refusal(401, "Unauthorized")
        with self._changed:
            self.calls.append((method, asked))
            self._changed.notify_all()
            planned = self.refusals.get(method)
            if planned:
                raise planned.popleft()
        act = getattr(self, f"_{method}", None)
        if act is None:
            raise Refusal(404, "Not Found")
        with self._changed:
            result = act(asked)
            self._changed.notify_all()
        return result if isinstance(result, tuple) else (result, TAKE)

    def _getMe(self, asked: Mapping[str, Any]) -> Any:
        return BOT

    def _setWebhook(self, asked: Mapping[str, Any]) -> Any:
        self.webhook = asked["url"]
        if re.fullmatch(r"[A-Za-z0-9_-]{1,256}", asked.get("secret_token", "x")) is None:
            raise Refusal(400, "Bad Request: secret token contains unallowed characters")
        return True

    def _setMyCommands(self, asked: Mapping[str, Any]) -> Any:
        refused = telegram_rules.refusal_of_commands(asked["commands"])
        if refused is not None:
            raise Refusal(400, f"Bad Request: {refused}")
        return True

    def _deleteWebhook(self, asked: Mapping[str, Any]) -> Any:
        self.webhook = ""
        if asked.get("drop_pending_updates") == "true":
            self._updates.clear()
        return True

    def _getUpdates(self, asked: Mapping[str, Any]) -> Any:
        if self.webhook:
            raise Refusal(409, "Conflict: can't use getUpdates method while webhook is active")
        self._poller += 1
        mine = self._poller
        self._changed.notify_all()
        offset = int(asked.get("offset", 0))
        self._updates = [one for one in self._updates if one["update_id"] >= offset]
        self._changed.wait_for(
            lambda: self._updates or self._poller != mine, float(asked.get("timeout", 0))
        )
        if self._poller != mine:
            raise Refusal(
                409,
                "Conflict: terminated by other getUpdates request; make sure that only one bot"
                " instance is running",
            )
        kinds = asked.get("allowed_updates") or []
        return [one for one in self._updates if not kinds or set(one) & set(kinds)][:100]

    def _sendMessage(self, asked: Mapping[str, Any]) -> Any:
        return self._sent("sendMessage", asked, asked["text"], "entities", LIMIT)

    def _sendPhoto(self, asked: Mapping[str, Any]) -> Any:
        return self._sent_file("sendPhoto", asked, asked["photo"], MOST_PHOTO)

    def _sendDocument(self, asked: Mapping[str, Any]) -> Any:
        return self._sent_file("sendDocument", asked, asked["document"], MOST_FILE)

    def _sent_file(self, method: str, asked: Mapping[str, Any], file: File, most: int) -> Any:
        if len(file.data) > most:
            raise Refusal(413, "Request Entity Too Large")
        if method == "sendPhoto" and b"IHDR" not in file.data and b"JFIF" not in file.data:
            raise Refusal(400, "Bad Request: IMAGE_PROCESS_FAILED")
        return self._sent(method, asked, asked.get("caption", ""), "caption_entities", CAPTION)

    def _sendPoll(self, asked: Mapping[str, Any]) -> Any:
        self.faults += telegram_rules.faults_of_poll(asked)
        return self._sent("sendPoll", asked, asked["question"], "question_entities", 300)

    def _sent(
        self, method: str, asked: Mapping[str, Any], text: str, entities: str, limit: int
    ) -> Any:
        plan = self.plans.popleft() if self.plans else TAKE
        chat = str(asked["chat_id"])
        if chat in self.moved:
            raise Refusal(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                {"migrate_to_chat_id": self.moved[chat]},
            )
        marks = tuple(asked.get(entities, []))
        self._judge(asked, text, marks, limit, file=limit == CAPTION)
        sent = Shown(5000 + len(self.posts), chat, text, asked, marks, method)
        self.posts.append(sent)
        self.texts[chat, sent.id] = text
        if plan.take:
            self.shown.append(sent)
        if plan.answer not in (None, 200):
            wait = plan.headers.get("retry-after")
            raise Refusal(plan.answer or 0, "Planned", {"retry_after": int(wait)} if wait else {})
        chat_id = int(chat) if chat.lstrip("-").isdigit() else 1
        about = {"id": chat_id, "type": "private"}
        return {"message_id": sent.id, "date": 1, "chat": about, "text": sent.text}, plan

    def _judge(
        self,
        asked: Mapping[str, Any],
        text: str,
        entities: Sequence[Mapping[str, Any]],
        limit: int,
        *,
        file: bool = False,
    ) -> None:
        units = len(text.encode("utf-16-le")) // 2
        if not text.strip() and not file:
            raise Refusal(400, "Bad Request: message text is empty")
        if units > limit:
            self.faults.append(f"a text of {units}")
            raise Refusal(400, "Bad Request: message is too long")
        self.faults += telegram_rules.faults_of(asked, text, entities)

    def _sendChatAction(self, asked: Mapping[str, Any]) -> Any:
        return True

    def _answerCallbackQuery(self, asked: Mapping[str, Any]) -> Any:
        return True

    def _editMessageReplyMarkup(self, asked: Mapping[str, Any]) -> Any:
        about = {"id": int(asked["chat_id"]), "type": "private"}
        return {"message_id": int(asked["message_id"]), "date": 1, "chat": about}

    def _editMessageText(self, asked: Mapping[str, Any]) -> Any:
        place = asked["chat_id"], int(asked["message_id"])
        if place not in self.texts:
            raise Refusal(400, "Bad Request: message to edit not found")
        self._judge(asked, asked["text"], asked.get("entities", []), LIMIT)
        if self.texts[place] == asked["text"]:
            raise Refusal(
                400,
                "Bad Request: message is not modified: specified new message content and reply"
                " markup are exactly the same as a current content and reply markup of the message",
            )
        self.texts[place] = asked["text"]
        return True

    def _deleteMessage(self, asked: Mapping[str, Any]) -> Any:
        place = asked["chat_id"], int(asked["message_id"])
        if place not in self.texts:
            raise Refusal(400, "Bad Request: message to delete not found")
        del self.texts[place]
        self.shown = [one for one in self.shown if (one.chat, one.id) != place]
        return True

    def _setMessageReaction(self, asked: Mapping[str, Any]) -> Any:
        standing = [one["emoji"] for one in asked.get("reaction", [])]
        if not set(standing) <= REACTIONS:
            raise Refusal(400, "Bad Request: REACTION_INVALID")
        if len(standing) > 1:
            self.faults.append("a bot may set one reaction")
        self.reactions[asked["chat_id"], int(asked["message_id"])] = standing
        return True

    def _getFile(self, asked: Mapping[str, Any]) -> Any:
        if asked["file_id"] not in self.files:
            raise Refusal(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        path, data = self.files[asked["file_id"]]
        if len(data) > MOST_FETCHED and path not in self.unsized:
            raise Refusal(400, "Bad Request: file is too big")
        about = {"file_id": asked["file_id"], "file_unique_id": "u", "file_path": path}
        # Its size is "optional" (https://core.telegram.org/bots/api#file).
        return about if path in self.unsized else about | {"file_size": len(data)}

    def download(self, token: str, path: str) -> bytes | None:
        """Return the bytes of a file at a path."""
        if token != self.token or path in self.expired:
            return None
        return next((data for where, data in self.files.values() if where == path), None)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # The five of its base would cut lines off when many come at once.
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Say nothing of callers that were killed."""


class _Handler(BaseHTTPRequestHandler):
    telegram: TelegramServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.telegram.connections += 1
        self.telegram.lines.add(self.connection)

    def finish(self) -> None:
        self.telegram.lines.discard(self.connection)
        super().finish()

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length", "0"))
        asked = read(self.headers.get("content-type", ""), self.rfile.read(size))
        _, bot, method = self.path.split("/")
        try:
            result, plan = self.telegram.answer(bot.removeprefix("bot"), method, asked)
        except Refusal as refusal:
            self._write(refusal.status, json.dumps(refusal.body).encode())
            return
        body = json.dumps({"ok": True, "result": result}).encode()
        planned = self.telegram.bodies.popleft() if self.telegram.bodies else body
        if plan.answer is None or planned is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._write(200, planned)

    def do_GET(self) -> None:
        _, _, bot, path = self.path.split("/", 3)
        found = self.telegram.download(bot.removeprefix("bot"), unquote(path))
        self._write(200 if found is not None else 404, found if found is not None else b"{}")

    def _write(self, status: int, raw: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
        except OSError:
            # Whoever asked is gone.
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""
