"""How often Slack is asked for what was missed."""

from __future__ import annotations

from habakkuk.channels.slack.pace import Pace


def test_so_many_calls_are_made_in_any_minute() -> None:
    pace = Pace(most=3)
    moments: list[float] = []
    now = 1000.0
    for _ in range(8):
        now += pace.left(now)
        pace.called(now)
        moments.append(now)
        now += 1.0
    assert moments == [1000.0, 1001.0, 1002.0, 1060.0, 1061.0, 1062.0, 1120.0, 1121.0]


def test_a_wait_that_slack_asks_for_is_kept() -> None:
    pace = Pace()
    pace.hold(1000.0, 30.0)
    # A shorter one does not end it.
    pace.hold(1001.0, 5.0)
    assert (pace.left(1001.0), pace.left(1030.0)) == (29.0, 0.0)
