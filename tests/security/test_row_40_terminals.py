"""Row 40: words of others are words in a log and in a terminal: no line, colour or order of theirs.

There are no exports as CSV; a conversation is exported as Markdown, under a name that is quoted.
"""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from click.testing import CliRunner, Result

from habakkuk.core.log import configure_logging, get_logger
from habakkuk.core.redaction import Redactor
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack
from tests.integration.web.served import Served
from web.cli import group
from web.cli.terminal.output import one_line, visible

_CONTROLS = [
    "\r",
    "\r\n",
    "\x1b[2J",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]1337;File=inline=1:AAAA\x07",
    "\x1bP+q544e\x1b\\",
    "\x1b[6n",
    "\x1b[c",
    "\x1b[?1049h",
    "\x1b[1A\x1b[2K",
    "\x1b[9999;9999H",
    "\x1bc",
    "\x1b_Ga=T;AAAA\x1b\\",
    "\x1b^private\x1b\\",
    "\x9b31m",
    "\x9d0;title\x9c",
    "\x90+q\x9c",
    "\x85",
    "\x08\x08\x08",
    "\x07",
    "\x0b",
    "\x0c",
    "\x0e\x0f",
    "\x7f",
    "\x00",
    "\x1a",
    "\x1c\x1d\x1e\x1f",
    "\u202egnp.exe",
    "\u202dx\u202c",
    "\u2066x\u2069",
    "\u2067x\u2069",
    "\u2068x\u2069",
    "\u202a\u202b",
    "\u200e",
    "\u200f",
    "\u061c",
    "\u2028",
    "\u2029",
    "\ufeff",
    "\ufff9x\ufffay\ufffb",
]
# What must not reach a terminal, written down again: the product's own list is what is tested.
_LIVE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]"
)
_FORGED = "2026-11-30T00:00:00Z [critical] the owner logged in"
_LINES = [
    f"x\n{_FORGED}",
    f"x\r\n{_FORGED}",
    f"x\r{_FORGED}",
    f"x\u2028{_FORGED}",
    f"x\x85{_FORGED}",
]
_LINES += [
    f'x"}}\n{{"event": "{_FORGED}"}}',
    f"x\\n{_FORGED}",
    f"x\x0b{_FORGED}",
    f"x\n\n{_FORGED}",
]

Run = Callable[..., Result]


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str) -> Iterator[Stack]:
    with ModelServer() as model:
        made = Stack(home, database_url, redis_url, model)
        yield made
        made.close()


@pytest.fixture
def run(stack: Stack, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("MINE_KEY", "key-of-the-fake-service")

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(group(), words, prog_name="habakkuk")

    return invoke


@pytest.mark.parametrize("text", _CONTROLS)
def test_nothing_of_it_is_live_in_a_terminal(text: str) -> None:
    for shown in (visible(f"a{text}b"), one_line(f"a{text}b")):
        assert _LIVE.search(shown) is None, shown
        assert shown.startswith("a")
        assert shown.endswith("b")


@pytest.mark.parametrize(
    "text", ["héllo", "שלום", "مرحبا", "你好", "👩‍👩‍👧", "a\tb", "e\u0301", "🏳️‍🌈"]
)
def test_what_people_write_stays(text: str) -> None:
    assert visible(text) == text


def _written(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    out = io.StringIO()
    monkeypatch.setattr("sys.stderr", out)
    configure_logging("info", Redactor([]), process="test")
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(out))
    return out


def test_a_log_has_one_line_for_each_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is in a field, its name, the event or an exception; of ours and of libraries."""
    out = _written(monkeypatch)
    log, other = get_logger("a"), logging.getLogger("library")
    texts = [*_CONTROLS, *_LINES]
    for text in texts:
        log.warning("event", name=text)
        log.warning(text)
        log.warning("event", **{f"k{text}": "x"})
        other.warning("said %s", text)
        try:
            raise ValueError(text)
        except ValueError:
            log.exception("failed")
    raw = out.getvalue()
    lines = raw.removesuffix("\n").split("\n")
    assert len(lines) == 5 * len(texts)
    assert all(isinstance(json.loads(line), dict) for line in lines)
    assert _LIVE.search(raw) is None
    assert raw.isascii()


def test_a_forged_line_is_no_line_of_its_own_when_logs_are_shown(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = _written(monkeypatch)
    log = get_logger("a")
    for text in [*_LINES, *_CONTROLS]:
        log.warning("event", name=text)
        log.warning(" ".join(("event", text)))
    monkeypatch.undo()
    monkeypatch.setenv("HABAKKUK_HOME", str(home))
    (home / "logs").mkdir()
    (home / "logs" / "web.log").write_text(out.getvalue())
    (home / "logs" / "plain.log").write_text("".join(f"LOG: {text}\n" for text in _CONTROLS))
    for more in ((), ("-o", "json")):
        shown = run("logs", "-n", "1000", *more).output
        assert "event" in shown
        assert _LIVE.search(shown) is None
        assert [line for line in shown.split("\n") if line.startswith(_FORGED[:10])] == []


def test_commands_show_what_others_wrote_as_text(stack: Stack, run: Run) -> None:
    """Titles, messages, names of people and of tokens, in tables, in text and as JSON."""
    accounts = stack.container.accounts
    for number, text in enumerate([*_CONTROLS, *_LINES]):
        stack.say(f"said {text} end", f"n{number}")
        accounts.of_identity("webhook", "phone", f"id {number}", f"name {text} {number}")
    session = stack.say("the last").session_id
    commands = [["sessions", "list"], ["sessions", "show", session], ["users", "list"]]
    commands += [["jobs", "list"], ["tokens", "list"], ["status"], ["approvals", "list"]]
    for words in commands:
        for more in ([], ["-o", "json"]):
            result = run(*words, *more)
            assert result.exit_code == 0, (words, result.output)
            assert _LIVE.search(result.output) is None, (words, more)
            assert not any(line.startswith(_FORGED[:10]) for line in result.output.split("\n"))


def test_the_name_of_an_export_makes_no_header(stack: Stack) -> None:
    with Served(stack) as served:
        for number, text in enumerate(
            [*_CONTROLS, *_LINES, '"; filename="x.html', "../../x", "=1"]
        ):
            served.send("hello", f"n{number}")
            served.client.patch(
                f"/api/conversations/n{number}", json={"title": f"t{text}\r\nX-Evil: 1"}
            )
            answer = served.client.get(f"/api/conversations/n{number}/export")
            assert answer.status_code == 200, text
            assert "x-evil" not in answer.headers
            name = answer.headers["content-disposition"]
            assert re.fullmatch(r"attachment; filename\*=UTF-8''[A-Za-z0-9._~%-]+", name), text
