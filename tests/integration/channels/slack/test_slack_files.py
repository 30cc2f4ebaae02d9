"""Files to and from Slack by the real SDK."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import partial

import pytest

from habakkuk.channels.contract import Bounds, NotFetched, NotSent, OutcomeUnknown
from habakkuk.channels.messages import OutboundFile, OutboundMessage, RemoteFile
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from tests.fakes.platform import DROP_AFTER
from tests.fakes.slack_server import TEAM, Refusal, SlackServer
from tests.fakes.watched import Watched
from tests.integration.channels.slack.parts import app

_MESSAGE = OutboundMessage("key1", "D1", "", "hello", "answer", reply_to=f"{TEAM}:D1:5.1")
_THREAD = "1515449522.000016"


def _file(body: bytes, name: str = "report.pdf") -> OutboundFile:
    return OutboundFile(name, "application/pdf", len(body), partial(io.BytesIO, body))


def test_a_file_is_brought_and_shown_where_it_belongs(slack: SlackServer) -> None:
    message = replace(_MESSAGE, thread=_THREAD, text="here & <now>", file=_file(b"%PDF-1"))
    app(slack).send(message)
    (shown,) = slack.shown
    assert (shown.chat, shown.thread, shown.text) == ("D1", _THREAD, "here & <now>")
    (file,) = shown.files
    assert (file["title"], slack.contents[file["id"]]) == ("report.pdf", b"%PDF-1")


def test_a_file_that_was_not_shown_can_be_brought_again(slack: SlackServer) -> None:
    slack.refusals["files.getUploadURLExternal"].append(Refusal("internal_error"))
    message = replace(_MESSAGE, text="", file=_file(b"%PDF-1"))
    with pytest.raises(NotSent) as caught:
        app(slack).send(message)
    assert caught.value.retryable


def test_a_file_of_which_nobody_knows_is_looked_for(slack: SlackServer) -> None:
    message = replace(_MESSAGE, text="", file=_file(b"%PDF-1"))
    assert app(slack).find(message) is None
    slack.plans.append(DROP_AFTER)
    with pytest.raises(OutcomeUnknown):
        app(slack).send(message)
    found = app(slack).find(message)
    assert found is not None
    assert found.id == f"{TEAM}:D1:{slack.shown[0].ts}"


def test_another_file_of_the_same_name_and_size_is_another(slack: SlackServer) -> None:
    """Else the second would never be sent."""
    app(slack).send(replace(_MESSAGE, text="", file=_file(b"%PDF-1")))
    other = replace(_MESSAGE, key="key2", text="", file=_file(b"%PDF-2"))
    assert app(slack).find(other) is None


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("report.pdf", r"report-[0-9a-f]{12}\.pdf"),
        ("Makefile", r"Makefile-[0-9a-f]{12}"),
        (".env", r"\.env-[0-9a-f]{12}"),
        ("a.tar.gz", r"a\.tar-[0-9a-f]{12}\.gz"),
    ],
)
def test_a_file_keeps_its_title_and_its_ending(slack: SlackServer, name: str, told: str) -> None:
    app(slack).send(replace(_MESSAGE, file=_file(b"x", name)))
    (file,) = slack.shown[0].files
    assert file["title"] == name
    assert re.fullmatch(told, file["name"])


def test_a_large_file_is_read_while_it_is_sent(slack: SlackServer) -> None:
    body = Watched(bytes(1_000_000))
    file = OutboundFile("a.bin", "application/pdf", 1_000_000, lambda: body)
    app(slack).send(replace(_MESSAGE, file=file))
    assert max(body.asked) <= 65_536
    assert body.closed


def test_a_stopped_fetch_asks_nothing(slack: SlackServer) -> None:
    interrupt = Interrupt()
    interrupt.trip(Reason.CANCELLED)
    with pytest.raises(Interrupted):
        list(app(slack).fetch(_kept(slack, b"x"), Bounds(1000, interrupt)))


def _kept(slack: SlackServer, body: bytes, mime: str = "application/pdf") -> RemoteFile:
    slack.files["F7"] = {"id": "F7", "name": "a.pdf", "size": len(body), "mimetype": mime}
    slack.contents["F7"] = body
    return RemoteFile("a.pdf", "application/pdf", len(body), {"id": "F7"})


def test_a_file_that_came_is_fetched_with_the_token(slack: SlackServer) -> None:
    body = b"x" * 200_000
    assert b"".join(app(slack).fetch(_kept(slack, body), Bounds(10**6))) == body


@pytest.mark.parametrize("told", [True, False])
def test_a_file_that_is_longer_than_allowed_is_not_fetched(slack: SlackServer, told: bool) -> None:
    file = _kept(slack, b"x" * 1001)
    with pytest.raises(NotFetched, match="more than 1,000 bytes"):
        list(app(slack).fetch(file if told else replace(file, size=None), Bounds(1000)))
    assert bool(slack.called("files.info")) is not told


def test_a_page_in_place_of_a_file_names_the_scope(slack: SlackServer) -> None:
    with pytest.raises(NotFetched, match="files:read"):
        list(app(slack).fetch(_kept(slack, b"<html>", "text/html"), Bounds(1000)))


def test_a_file_elsewhere_is_not_fetched_with_the_token(slack: SlackServer) -> None:
    file = _kept(slack, b"x")
    slack.files["F7"]["url_private_download"] = "http://127.0.0.1:1/x"
    with pytest.raises(NotFetched, match="does not lie at Slack") as caught:
        list(app(slack).fetch(file, Bounds(1000)))
    assert not caught.value.retryable


def test_a_file_that_is_gone_is_not_fetched(slack: SlackServer) -> None:
    with pytest.raises(NotFetched, match="file_not_found"):
        list(app(slack).fetch(RemoteFile("a", "", 1, {"id": "F9"}), Bounds(1000)))
