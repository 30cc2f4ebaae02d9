"""Beat sends what workers know."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
# In a process of its own: an app listens to Celery's signals for good.
_PROGRAM = """
import json
from habakkuk.core.config.settings import load_settings
from workers.factory import make_celery
app = make_celery(load_settings(), lambda settings: None)
due = [entry["task"] for entry in app.conf.beat_schedule.values()]
print(json.dumps([due, sorted(app.tasks)]))
"""


def test_every_cadence_is_a_task_that_workers_have(tmp_path: Path) -> None:
    variables = {"HABAKKUK_HOME": str(tmp_path), "REDIS_URL": "redis://127.0.0.1:1/0"}
    told = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    due, known = json.loads(told)
    assert set(due) == {"habakkuk.sweep", "habakkuk.maintain"}
    assert set(due) <= set(known)
