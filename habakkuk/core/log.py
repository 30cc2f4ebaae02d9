"""Structured logs: one JSON object a line, ids as fields, never message text, secrets taken out."""

from __future__ import annotations

import logging
import sys
from typing import Any, cast

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor

from habakkuk.core.redaction import Redactor

Logger = FilteringBoundLogger


def get_logger(name: str) -> Logger:
    """Return the logger of a module; cheap, and usable before `configure_logging`."""
    return cast("Logger", structlog.get_logger(component=name))


def configure_logging(level: str, redactor: Redactor, *, process: str) -> None:
    """Send this process's logs and those of libraries to stderr, for its supervisor to keep."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _adder(process),
        _cleaner(redactor),
    ]
    renderer = structlog.processors.JSONRenderer(sort_keys=False)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processor=renderer)
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)


def _adder(process: str) -> Processor:
    def add(_logger: Any, _method: str, event: EventDict) -> EventDict:
        event["process"] = process
        return event

    return add


def _cleaner(redactor: Redactor) -> Processor:
    def redact(_logger: Any, _method: str, event: EventDict) -> EventDict:
        return cast("EventDict", redactor.value(event))

    return redact
