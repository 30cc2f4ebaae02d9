"""The programs that speak to where commands run: what they give, and how they end."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.tools.sandbox.remote import Client

VARIABLES = {"PATH": "/usr/bin:/bin"}


def client(folder: Path, script: str, interrupt: Interrupt | None = None) -> Client:
    path = folder / "docker"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return Client(str(path), VARIABLES, interrupt or Interrupt())


def test_code_output_and_the_last_of_its_errors(tmp_path: Path) -> None:
    script = "echo out $1; for n in 1 2 3 4; do echo error $n >&2; done; exit 3"
    told = client(tmp_path, script).run(["inspect"])
    assert told == (3, "out inspect\n", "error 2; error 3; error 4")


def test_one_that_does_not_end_in_time_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"docker inspect did not end within 0\.2 s"):
        client(tmp_path, "sleep 600 & wait").run(["inspect"], 0.2)


def test_one_that_cannot_be_started_is_an_error() -> None:
    with pytest.raises(ToolError, match="docker cannot be started: No such file"):
        Client("/no/such/docker", VARIABLES, Interrupt()).run(["inspect"])


def test_an_interrupt_ends_even_a_long_one(tmp_path: Path) -> None:
    """As the first start of a container does, which loads its image."""
    interrupt = Interrupt()
    threading.Timer(0.2, interrupt.trip, (Reason.CANCELLED,)).start()
    with pytest.raises(Interrupted):
        client(tmp_path, "sleep 600 & wait", interrupt).run(["run"], 600)
