"""The daily job that removes what killed processes left in the home and in the database."""

from __future__ import annotations

from datetime import date

from habakkuk.blobs.service import Blobs
from habakkuk.conversations.spend import SpendCaps
from habakkuk.conversations.store import taints
from habakkuk.core.ids import derive
from habakkuk.core.log import get_logger
from habakkuk.db.engine import Database, Work
from habakkuk.jobs.contract import JobContext
from habakkuk.jobs.service import Jobs
from habakkuk.jobs.types import Job, JobState, NewJob, Queue
from habakkuk.ops import store
from habakkuk.processes.store import prune_inputs
from habakkuk.tools.checkpoints.service import Checkpoints

_log = get_logger("ops.tidy")
TIDY_KIND = "tidy"
# Far longer than anything takes to be written.
_OLD_SECONDS = 86_400.0
# How long a file counts as written from outside content, if it is not written again.
_TAINTED_SECONDS = 180 * 86_400.0
# In a run; more are left to the next day.
_MOST_FILES = 5_000
# In a transaction, during which each of their files is removed.
_AT_ONCE = 50


class TidyHandler:
    """The job kind `tidy`. Run again it finds less to do."""

    kind = TIDY_KIND
    queue = Queue.MAINTENANCE

    def __init__(
        self, database: Database, blobs: Blobs, caps: SpendCaps, checkpoints: Checkpoints
    ) -> None:
        """Take the folder of the stored files, who holds money for calls, and the snapshots."""
        self._database = database
        self._blobs = blobs
        self._caps = caps
        self._checkpoints = checkpoints

    def run(self, context: JobContext) -> None:
        """Remove half-written files and those named nowhere, and rows that nobody reads again."""
        context.interrupt.check()
        removed = self._blobs.remove_parts(_OLD_SECONDS)
        if removed:
            _log.info("half-written files removed", files=removed)
        if unnamed := self._remove_unnamed(context):
            _log.info("files that nothing names are removed", files=unnamed)
        if released := self._caps.remove_expired():
            _log.info("what calls of killed workers held is removed", holds=released)
        if forgotten := taints.prune(self._database, _TAINTED_SECONDS):
            _log.info("marks of old files are removed", files=forgotten)
        if passed := prune_inputs(self._database, _OLD_SECONDS):
            _log.info("records of what processes were given are removed", inputs=passed)
        if gone := self._checkpoints.clear(context.interrupt):
            _log.info("old checkpoints are removed", checkpoints=gone)

    def _remove_unnamed(self, context: JobContext) -> int:
        """Remove stored files that nothing names, such as those of refused requests."""
        removed = 0
        unnamed = store.unnamed_blobs(self._database, _OLD_SECONDS, _MOST_FILES)
        for first in range(0, len(unnamed), _AT_ONCE):
            context.interrupt.check()
            removed += self._blobs.remove(unnamed[first : first + _AT_ONCE], _OLD_SECONDS)
        return removed

    def lock(self, work: Work, job: Job) -> None:
        """Lock nothing: nothing but the job's own row changes with its end."""

    def ended(self, work: Work, job: Job, state: JobState, reason: str) -> None:
        """Record nothing: the job's row says it."""


def enqueue_tidy(jobs: Jobs, database: Database, today: date) -> bool:
    """Enqueue the job of a day; False when that day has it."""
    job = NewJob(derive("tidy", today.isoformat()), TIDY_KIND, Queue.MAINTENANCE)
    with database.transaction() as work:
        return jobs.enqueue(work, job)
