"""The end of a process as a turn of the session that started it, exactly once.

The row says that an end is to be told until the turn is admitted; the turn's id comes from the
process's, so that admitting it again after a crash changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from habakkuk.accounts.types import Role, User
from habakkuk.conversations.types import TARGET, Address, Target
from habakkuk.core.errors import Unavailable, UserError
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.log import get_logger
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.gateway.types import Inbound
from habakkuk.processes import store
from habakkuk.processes.store import Untold
from habakkuk.processes.types import Process
from habakkuk.processes.words import notice

_log = get_logger("keeper.notices")
ORIGIN = "process"
_AT_ONCE = 50
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
_ENOUGH = (
    "The agent was not told: {most} turns in a row came of such ends, and nobody has written since."
    " Write to it to go on."
)


@dataclass(frozen=True)
class Door:
    """How ends are told: `admit` starts a turn, `note` only shows what it is given.

    `most` turns in a row come of ends while no person says anything: an agent that starts another
    process in each of them would never be done.
    """

    admit: Callable[[Inbound], object]
    note: Callable[[Inbound, str], object]
    most: int


class Notices:
    """Tells the ends that are to be told. For one thread."""

    def __init__(self, database: Database, door: Door, failpoints: Failpoints) -> None:
        """Take the one door of this process."""
        self._database = database
        self._door = door
        self._failpoints = failpoints
        # Of those that could not be told: when to try again, and how long to wait after that.
        self._again: dict[str, tuple[float, float]] = {}

    def tell(self) -> None:
        """Tell every end that is due; one that cannot be told holds up no other."""
        while True:
            now = time.monotonic()
            resting = [each for each, (later, _) in self._again.items() if now < later]
            due = store.untold(self._database, _AT_ONCE, resting)
            for item in due:
                self._try(item)
            if len(due) < _AT_ONCE:
                known = {*resting, *(item.process.id for item in due)}
                self._again = {one: when for one, when in self._again.items() if one in known}
                return

    def _try(self, item: Untold) -> None:
        _, pause = self._again.get(item.process.id, (0.0, _FIRST_PAUSE))
        try:
            self._tell(item)
            self._again.pop(item.process.id, None)
        except DatabaseAway:
            raise
        except Exception:  # noqa: BLE001 - one that fails for ever must not hold up the others
            _log.exception("the end of a process cannot be told", process=item.process.id)
            longer = min(pause * 2, _LONGEST_PAUSE)
            self._again[item.process.id] = (time.monotonic() + pause, longer)

    def _tell(self, item: Untold) -> None:
        inbound = _inbound(item)
        if inbound is None:
            _log.info("nobody is left to hear of a process", process=item.process.id)
        else:
            try:
                self._pass(inbound, item.process)
            except Unavailable:
                raise
            except UserError as error:
                # The session was removed, or nothing can take it: the same again would be, too.
                _log.warning("an end is not told", process=item.process.id, reason=str(error))
        self._failpoints.hit("process.notice.after")
        store.told(self._database, item.process.id)

    def _pass(self, inbound: Inbound, process: Process) -> None:
        """Let an end start a turn, or only show it when too many of them did."""
        if store.in_a_row(self._database, process.session_id, ORIGIN) < self._door.most:
            self._door.admit(inbound)
            return
        _log.warning("an end starts no turn: too many in a row did", process=process.id)
        said = _ENOUGH.format(most=self._door.most)
        self._door.note(replace(inbound, text=f"{inbound.text}\n{said}"), process.turn_id)


def _inbound(item: Untold) -> Inbound | None:
    """Return the notice as a message of the turn's own conversation; None when that is gone."""
    if item.where is None or item.who is None:
        return None
    user_id, name, role = item.who
    target = item.reply_to.get(TARGET)
    return Inbound(
        address=Address(*item.where),
        user=User(user_id, name, Role(role)),
        text=notice(item.process),
        origin=ORIGIN,
        remote_id=f"process:{item.process.id}",
        session_id=item.process.session_id,
        commands=False,
        attended=bool(item.reply_to.get("attended")),
        target=Target(**target) if target else None,
        event=True,
    )
