"""`python -m habakkuk.ops.health ROLE`: how a container tells that it works.

The roles are web, worker, processes and channels.
"""

from __future__ import annotations

import socket
import sys

from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.core.errors import HabakkukError
from habakkuk.db.engine import Database
from habakkuk.gateway.health import supervised
from habakkuk.jobs.store import workers
from habakkuk.ops.readiness import web_answers
from habakkuk.processes.store import census


def fault(role: str, settings: Settings) -> str | None:
    """Say what is wrong with this host's process of a role; None when it works.

    A database that is away is no fault of a worker: starting it again would not help.
    """
    if role == "web":
        return None if web_answers(settings.listen) else "web does not answer on /healthz"
    if role not in {"worker", "processes", "channels"}:
        return f"{role!r} is neither web, worker, processes nor channels"
    if settings.database_url is None:
        return "DATABASE_URL is not set"
    database = Database(settings.database_url, pool_size=1, name="habakkuk health")
    try:
        if role == "processes":
            return None if census(database).kept else "nothing keeps background processes"
        if role == "channels":
            here = supervised(database, socket.gethostname())
            return None if here else "nothing listens to the chat platforms on this host"
        hosts = {row.host for row in workers.alive(database)}
    finally:
        database.dispose()
    return None if socket.gethostname() in hosts else "no worker of this host is present"


def main(arguments: list[str]) -> int:
    """Return 0 when the process works; else say why not, and return 1."""
    try:
        problem = fault(arguments[0] if arguments else "", load_settings())
    except HabakkukError as error:
        problem = str(error)
    if problem is not None:
        sys.stderr.write(f"{problem}\n")
    return 0 if problem is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
