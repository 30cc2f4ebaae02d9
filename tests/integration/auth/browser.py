"""What a browser sends by itself: cookies, its origin, and its page's CSRF token."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import httpx2

from habakkuk.accounts.types import User
from tests.integration.web.served import Served

_META = re.compile(r'<meta name="csrf-token" content="([^"]*)">')


@dataclass
class Browser:
    """One browser at one server."""

    served: Served
    client: httpx2.Client = field(init=False)
    csrf: str = ""

    def __post_init__(self) -> None:
        self.client = self.served.new_client(None)

    @property
    def origin(self) -> dict[str, str]:
        return {"Origin": self.served.base_url}

    def open(self, path: str, **headers: str) -> httpx2.Response:
        """Go to a page, and remember its CSRF token."""
        answer = self.client.get(path, headers={"Accept": "text/html", **headers})
        found = _META.search(answer.text)
        self.csrf = found[1] if found else ""
        return answer

    def post(self, path: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
        """Send what a script of an open page sends; a header set to "" is left out."""
        sent = {**self.origin, "X-CSRF-Token": self.csrf} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        kept = {name: value for name, value in sent.items() if value}
        return self.client.post(path, json=body, headers=kept)

    def follow(self, secret: str) -> httpx2.Response:
        """Do what the login page's script does with the secret of a link."""
        return self.post("/api/login/link", {"secret": secret})

    def sign_in(self, user: User | None = None) -> None:
        """Sign in by a link, as the owner unless told, and open the first page."""
        parts = self.served.stack.container
        link = parts.logins.make_link(user or parts.accounts.owner())
        assert self.follow(link).status_code == 200
        assert self.open("/").status_code == 200
        assert self.csrf
