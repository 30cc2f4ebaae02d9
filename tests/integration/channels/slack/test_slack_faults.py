"""A fault of ours while an envelope is taken: it is said, and the envelope comes again (K12)."""

from __future__ import annotations

from habakkuk.channels.messages import Event
from tests.fakes.listening import Desk
from tests.fakes.slack_server import SlackServer
from tests.fakes.stack import until
from tests.integration.channels.slack.parts import app, listening


class _Failing(Desk):
    def take(self, event: Event, cursor: object) -> None:
        raise TypeError("a fault of ours")


def test_a_fault_ends_the_run_and_the_envelope_comes_again(slack: SlackServer) -> None:
    """The SDK keeps what its middleware raises to itself: nobody would ever know."""
    running = listening(app(slack), _Failing())
    until(lambda: slack.socket.lines)
    slack.says("one")
    until(lambda: running.ended is not None)
    assert isinstance(running.end(), TypeError)
    assert slack.socket.brought == []
    again = listening(app(slack))
    until(lambda: again.desk.texts == ["one"])
    again.stop()
