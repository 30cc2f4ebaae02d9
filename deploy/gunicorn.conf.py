"""How gunicorn serves the web process; the settings that differ come from Habakkuk's own."""

# ruff: noqa: E402 - what is imported keeps what it finds, so it is patched before.
from gevent import monkey

monkey.patch_all()

import gc
from pathlib import Path
from typing import Any

from habakkuk.core.config.settings import load_settings
from habakkuk.core.hardening import forbid_inspection, keep_files_closed
from habakkuk.core.priority import go_first

# In the master, before it forks: its workers inherit it.
forbid_inspection()
keep_files_closed()
_settings = load_settings()
go_first(_settings.config.worker_niceness)
_host, _port = _settings.listen
_memory = Path("/dev/shm")  # noqa: S108 - gunicorn makes its own closed file there

bind = f"[{_host}]:{_port}" if ":" in _host else f"{_host}:{_port}"
# One process: open streams wait on the network, and gevent holds thousands of them.
worker_class = "gevent"
workers = 2
# The application is made in the master, so that a worker which takes the place of a dead one serves
# at once. It opens nothing and starts no thread before its first request.
preload_app = True
worker_connections = 1000
# Open streams end with the process; who listens to one comes back by itself and misses nothing.
graceful_timeout = 3
timeout = 60
keepalive = 75
# The heartbeat file must not wait for a disk.
worker_tmp_dir = str(_memory) if _memory.is_dir() else None
# Stdout and stderr are kept by whoever started this process. Requests are logged by the app.
accesslog = None
errorlog = "-"
loglevel = "warning"
proc_name = "habakkuk-web"
# A person's long message is a body, so nothing sensible has a longer line.
limit_request_line = 8190
forwarded_allow_ips = ""


def pre_fork(_server: Any, _worker: Any) -> None:
    """Leave what is loaded to both: the collector writes into what it looks at, which copies it."""
    gc.collect()
    gc.freeze()
