from __future__ import annotations

import pytest

from tests.integration.auth.browser import Browser
from tests.integration.web.served import Served


@pytest.fixture
def browser(served: Served) -> Browser:
    """A browser that has never been here."""
    return Browser(served)
