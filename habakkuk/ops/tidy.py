"""The daily job that removes what killed processes left in the home and in the database."""

from __future__ import annotations

from datetime import date

from habakkuk.blobs.service import Blobs
from habakkuk.conversations.spend import SpendCaps
from habakkuk.core.ids import derive
from habakkuk.core.log import get_logger
from habakkuk.db.engine import Database, Work
from habakkuk.jobs.contract import JobContext
from habakkuk.jobs.service import Jobs
from habakkuk.jobs.types import Job, JobState, NewJob, Queue

_log = get_logger("ops.tidy")
TIDY_KIND = "tidy"
# Far longer than anything takes to be written.
_OLD_SECONDS = 86_400.0


class TidyHandler:
    """The job kind `tidy`. Run again it finds less to do."""

    kind = TIDY_KIND
    queue = Queue.MAINTENANCE

    def __init__(self, blobs: Blobs, caps: SpendCaps) -> None:
        """Take the folder of the stored files, and who holds money for calls."""
        self._blobs = blobs
        self._caps = caps

    def run(self, context: JobContext) -> None:
        """Remove half-written files that nobody writes any more, and money held for nobody."""
        context.interrupt.check()
        removed = self._blobs.remove_parts(_OLD_SECONDS)
        if removed:
            _log.info("half-written files removed", files=removed)
        if released := self._caps.remove_expired():
            _log.info("what calls of killed workers held is removed", holds=released)

    def lock(self, work: Work, job: Job) -> None:
        """Lock nothing: nothing but the job's own row changes with its end."""

    def ended(self, work: Work, job: Job, state: JobState, reason: str) -> None:
        """Record nothing: the job's row says it."""


def enqueue_tidy(jobs: Jobs, database: Database, today: date) -> bool:
    """Enqueue the job of a day; False when that day has it."""
    job = NewJob(derive("tidy", today.isoformat()), TIDY_KIND, Queue.MAINTENANCE)
    with database.transaction() as work:
        return jobs.enqueue(work, job)
