"""How a command fails: a sentence on stderr and an exit code that scripts can tell apart."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from types import TracebackType

import click

from habakkuk.core.errors import ConfigurationError, HabakkukError, Unavailable


class ExitCode(IntEnum):
    """The exit codes, documented in docs/cli.md. 2 is click's, for a wrong command line."""

    REFUSED = 1
    CONFIGURATION = 3
    AWAY = 5
    FAULT = 70
    INTERRUPTED = 130
    PIPE_CLOSED = 141


def say(sentence: str) -> None:
    """Write one sentence to stderr."""
    click.echo(sentence, err=True)


@contextmanager
def explained(*, debug: bool) -> Iterator[None]:
    """Turn what is raised inside into a sentence and an exit code; `debug` adds the traceback."""
    try:
        yield
        sys.stdout.flush()
    except (click.exceptions.Exit, click.ClickException, click.Abort):
        raise
    except KeyboardInterrupt as error:
        raise click.exceptions.Exit(ExitCode.INTERRUPTED) from error
    except BrokenPipeError as error:
        _silence_stdout()
        raise click.exceptions.Exit(ExitCode.PIPE_CLOSED) from error
    except Exception as error:
        if debug:
            raise
        code, sentence = _sentence(error)
        say(sentence)
        raise click.exceptions.Exit(code) from error


def _sentence(error: Exception) -> tuple[ExitCode, str]:
    if isinstance(error, ConfigurationError):
        return ExitCode.CONFIGURATION, str(error)
    if isinstance(error, Unavailable):
        return ExitCode.AWAY, _capital(str(error))
    if isinstance(error, HabakkukError):
        return ExitCode.REFUSED, _capital(str(error))
    return ExitCode.FAULT, (
        f"This is a fault in Habakkuk: {type(error).__name__}{_place(error.__traceback__)}."
        " Run it again as `habakkuk --debug …` to see all of it."
    )


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _place(trace: TracebackType | None) -> str:
    """Return where in our own code it happened. The error's text may hold people's words."""
    found = ""
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if {"habakkuk", "web"} & set(path.parts) and "site-packages" not in path.parts:
            found = f" at {path.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def _silence_stdout() -> None:
    """Give the interpreter a stdout that it can flush at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except OSError:
        return
    finally:
        os.close(nowhere)
