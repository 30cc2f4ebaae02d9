"""`python -m workers.worker`: one worker. Its messages are wake-ups that may be lost or doubled.

Celery's own command line does the same with two hundred modules more, all held by every worker.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from celery import Celery
from celery.utils.nodenames import gethostname, nodename

from habakkuk.bootstrap import build
from habakkuk.core.config.schema import WorkerPools
from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.hardening import keep_files_closed
from habakkuk.core.heap import use_one_heap
from habakkuk.core.log import configure_logging
from habakkuk.core.priority import give_way
from habakkuk.core.redaction import Redactor
from habakkuk.jobs.host import JobSource
from workers.factory import make_celery


def main(arguments: Sequence[str]) -> int:
    """Be a worker until told to end; return the exit code."""
    use_one_heap()
    keep_files_closed()
    try:
        settings = load_settings()
        app = make_celery(settings, build_worker)
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    give_way(settings.config.worker_niceness)
    return serve(app, settings.config.workers, arguments)


def build_worker(settings: Settings) -> JobSource:
    """Build the container of a worker process, its logs first in place."""
    configure_logging(settings.config.logs.level, Redactor(settings.secrets), process="worker")
    return build(settings, name="worker")


def serve(app: Celery, pools: WorkerPools, arguments: Sequence[str]) -> int:
    """Run the worker that the arguments describe, to its end; return the exit code."""
    parser = ArgumentParser(prog="python -m workers.worker", allow_abbrev=False)
    parser.add_argument("--name", required=True, help="its name among the workers of this host")
    parser.add_argument("--queues", required=True, help="what it works for, separated by commas")
    given = parser.parse_args(arguments)
    queues = given.queues.split(",")
    worker = app.Worker(
        hostname=nodename(given.name, gethostname()),
        queues=queues,
        # A message keeps its thread until its job has ended.
        concurrency=sum(pools.of(queue) for queue in queues),
        loglevel="WARNING",
        quiet=True,
        # Workers have nothing to say to each other: the database knows who lives.
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker.start()
    return worker.exitcode or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
