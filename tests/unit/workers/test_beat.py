"""Beat sends what workers know, and loads nothing of what they do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
# In a process of its own: an app listens to Celery's signals for good.
_BEAT = """
import json, sys
from habakkuk.core.config.settings import load_settings
from workers.beat import make_beat
due = [entry["task"] for entry in make_beat(load_settings()).conf.beat_schedule.values()]
print(json.dumps([due, sorted(sys.modules)]))
"""
# Its clock was a day ahead when it sent last, before this start or while it ran.
_SET_BACK = """
import json, sys
from datetime import timedelta
from habakkuk.core.config.settings import load_settings
from workers.beat import Steady, make_beat
app = make_beat(load_settings())
beat = Steady(app, schedule_filename=sys.argv[1], lazy=True)
beat.setup_schedule()
if sys.argv[2] == "running":
    beat.tick()
for entry in beat.schedule.values():
    entry.last_run_at += timedelta(days=1)
beat._heap = None if sys.argv[2] == "stopped" else beat._heap
beat.tick()
looked_at = {entry.name: beat.is_due(entry)[1] for _, _, entry in beat._heap}
print(json.dumps([looked_at[name] for name in app.conf.beat_schedule]))
"""
_WORKER = """
import json
from habakkuk.core.config.settings import load_settings
from workers.factory import make_celery
print(json.dumps(sorted(make_celery(load_settings(), lambda settings: None).tasks)))
"""


def _told(program: str, home: Path, *words: str) -> Any:
    variables = {"HABAKKUK_HOME": str(home), "REDIS_URL": "redis://127.0.0.1:1/0"}
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
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


@pytest.mark.parametrize("beat", ["running", "stopped"])
def test_a_clock_that_is_set_back_does_not_stop_it_for_as_long(tmp_path: Path, beat: str) -> None:
    waits = _told(_SET_BACK, tmp_path, str(tmp_path / "state"), beat)
    sweep, maintenance = waits
    assert sweep <= 60
    assert maintenance <= 300
