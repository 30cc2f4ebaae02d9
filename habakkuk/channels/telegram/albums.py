"""Albums in groups: several messages, of which one alone has the words that say whom it means.

Telegram tells of them one after the other, and nowhere how many there are. So what is known is kept
by the process that reads them, for as long as so many other albums come.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

_MOST = 1000


class Albums:
    """The albums that were meant for one bot. Thread-safe."""

    def __init__(self) -> None:
        """Know none."""
        self._lock = threading.Lock()
        self._meant: OrderedDict[tuple[int, int, str], None] = OrderedDict()

    def addressed(self, album: tuple[int, int, str], *, named: bool) -> bool:
        """Say whether a part of an album (chat, sender, group id) is for the bot.

        `named`: its own words say so, which then counts for the parts that follow.
        """
        with self._lock:
            if named:
                self._meant[album] = None
                self._meant.move_to_end(album)
                if len(self._meant) > _MOST:
                    self._meant.popitem(last=False)
            return album in self._meant
