"""What a server does not give out holds nothing up; what nobody wants is not fetched (case: K8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from habakkuk.channels.email.adapter import EmailAdapter
from habakkuk.channels.email.poller import EmailPoller
from habakkuk.channels.messages import InboundMessage
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupted
from tests.fakes.dovecot_server import Dovecot, dovecot
from tests.fakes.imap_between import Between
from tests.fakes.letters import letter
from tests.fakes.listening import Desk, Running
from tests.fakes.stack import until

Mail = Callable[..., EmailAdapter]
_LONG = "word " * 200_000


class Listening:
    """A poller that is started again whenever it ends by itself, as the supervisor does."""

    def __init__(self, adapter: EmailAdapter, desk: Desk, **settings: float) -> None:
        self.desk = desk
        self.runs = 0
        self._adapter, self._settings = adapter, settings
        self._running = self._made()

    def until(self, done: Callable[[], bool]) -> None:
        """Go on until something is so."""
        until(lambda: self._revived() or done())

    def stop(self) -> None:
        """End it."""
        assert isinstance(self._running.stop(), Interrupted | ChannelError)

    def _revived(self) -> bool:
        if self._running.ended is not None:
            assert isinstance(self._running.ended, ChannelError)
            self.runs += 1
            self._running = self._made()
        return False

    def _made(self) -> Running:
        return Running(EmailPoller(self._adapter), self.desk, **self._settings)


@pytest.fixture(scope="module", params=["disconnect-immediately", "no-after"])
def failing(request: pytest.FixtureRequest) -> Iterator[Dovecot]:
    """Servers that end the line at a mail that they cannot read, or answer NO to its fetch."""
    with dovecot(failing=request.param) as server:
        yield server


@pytest.fixture
def listen(mail: Mail) -> Iterator[Callable[..., Listening]]:
    """Start to listen, at a mailbox in which nothing was read."""
    started: list[Listening] = []

    def make(server: Dovecot, mailbox: str, desk: Desk, **settings: float) -> Listening:
        adapter = mail(imap_port=server.port, mailbox=mailbox, read_old=True)
        started.append(Listening(adapter, desk, **settings))
        return started[-1]

    yield make
    for one in started:
        one.stop()


def _broken(server: Dovecot, mailbox: str, *numbers: int, of: int) -> list[Path]:
    """Fill a mailbox with mails of which the server cannot read some."""
    server.make(mailbox)
    uids = server.deliver(mailbox, *(letter(f"m{n}") for n in range(of)))
    return [server.break_mail(mailbox, uids[number]) for number in numbers]


def test_a_mail_that_the_server_cannot_read_holds_nothing_up(
    failing: Dovecot, listen: Callable[..., Listening]
) -> None:
    _broken(failing, "one", 1, of=4)
    desk = Desk()
    listening = listen(failing, "one", desk)
    listening.until(lambda: desk.texts == ["m0", "m2", "m3"])
    failing.deliver("one", letter("later"))
    listening.until(lambda: desk.texts[-1] == "later")
    assert desk.place is not None
    assert list(desk.place["aside"]) == ["2"]
    assert listening.runs <= 4


def test_it_is_read_when_the_server_can_again(
    failing: Dovecot, listen: Callable[..., Listening]
) -> None:
    (path,) = _broken(failing, "two", 0, of=2)
    desk = Desk()
    listening = listen(failing, "two", desk, again_seconds=0.001, idle_seconds=0.05)
    listening.until(lambda: desk.texts == ["m1"])
    path.chmod(0o644)
    listening.until(lambda: desk.texts == ["m1", "m0"])
    assert desk.place is not None
    assert "aside" not in desk.place


def test_in_the_end_it_is_given_up(
    failing: Dovecot, listen: Callable[..., Listening], capsys: pytest.CaptureFixture[str]
) -> None:
    _broken(failing, "three", 0, of=2)
    desk = Desk()
    listening = listen(failing, "three", desk, again_seconds=0.001, idle_seconds=0.05)
    listening.until(lambda: desk.texts == ["m1"])
    listening.until(lambda: desk.place is not None and "aside" not in desk.place)
    assert "a mail is passed over: the server never gave it out" in capsys.readouterr().err


def test_a_mail_that_the_server_cannot_read_anew_is_no_end_of_new_numbers(
    failing: Dovecot, listen: Callable[..., Listening]
) -> None:
    """A mailbox is given new numbers when it is repaired: then what was lost may be there."""
    (path,) = _broken(failing, "four", 1, of=3)
    desk = Desk()
    listening = listen(failing, "four", desk)
    listening.until(lambda: desk.texts == ["m0", "m2"])
    listening.stop()
    path.chmod(0o644)
    failing.make_anew("four")
    again = listen(failing, "four", desk)
    again.until(lambda: "m1" in desk.texts)
    failing.deliver("four", letter("later"))
    again.until(lambda: desk.texts[-1] == "later")
    assert desk.place is not None
    assert not {"aside", "until"} & set(desk.place)


@pytest.fixture
def between(imap: Dovecot) -> Iterator[Between]:
    """A way to the server on which mails can be left out of its answers."""
    with Between(imap.port) as made:
        yield made


@pytest.mark.parametrize("what", ["hidden", "headers_only"])
def test_a_mail_that_is_left_out_of_an_answer_is_set_aside_and_read_later(
    imap: Dovecot, mailbox: str, between: Between, mail: Mail, what: str
) -> None:
    """OK at the end of an answer does not say that all of it was there."""
    uids = imap.deliver(mailbox, *(letter(f"m{n}") for n in range(3)))
    getattr(between, what).add(uids[1])
    desk = Desk()
    listening = Listening(
        mail(imap_port=between.port, read_old=True), desk, again_seconds=0.1, idle_seconds=0.05
    )
    listening.until(lambda: desk.texts == ["m0", "m2"])
    listening.until(lambda: desk.place is not None and str(uids[1]) in desk.place.get("aside", {}))
    getattr(between, what).clear()
    listening.until(lambda: desk.texts == ["m0", "m2", "m1"])
    listening.until(lambda: desk.place is not None and "aside" not in desk.place)
    assert listening.runs == 0
    listening.stop()


def test_nothing_of_strangers_and_programs_is_fetched(
    listen: Callable[..., Listening],
) -> None:
    with dovecot() as server:
        server.make("five")
        server.deliver(
            "five",
            letter(_LONG, "eve@example.net"),
            letter(_LONG, Auto_Submitted="auto-replied"),
            letter(_LONG, "hab@example.org"),
            letter(_LONG, proven=False),
            letter("hello"),
        )
        desk = Desk()
        desk.strangers.add("eve@example.net")
        listening = listen(server, "five", desk)
        listening.until(lambda: desk.texts == ["hello"])
        listening.stop()
        until(lambda: server.fetched() > 0)
        assert server.fetched() < 10_000
        (stranger, *_) = desk.turned_away
        assert isinstance(stranger, InboundMessage)
        assert (stranger.sender, stranger.text) == ("eve@example.net", "")


def test_of_a_mail_that_is_too_large_the_text_alone_is_fetched(
    listen: Callable[..., Listening],
) -> None:
    """No file of more than 25 MB is taken, so no mail of much more need be downloaded."""
    head, _, _ = letter().partition(b"MIME-Version")
    mail = head + (
        b'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n'
        b"--b\r\n\r\nlook at this\r\n"
        b"--b\r\nContent-Type: application/zip\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        + (b"A" * 76 + b"\r\n") * 540_000
        + b"--b--\r\n"
    )
    with dovecot() as server:
        server.make("six")
        server.deliver("six", mail, letter("hello"))
        desk = Desk()
        listening = listen(server, "six", desk)
        listening.until(lambda: len(desk.texts) == 2)
        listening.stop()
        until(lambda: server.fetched() > 0)
        assert server.fetched() < 3_000_000
    (large, _) = desk.messages
    assert (large.text, large.files) == ("look at this", ())
    assert large.unread == ("the files of a mail that is too large",)
