"""Write what was planned for a provider: all of it or nothing."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from habakkuk.core.errors import ConfigurationError
from habakkuk.ops.home import prepare_home, write_private
from habakkuk.ops.provider_setup import Plan


def save(plan: Plan, home: Path) -> None:
    """Write what the plan says: both files or, when the second cannot be written, neither.

    Signals that end a program wait until it is done. Raises ConfigurationError.
    """
    env = (home / ".env").resolve()
    config = (home / "config.yaml").resolve()
    before = env.read_bytes() if env.exists() else None
    with _undisturbed():
        try:
            prepare_home(home)
            if plan.env_file is not None:
                write_private(env, plan.env_file)
            if plan.config_file is not None:
                _write_config(config, plan.config_file, env, before)
        except OSError as error:
            raise ConfigurationError(
                f"{error.filename or home}: cannot be written"
                f" ({(error.strerror or str(error)).lower()}); nothing was changed"
            ) from error


def _write_config(path: Path, content: bytes, env: Path, before: bytes | None) -> None:
    """Write the config; take the key back when that fails."""
    try:
        write_private(path, content)
    except OSError:
        if before is None:
            env.unlink(missing_ok=True)
        else:
            write_private(env, before)
        raise


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back Ctrl+C and SIGTERM; they come when the block is left."""
    held = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
