"""Logs: one JSON object a line on stderr, without secrets.

Run apart: logging is set up once a process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

_START = """
import logging
import structlog
from habakkuk.core.log import configure_logging, get_logger
from habakkuk.core.redaction import Redactor
log = get_logger("here")
configure_logging("info", Redactor(["canary-value"]), process="web")
"""


def lines(program: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-c", _START + program], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    return [json.loads(line) for line in done.stderr.splitlines()]


def test_an_event_is_one_line_with_its_fields() -> None:
    (line,) = lines("log.info('turn ended', turn='t1', n=3)")
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "turn ended",
        "turn": "t1",
        "n": 3,
        "level": "info",
        "component": "here",
        "process": "web",
    }


def test_the_level_is_kept() -> None:
    assert [line["event"] for line in lines("log.debug('a'); log.info('b')")] == ["b"]


def test_bound_ids_stand_in_every_line() -> None:
    (line,) = lines("structlog.contextvars.bind_contextvars(job='j1'); log.info('a')")
    assert line["job"] == "j1"


def test_secrets_are_taken_out_of_events_fields_and_tracebacks() -> None:
    found = lines("""
class Odd:
    def __repr__(self): return "canary-value"
log.info("canary-value", canary_value={"deep": ["canary-value"]}, odd=Odd())
try:
    raise ValueError("canary-value in canary-value")
except ValueError:
    log.exception("failed")
""")
    assert "canary-value" not in json.dumps(found)
    assert found[0]["event"] == "[redacted]"
    assert "ValueError: [redacted] in [redacted]" in found[1]["exception"]


def test_libraries_speak_the_same_form_without_secrets() -> None:
    (line,) = lines("""
try:
    raise ValueError("canary-value")
except ValueError:
    logging.getLogger("lib").warning("at %s", "canary-value", exc_info=True)
logging.getLogger("lib").info("not shown")
""")
    assert line["event"] == "at [redacted]"
    assert line["level"] == "warning"
    assert line["process"] == "web"
    assert "canary-value" not in json.dumps(line)


def test_a_line_break_cannot_forge_a_line() -> None:
    (line,) = lines('log.info(\'a\\n{"event": "forged"}\')')
    assert line["event"].startswith("a\n")
