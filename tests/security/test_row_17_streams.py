"""Row 17: a page from elsewhere hears no stream, whoever is signed in."""

from __future__ import annotations

from tests.security.door import Browser

_ELSEWHERE = [
    {"Origin": "http://evil.example"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://localhost:3000"},
    {"Origin": "https://127.0.0.1"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
]


def test_no_other_page_hears_a_stream(browser: Browser) -> None:
    browser.sign_in()
    browser.post("/api/chat", {"conversation": "c", "text": "a secret"})
    for headers in _ELSEWHERE:
        answer = browser.client.get("/api/chat/c/events", headers=headers)
        assert answer.status_code == 403, headers
        assert "a secret" not in answer.text
        assert "Access-Control-Allow-Origin" not in answer.headers
