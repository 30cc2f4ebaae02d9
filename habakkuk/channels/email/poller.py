"""What is written to a mailbox, fetched in order and none of it twice (cases: K1, K6, K8, K60).

The number of the last mail is stored with what it said, in one transaction, and mails that are
nobody's are passed over together. A server that can is waited for (IDLE); others are asked.
"""

from __future__ import annotations

from typing import ClassVar

from habakkuk.channels.email.adapter import EmailAdapter
from habakkuk.channels.email.fetching import Fetching
from habakkuk.channels.email.imap import Mailbox, opened
from habakkuk.channels.polling import ChannelPoller, Door
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.log import get_logger

_log = get_logger("channels.email")
_NO_CHECKER = (
    "no mail is read: channels.{name}.trusted_authserv names no server that checks senders;"
    " habakkuk channels test {name} says what to write"
)


class EmailPoller(ChannelPoller):
    """Fetches from one mailbox."""

    # A line that is cut somewhere in between looks open for as long. RFC 2177 allows 29 minutes.
    idle_seconds = 300.0
    # How often a server is asked that cannot be waited for.
    ask_seconds = 30.0
    # When a mail is asked for again that the server did not give out; each time twice as late.
    again_seconds = 300.0
    silence: ClassVar[float] = 420.0

    adapter: EmailAdapter

    def run(self, door: Door, interrupt: Interrupt) -> None:
        """Fetch until it fails or is interrupted."""
        adapter = self.adapter
        if adapter.settings.check_sender and adapter.settings.checker is None:
            _log.error(_NO_CHECKER.format(name=adapter.account.name))
        with opened(adapter.settings, adapter.password, interrupt) as box:
            door.alive()
            fetching = Fetching(box, door, interrupt, adapter.reader, adapter.identity)
            fetching.begin(read_old=adapter.settings.read_old)
            while True:
                interrupt.check()
                fetching.all(self.again_seconds)
                self._wait(box, interrupt)

    def _wait(self, box: Mailbox, interrupt: Interrupt) -> None:
        if box.waits:
            box.wait(self.idle_seconds)
        else:
            interrupt.wait(self.ask_seconds)
            interrupt.check()
            box.ask()
