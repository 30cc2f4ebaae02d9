from __future__ import annotations

import subprocess
import sys


def test_celery_is_not_loaded_by_whoever_only_enqueues() -> None:
    program = (
        "import sys, habakkuk.jobs.service, habakkuk.jobs.wake;"
        " habakkuk.jobs.wake.CelerySender('redis://127.0.0.1:1/0');"
        " sys.exit('celery' in sys.modules or 'kombu' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
