"""What the process that forks workers has loaded, and what it must not have begun."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks")
ROOT = Path(__file__).parents[3]
_PROGRAM = """
import json, os, sys, threading
from habakkuk.core.config.settings import load_settings
from workers.preload import load
load(load_settings())
files = [os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")
         if os.path.islink(f"/proc/self/fd/{number}")]
print(json.dumps({
    "modules": sorted(sys.modules),
    "threads": len(os.listdir("/proc/self/task")),
    "sockets": [file for file in files if file.startswith("socket:")],
}))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    variables = {
        "HABAKKUK_HOME": str(tmp_path_factory.mktemp("home")),
        "DATABASE_URL": "postgresql://habakkuk@127.0.0.1:1/habakkuk",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "OPENAI_API_KEY": "sk-test",
    }
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        cwd=ROOT,
        env={"PATH": os.defpath, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_fork_would_lose_no_thread_and_share_no_socket(loaded: dict[str, Any]) -> None:
    assert loaded["threads"] == 1
    assert loaded["sockets"] == []


def test_what_a_worker_finds_by_itself_is_there(loaded: dict[str, Any]) -> None:
    found = {
        "habakkuk.tools.core.exec",
        "habakkuk.commands.stop",
        "habakkuk.llm.providers.openai.adapter",
        "openai",
        "celery.apps.worker",
        "celery.apps.beat",
        "workers.life",
    }
    assert not found - set(loaded["modules"])


def test_what_only_others_use_is_not(loaded: dict[str, Any]) -> None:
    others = {"anthropic", "flask", "gevent", "alembic", "sqlalchemy.orm", "trafilatura"}
    assert not others & set(loaded["modules"])


def test_what_is_run_is_left_to_the_forks(loaded: dict[str, Any]) -> None:
    run = {"workers.worker", "workers.beat", "workers.processes", "workers.channels"}
    assert not run & set(loaded["modules"])


def test_nothing_of_the_developers_tools_is(loaded: dict[str, Any]) -> None:
    found = {"rich", "yaml"} & set(loaded["modules"])
    assert not found, "libraries load these where they are: rm -rf .venv && .ci/setup"


def test_no_command_line_of_celery_is_loaded(loaded: dict[str, Any]) -> None:
    assert not {"celery.bin.base", "click_repl", "prompt_toolkit"} & set(loaded["modules"])
