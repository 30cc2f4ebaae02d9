"""What `up` waits for: the service that keeps processes is one of it."""

from __future__ import annotations

import pytest

from habakkuk.ops import readiness
from habakkuk.ops.readiness import Readiness
from tests.fakes.stack import until
from tests.integration.processes.keeping import Keeping


def test_up_waits_for_the_service_that_keeps_processes(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "web_answers", lambda _: True)
    settings = keeping.stack.container.settings
    assert settings.database_url is not None
    ready = Readiness(settings, settings.database_url)
    assert ready.missing(set()) == []
    keeping.stop()
    until(lambda: ready.missing(set()) == ["processes"])
