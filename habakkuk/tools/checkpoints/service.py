"""Checkpoints of every agent's workspace: made before a turn changes it, listed, brought back."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.errors import Invalid, NotFound
from habakkuk.core.ids import derive, random_id
from habakkuk.core.interrupt import Interrupt, Interrupted
from habakkuk.core.log import get_logger
from habakkuk.tools.checkpoints.git import Git
from habakkuk.tools.checkpoints.restore import restore
from habakkuk.tools.checkpoints.shadow import Shadow
from habakkuk.tools.checkpoints.types import Checkpoint, Kind, Label, NoCheckpoint, Restored
from habakkuk.tools.paths import inside
from habakkuk.tools.workspace import prepare_workspace

_log = get_logger("tools.checkpoints")
_ID_LENGTH = 15
_SECONDS = 120.0
# A turn goes on without a checkpoint rather than wait longer for another process.
_LOCK_SECONDS = 30.0
_CLEAR_SECONDS = 1800.0
_POLL = 0.05
# A repository may take as much as so many checkpoints of the largest size.
_SIZES_KEPT = 10


@dataclass(frozen=True)
class Undo:
    """What an undo did; `to` is the checkpoint that it went back to, None when there was none."""

    to: Checkpoint | None
    done: Restored


class Checkpoints:
    """The checkpoints below one home. Thread-safe, and safe between processes."""

    def __init__(
        self,
        home: Path,
        agents: Mapping[str, AgentConfig],
        workspace: Callable[[str], Path],
    ) -> None:
        """Take the home, the agents as configured, and where the workspace of each is."""
        self._folder = home / "checkpoints"
        self._agents = agents
        self._workspace = workspace

    def enabled(self, agent: str) -> bool:
        """Whether this agent's workspace gets any: not where its changes happen elsewhere."""
        settings = self._settings(agent)
        return settings.checkpoints and settings.sandbox != "ssh"

    def before(self, agent: str, label: Label, interrupt: Interrupt) -> None:
        """Make the checkpoint of a turn, once.

        One that cannot be made is logged and told by `problem`; the turn goes on. Raises
        Interrupted alone.
        """
        try:
            with self._opened(agent, interrupt) as shadow:
                if not any(one.id == label.id for one in shadow.all()):
                    shadow.keep(label, shadow.stage(self._limit(agent)))
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the turn goes on
            reason = str(error) if isinstance(error, NoCheckpoint) else f"{error!r}"
            _log.warning("no checkpoint", agent=agent, turn=label.turn, reason=reason)
            self._note(agent, label, reason)
        else:
            self._file(agent, "problem").unlink(missing_ok=True)

    def problem(self, agent: str) -> str | None:
        """Return why the newest turn that asked for a checkpoint has none, None when it has."""
        try:
            said = json.loads(self._file(agent, "problem").read_text("utf-8"))
            at = time.strftime("%Y-%m-%d %H:%M", time.localtime(said["at"]))
            return f"no checkpoint since {at}: {said['reason']}"
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def all(self, agent: str) -> list[Checkpoint]:
        """Return an agent's checkpoints, the newest first. Raises NoCheckpoint."""
        if not self._repository(agent).exists():
            return []
        with self._opened(agent) as shadow:
            return shadow.all()

    def preview(self, agent: str, written: str, path: str | None = None) -> tuple[Checkpoint, str]:
        """Return the checkpoint of an id and the statistics of what restoring it would change.

        Raises NotFound, Invalid, NoCheckpoint.
        """
        with self._opened(agent) as shadow:
            target = _chosen(shadow.all(), written)
            now = shadow.stage(self._limit(agent))
            return target, shadow.stat(now, target.tree, self._inside(agent, path))

    def rollback(self, agent: str, written: str, path: str | None = None) -> Restored:
        """Bring the workspace, or one path, back. What stood there is a checkpoint of its own.

        Raises NotFound, Invalid, NoCheckpoint.
        """
        with self._opened(agent) as shadow:
            target = _chosen(shadow.all(), written)
            now = shadow.stage(self._limit(agent))
            shadow.keep(Label(_new_id(), Kind.ROLLBACK, restored=target.id), now)
            return restore(shadow, now, target.tree, self._inside(agent, path))

    def undo(self, agent: str, label: Label, interrupt: Interrupt) -> Undo:
        """Bring the workspace back to before the conversation's latest turn that changed it.

        Repeated, it goes further back. The label's id makes it one: run again, an undo that was cut
        short goes to the same checkpoint. Raises NoCheckpoint, Interrupted.
        """
        with self._opened(agent, interrupt) as shadow:
            found = shadow.all()
            now = shadow.stage(self._limit(agent))
            begun = next((one for one in found if one.id == label.id), None)
            if begun is not None:
                target = next((o for o in found if o.id == begun.label.restored), None)
            else:
                target = _before_latest(found, label.conversation, now)
                if target is not None:
                    shadow.keep(replace(label, restored=target.id), now)
            if target is None:
                return Undo(None, Restored(""))
            # All that it changed, also when a part was done before it was cut short.
            first = begun.tree if begun is not None else now
            done = restore(shadow, now, target.tree)
            return Undo(target, replace(done, stat=shadow.stat(first, target.tree)))

    def clear(self, interrupt: Interrupt) -> int:
        """Remove what is old, of every agent; return how many checkpoints went."""
        gone = 0
        for path in sorted(self._folder.glob("*.git")):
            interrupt.check()
            agent = path.stem
            try:
                with self._opened(agent, interrupt, _CLEAR_SECONDS) as shadow:
                    gone += shadow.clear(self._limit(agent) * _SIZES_KEPT)
            except (NoCheckpoint, OSError) as error:
                _log.warning("checkpoints were not cleared", agent=agent, reason=str(error))
        return gone

    def _settings(self, agent: str) -> AgentConfig:
        return self._agents.get(agent, AgentConfig())

    def _limit(self, agent: str) -> int:
        return self._settings(agent).checkpoint_max_mb * 1_000_000

    def _repository(self, agent: str) -> Path:
        return self._file(agent, "git")

    def _file(self, agent: str, kind: str) -> Path:
        return self._folder / f"{agent}.{kind}"

    def _inside(self, agent: str, path: str | None) -> str | None:
        names = inside(path, self._workspace(agent)) if path is not None else ()
        return "/".join(names) or None

    def _note(self, agent: str, label: Label, reason: str) -> None:
        said = {"at": time.time(), "turn": label.turn, "reason": reason}
        try:
            self._folder.mkdir(mode=0o711, parents=True, exist_ok=True)
            self._file(agent, "problem").write_text(json.dumps(said), "utf-8")
        except OSError as error:
            _log.warning("the problem could not be noted", agent=agent, reason=str(error))

    @contextmanager
    def _opened(
        self, agent: str, interrupt: Interrupt | None = None, seconds: float = _SECONDS
    ) -> Iterator[Shadow]:
        """Hold the repository's lock; others wait for it for a while."""
        interrupt = interrupt or Interrupt()
        now = time.monotonic()
        until, patience = now + seconds, now + min(seconds, _LOCK_SECONDS)
        self._folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        workspace = self._workspace(agent)
        prepare_workspace(workspace)
        lock = os.open(self._file(agent, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not _locked(lock):
                interrupt.wait(_POLL)
                interrupt.check()
                if time.monotonic() > patience:
                    raise NoCheckpoint("another process works on the checkpoints")
            repository = self._repository(agent).resolve()
            yield Shadow(Git(repository, workspace.resolve(), lock, until, interrupt))
        finally:
            os.close(lock)


def turn_id(turn: str) -> str:
    """Return the id of the checkpoint before a turn, the same each time the turn is run."""
    return derive("cp", turn)[:_ID_LENGTH]


def undo_id(job: str) -> str:
    """Return the id of the checkpoint that an undo makes."""
    return derive("cp", "undo", job)[:_ID_LENGTH]


def _new_id() -> str:
    return random_id("cp")[:_ID_LENGTH]


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _chosen(found: Sequence[Checkpoint], written: str) -> Checkpoint:
    """Return the checkpoint of an id, or of its beginning."""
    exact = [one for one in found if one.id == written]
    begun = exact or [one for one in found if written and one.id.startswith(written)]
    if not begun:
        raise NotFound(f"there is no checkpoint {written!r}; `habakkuk checkpoints` lists them")
    if len(begun) > 1:
        raise Invalid(f"{written!r} begins the ids of {len(begun)} checkpoints; write more of it")
    return begun[0]


def _before_latest(found: Sequence[Checkpoint], conversation: str, now: str) -> Checkpoint | None:
    """Return the newest checkpoint of a conversation's turns from which the files differ.

    An undo takes what it undid out of the row: the next one goes on below it.
    """
    own = [one for one in found if one.label.conversation == conversation]
    below: float | None = None
    for one in own:
        if below is not None and one.at >= below:
            continue
        if one.label.kind is Kind.UNDO:
            target = next((o for o in found if o.id == one.label.restored), None)
            below = target.at if target is not None else one.at
        elif one.label.kind is Kind.TURN and one.tree != now:
            return one
    return None
