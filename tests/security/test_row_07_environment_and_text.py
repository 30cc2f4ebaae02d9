"""Row 7: proxies of the environment, and characters that readers of an address see differently."""

from __future__ import annotations

import pytest

from habakkuk.core.fetch import checked_url
from habakkuk.core.http import HttpRefused, Limits
from habakkuk.core.interrupt import Interrupt
from tests.fakes.pages import PUBLIC, FakeNetwork, PageServer, response
from tests.security import targets


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_a_proxy_of_the_environment_is_not_used(
    name: str, network: FakeNetwork, pages: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9/")
    network.names["good.example"] = [[PUBLIC]]
    pages.answers["/"] = response(b"direct")
    assert network.web().get("http://good.example/", Limits(), Interrupt()).body == b"direct"
    assert network.connected == [PUBLIC]


# This one is only seen to be wrong when it is looked up: the corpus proves it unreachable.
_LOOKED_UP = {"http://" + "a" * 300 + ".example/"}


def _understood(url: str) -> bool:
    try:
        checked_url(url)
    except HttpRefused:
        return False
    return True


def test_what_can_be_misread_is_refused_unread() -> None:
    assert {url for url in targets.MALFORMED if _understood(url)} == _LOOKED_UP


def test_ordinary_addresses_are_understood() -> None:
    assert [url for url in targets.ORDINARY if not _understood(url)] == []


@pytest.mark.parametrize("name", targets.LOCAL_NAMES)
def test_names_of_this_machine_are_not_even_looked_up(name: str, network: FakeNetwork) -> None:
    with pytest.raises(HttpRefused):
        network.web().get(f"http://{name}/", Limits(), Interrupt())
    assert network.asked == []
