from __future__ import annotations

import pytest

from web.auth.views import local_address


@pytest.mark.parametrize("address", ["/", "/c/x", "/jobs?state=failed&x=%2F", "/c/ä"])
def test_addresses_of_this_server_are_kept(address: str) -> None:
    assert local_address(address) == address


@pytest.mark.parametrize(
    "address",
    ["", "c", "//e.example", "/\\e.example", "/\t/e", "/a b", "http://e", "/a\x00", "/a\\b"],
)
def test_what_leads_elsewhere_leads_to_the_first_page(address: str) -> None:
    assert local_address(address) == "/"
