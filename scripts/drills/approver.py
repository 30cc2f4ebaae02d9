"""A person who allows whatever is asked, while processes die around the questions."""

from __future__ import annotations

import threading

from scripts.harness.http import Api, Cut

_PAUSE_SECONDS = 0.1
_OK = 200


class Approver:
    """Answers every open approval with "once", from a thread of its own."""

    def __init__(self, api: Api) -> None:
        """Use the token of the drill, which may answer."""
        self._api = api
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="approver", daemon=True)
        self.allowed = 0

    def __enter__(self) -> Approver:
        """Begin to answer."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Answer no more."""
        self._stop.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._stop.wait(_PAUSE_SECONDS):
            try:
                self._answer_all()
            except Cut:
                continue

    def _answer_all(self) -> None:
        found = self._api.get("/api/approvals", timeout=10)
        if found.status != _OK:
            return
        for one in found.body["approvals"]:
            answered = self._api.post(f"/api/approvals/{one['id']}", {"answer": "once"}, timeout=10)
            self.allowed += answered.status == _OK
