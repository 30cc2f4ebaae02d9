"""What a reply quotes is left out, and nothing that somebody wrote is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from habakkuk.channels.email.quotes import without_quotes

_OLD = "> old words\n> and more\n"


@pytest.mark.parametrize(
    "words",
    [
        "On Mon, 1 Jan 2024 at 10:00, Alice <a@example.com> wrote:",
        "On Mon, 1 Jan 2024 at 10:00, Alice Liddell of Wonderland\n<a@example.com> wrote:",
        "Am 01.01.2024 um 10:00 schrieb Alice <a@example.com>:",
        "Am Mo., 1. Jan. 2024 um 10:00 Uhr schrieb Alice <\na@example.com>:",
        "Le lun. 1 janv. 2024 à 10:00, Alice <a@example.com> a écrit :",
        "El lun, 1 ene 2024 a las 10:00, Alice (<a@example.com>) escribió:",
        "Il giorno lun 1 gen 2024 alle ore 10:00 Alice <a@example.com> ha scritto:",
        "Em seg., 1 de jan. de 2024 às 10:00, Alice <a@example.com> escreveu:",
        "Op ma 1 jan 2024 om 10:00 schreef Alice <a@example.com>:",
        "Den mån 1 jan. 2024 kl 10:00 skrev Alice <a@example.com>:",
        "пн, 1 янв. 2024 г. в 10:00, Alice <a@example.com> написала:",
        "pon., 1 sty 2024 o 10:00 Alice <a@example.com> napisał(a):",
        "Alice <a@example.com>, 1 Oca 2024 Pzt, 10:00 tarihinde şunu yazdı:",
        "Alice <a@example.com> 于2024年1月1日周一 10:00写道：",
        "2024年1月1日(月) 10:00 Alice <a@example.com>さんのメール:",
        "2024년 1월 1일 (월) 오전 10:00, Alice <a@example.com>님이 작성:",
        "",
    ],
)
def test_a_quote_below_goes_with_the_words_that_lead_to_it(words: str) -> None:
    assert without_quotes(f"my answer:\nyes\n\n{words}\n\n{_OLD}") == "my answer:\nyes"
    assert without_quotes(f"{words}\n{_OLD}\n\nyes") == "yes"


@pytest.mark.parametrize(
    "head",
    [
        "-----Original Message-----\nFrom: Alice",
        "-------- Ursprüngliche Nachricht --------\nVon: Alice",
        "________________________________\nFrom: Alice\nSent: Monday\nTo: Bob\nSubject: Tea",
        "Von: Alice\nGesendet: Montag\nAn: Bob\nBetreff: Tee",
        "*De :* Alice\n*Envoyé :* lundi\n*À :* Bob\n*Objet :* Thé",
        "发件人: Alice\n发送时间: 2024年1月1日\n收件人: Bob\n主题: 茶",
    ],
)
def test_a_mail_that_outlook_sets_below_goes(head: str) -> None:
    assert without_quotes(f"yes\n\n{head}\n\nold words\nand more") == "yes"


@pytest.mark.parametrize(
    "text",
    [
        "> their question\nmy answer\n> another\nmine, too",
        "> only what somebody else said",
        "see:\n\n> a line that I quote\n\nand what I think of it",
        "From: the desk of Alice\n\nI write:\nall of this",
        "a > b\n2 > 1",
        "Dear all,\n\nas I wrote: no.",
        "To: do\nFrom: scratch",
    ],
)
def test_what_somebody_wrote_stays(text: str) -> None:
    assert without_quotes(text) == text


def test_a_signature_goes() -> None:
    assert without_quotes("yes\n-- \nAlice\nWonderland Ltd") == "yes"
    assert without_quotes(f"yes\n-- \nAlice\n\nOn 1 Jan 2024 Bob <b@x.y> wrote:\n{_OLD}") == "yes"
    assert without_quotes("-- \nAlice") == "-- \nAlice"


@pytest.mark.parametrize(
    "words",
    [
        "Sent from my iPhone",
        "Von meinem iPhone gesendet",
        "Envoyé de mon iPhone",
        "Get Outlook for iOS (https://aka.ms/o0ukef)",
        "Sent from Outlook for Android",
        "发自我的iPhone",
    ],
)
def test_what_a_phone_adds_goes(words: str) -> None:
    """A yes to an approval is one word."""
    assert without_quotes(f"yes\n\n{words}") == "yes"
    assert without_quotes(f"yes\n\n{words}\n\nOn 1 Jan 2024 Bob <b@x.y> wrote:\n{_OLD}") == "yes"


def test_a_forwarded_mail_stays() -> None:
    text = "see\n\n-----Original Message-----\nFrom: Bob\nSent: x\nTo: y\nSubject: z\n\n> old"
    assert without_quotes(text, forwarded=True) == text


_LINE = st.sampled_from(
    [
        "yes",
        "",
        "> old",
        ">",
        "On 1 Jan 2024 a@b wrote:",
        "-- ",
        "From: a",
        "To: b",
        "Subject: c",
        "  ",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_LINE, max_size=14))
def test_something_is_always_left_of_something(lines: list[str]) -> None:
    text = "\n".join(lines)
    said = without_quotes(text)
    assert bool(said) == bool(text.strip())
    assert set(said.split("\n")) <= {line.strip() for line in [*lines, ""]} | set(lines)


def test_a_mail_of_nothing_but_quotes_is_read_line_by_line() -> None:
    """Looking at all of them for each would stand still for hours: anybody can send such a mail."""
    assert without_quotes("yes\n\n" + "> old\n" * 200_000) == "yes"


def test_a_long_line_is_text_whatever_it_ends_in() -> None:
    said = f"{'word ' * 80}and so he wrote:"
    assert without_quotes(f"{said}\nthe end") == f"{said}\nthe end"
