"""Whether what `up` started works: the web process answers, the workers are present."""

from __future__ import annotations

import http.client

from habakkuk.core.config.settings import Settings
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.jobs.store import workers
from habakkuk.ops.run_file import reachable_host

_ANSWER_SECONDS = 2.0
_OK = 200


class Readiness:
    """Asks the running processes how they are."""

    def __init__(self, settings: Settings, database_url: str) -> None:
        """Prepare; nothing is asked yet."""
        self._listen = settings.listen
        self._database = Database(database_url, pool_size=1, name="habakkuk up")

    def missing(self, worker_pids: set[int], model_port: int | None = None) -> list[str]:
        """Name what does not work yet; the workers are asked for once the web process answers."""
        missing = [] if web_answers(self._listen) else ["web"]
        if not missing and not self._workers_present(worker_pids):
            missing.append("workers")
        if model_port is not None and not _answers(("127.0.0.1", model_port), "/health"):
            missing.append("local-model")
        return missing

    def _workers_present(self, pids: set[int]) -> bool:
        try:
            present = {row.pid for row in workers.alive(self._database)}
        except DatabaseAway:
            return False
        finally:
            # Whoever waits may fork, and a fork must not find a connection.
            self._database.dispose()
        return pids <= present


def web_answers(listen: tuple[str, int]) -> bool:
    """Whether /healthz says that requests are served."""
    return _answers((reachable_host(listen[0]), listen[1]), "/healthz")


def _answers(address: tuple[str, int], path: str) -> bool:
    line = http.client.HTTPConnection(*address, timeout=_ANSWER_SECONDS)
    try:
        line.request("GET", path)
        return line.getresponse().status == _OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        line.close()
