"""Beat sends what workers know, and loads nothing of what they do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
# In a process of its own: an app listens to Celery's signals for good.
_BEAT = """
import json, sys
from habakkuk.core.config.settings import load_settings
from workers.beat import make_beat
due = [entry["task"] for entry in make_beat(load_settings()).conf.beat_schedule.values()]
print(json.dumps([due, sorted(sys.modules)]))
"""
_WORKER = """
import json
from habakkuk.core.config.settings import load_settings
from workers.factory import make_celery
print(json.dumps(sorted(make_celery(load_settings(), lambda settings: None).tasks)))
"""


def _told(program: str, home: Path) -> Any:
    variables = {"HABAKKUK_HOME": str(home), "REDIS_URL": "redis://127.0.0.1:1/0"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_every_cadence_is_a_task_that_workers_have(tmp_path: Path) -> None:
    due, _ = _told(_BEAT, tmp_path)
    known = _told(_WORKER, tmp_path)

    assert set(due) == {"habakkuk.sweep", "habakkuk.maintain"}
    assert set(due) <= set(known)


def test_beat_loads_nothing_of_what_jobs_need(tmp_path: Path) -> None:
    _, loaded = _told(_BEAT, tmp_path)

    libraries = {"sqlalchemy", "psycopg2", "openai", "anthropic", "httpx2", "flask", "alembic"}
    parts = {"habakkuk.bootstrap", "habakkuk.agent", "habakkuk.tools", "workers.life"}
    assert not (libraries | parts) & set(loaded)
