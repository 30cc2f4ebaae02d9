"""Tell hooks what happens, and ask those that may forbid it (seed, Hooks)."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from habakkuk.core.config.schema import HookConfig
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.log import get_logger
from habakkuk.core.text import clean
from habakkuk.hooks import command
from habakkuk.hooks.types import Happening, HookEvent

_log = get_logger("hooks")
# What waits to be told. More is dropped, with a line in the log: a slow hook holds nothing up.
_MOST_WAITING = 1_000
_TELLERS = 4


@dataclass(frozen=True)
class Forbidden:
    """Why a hook forbids something, for the model."""

    reason: str


class Hooks:
    """The hooks of one process. Thread-safe. Without any, everything is a look into a dict."""

    def __init__(
        self,
        hooks: Sequence[HookConfig],
        process: Mapping[str, str],
        home: Path,
        *,
        niceness: int = 0,
    ) -> None:
        """Take the config's hooks, this process's environment, of which they get a little.

        Their commands step back by `niceness` at least, also where their process does not.
        """
        self._by_event: dict[str, list[tuple[re.Pattern[str], HookConfig]]] = {}
        for hook in hooks:
            pattern = re.compile(hook.match or "")
            self._by_event.setdefault(hook.event, []).append((pattern, hook))
        inherited = {name: process[name] for name in command.INHERITED if name in process}
        self._variables = inherited | {"HABAKKUK_HOME": str(home)}
        self._home = home
        self._niceness = niceness
        self._waiting: queue.Queue[tuple[HookConfig, Happening]] = queue.Queue(_MOST_WAITING)
        self._lock = threading.Lock()
        self._tellers = 0

    def hear(self, event: HookEvent) -> bool:
        """Whether any hook hears of an event: what it costs to describe one is spared otherwise."""
        return str(event) in self._by_event

    def ask(self, happening: Happening, interrupt: Interrupt) -> Forbidden | None:
        """Return the first objection of the hooks, None when there is none.

        One that fails in any way objects: a guard that does not run guards nothing. Raises
        Interrupted.
        """
        for hook in self._of(happening):
            ran = self._run(hook, happening, interrupt)
            if ran.code == 0:
                continue
            why = ran.output or ran.trouble or f"it ended with code {ran.code}"
            _log.warning("a hook forbids", hook_event=str(happening.event), why=why)
            return Forbidden(clean(why))
        return None

    def tell(self, happening: Happening) -> None:
        """Run the hooks of what has happened, in the background; never waits, never raises."""
        for hook in self._of(happening):
            try:
                self._waiting.put_nowait((hook, happening))
            except queue.Full:
                _log.warning("too many hooks wait; one was dropped", command=hook.command)
                continue
            self._need_teller()

    def _of(self, happening: Happening) -> Iterator[HookConfig]:
        for pattern, hook in self._by_event.get(happening.event, ()):
            if pattern.search(happening.subject):
                yield hook

    def _need_teller(self) -> None:
        with self._lock:
            if self._tellers >= _TELLERS:
                return
            self._tellers += 1
        threading.Thread(target=self._tell_all, name="hooks", daemon=True).start()

    def _tell_all(self) -> None:
        """Run what waits, then end."""
        while True:
            with self._lock:
                try:
                    hook, happening = self._waiting.get_nowait()
                except queue.Empty:
                    # Under the lock, so that whoever puts one in sees either us or one less of us.
                    self._tellers -= 1
                    return
            self._tell_one(hook, happening)

    def _tell_one(self, hook: HookConfig, happening: Happening) -> None:
        try:
            ran = self._run(hook, happening)
        except Exception:  # noqa: BLE001 - the top of the thread, which is counted: it must go on
            _log.exception("a hook could not be run", hook_event=str(happening.event))
            return
        if ran.code != 0:
            why = ran.trouble or f"code {ran.code}"
            _log.warning("a hook failed", hook_event=str(happening.event), why=why)

    def _run(
        self, hook: HookConfig, happening: Happening, interrupt: Interrupt | None = None
    ) -> command.Ran:
        given = {"event": happening.event, "subject": happening.subject, **happening.data}
        variables = self._variables | {"HABAKKUK_EVENT": str(happening.event)}
        encoded = orjson.dumps(given, option=orjson.OPT_NON_STR_KEYS) + b"\n"
        program = command.program(hook.command, variables, self._home, self._niceness)
        return command.run(program, encoded, hook.timeout, interrupt)
