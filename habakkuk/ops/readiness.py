"""Whether what `up` started works: web answers, workers and who keeps processes are there."""

from __future__ import annotations

import http.client

from habakkuk.core.config.settings import Settings
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.jobs.store import workers
from habakkuk.ops.run_file import reachable_host
from habakkuk.processes.store import census

_ANSWER_SECONDS = 2.0
_OK = 200


class Readiness:
    """Asks the running processes how they are."""

    def __init__(self, settings: Settings, database_url: str) -> None:
        """Prepare; nothing is asked yet."""
        self._listen = settings.listen
        self._database = Database(database_url, pool_size=1, name="habakkuk up")

    def missing(self, worker_pids: set[int], model_port: int | None = None) -> list[str]:
        """Name what does not work yet; the others are asked for once the web process answers."""
        missing = self._absent(worker_pids) if web_answers(self._listen) else ["web"]
        if model_port is not None and not _answers(("127.0.0.1", model_port), "/health"):
            missing.append("local-model")
        return missing

    def _absent(self, pids: set[int]) -> list[str]:
        """Name what the database does not know to be there: workers, and who keeps processes."""
        try:
            present = {row.pid for row in workers.alive(self._database)}
            kept = census(self._database).kept
        except DatabaseAway:
            return ["workers"]
        finally:
            # Whoever waits may fork, and a fork must not find a connection.
            self._database.dispose()
        return [*(() if pids <= present else ("workers",)), *(() if kept else ("processes",))]


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
