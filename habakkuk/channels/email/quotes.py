"""Cut what a reply quotes, and the signature: the agent knows the conversation already.

Where people answer between the quoted lines everything stays, since it would make no sense alone;
so does a text that nothing would be left of, and what a forwarded mail holds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_QUOTED = re.compile(r"\s*>")
_SIGNATURE = re.compile(r"-- ?")
# What phones add without asking; a line of its own at the end.
_PHONE = re.compile(
    r"(sent|written) (from|with|via) .{1,40}|get outlook for .{1,60}|von meinem? .{1,40} gesendet"
    r"|gesendet (von|mit) .{1,40}|envoyé (de|depuis|à partir) .{1,40}|enviado (desde|de|do) .{1,40}"
    r"|inviato da .{1,40}|verstuurd vanaf .{1,40}|skickat från .{1,40}|отправлено с .{1,40}"
    r"|发自我的.{1,20}|從我的.{1,20}傳送|iphoneから送信|나의 iphone에서 보냄",
    re.IGNORECASE,
)
# How programs begin what they quote: "On Monday, Alice wrote:", in the tongues that are common.
_WROTE = re.compile(
    r"(wrote|writes|schrieb( .{0,80})?|schreibt|a écrit|a ecrit|escribió|escribio|ha scritto"
    r"|escreveu|schreef( .{0,80})?|skrev( .{0,80})?|kirjoitti|napisał(\(a\)|a)?|napsal(\(a\)|a)?"
    r"|написала?(\(а\))?|пише|пишет|írta|a scris|έγραψε|yazdı|şunları yazdı|כתב|כתבה|כתב/ה|كتب|كتبت"
    r"|写道|寫道|書きました|のメール|작성|viết|เขียน|ने लिखा)\s*[:：]$",
    re.IGNORECASE,
)
# Longer ones are text that somebody wrote.
_MOST_LINES, _MOST_CHARACTERS = 4, 300
_ORIGINAL = re.compile(
    r"\s*-{2,}\s*(original (message|appointment)|ursprüngliche (nachricht|mail)"
    r"|message d'origine|messaggio originale|mensaje original|mensagem original"
    r"|oorspronkelijk bericht|oprindelig meddelelse|ursprungligt meddelande"
    r"|пересылаемое сообщение|исходное сообщение|原始邮件|原始郵件|元のメッセージ"
    r"|원본 메시지)\s*-{2,}\s*",
    re.IGNORECASE,
)
# The lines that Outlook sets above what it quotes.
_HEAD = re.compile(
    r"\s*[*_]{0,2}(from|sent|to|cc|date|subject|von|gesendet|an|datum|betreff|de|envoyé|à|objet"
    r"|date d'envoi|enviado( el)?|para|asunto|assunto|da|inviato|data|a|oggetto|van|verzonden|aan"
    r"|onderwerp|fra|sendt|til|emne|från|skickat|till|ämne|от|отправлено|кому|тема|дата"
    r"|发件人|发送时间|收件人|主题|寄件者|收件者|主旨|差出人|送信日時|宛先|件名"
    r"|보낸 사람|받는 사람|제목)"
    r"\s?[*_]{0,2}\s?[:：]",
    re.IGNORECASE,
)
_FEWEST_HEADS = 3
_RULE = re.compile(r"\s*_{10,}\s*")


def without_quotes(text: str, *, forwarded: bool = False) -> str:
    """Return what somebody wrote themselves, or all of it when that is nothing.

    `forwarded`: what stands below is what it is about, so only the signature may go.
    """
    lines = text.strip("\n").split("\n")
    kept = _unsigned(lines)
    if not forwarded:
        kept = _unsigned(_unquoted(kept[: _outlook(kept)]))
    said = "\n".join(_typed(kept)).strip()
    return said or text.strip()


def _unsigned(lines: Sequence[str]) -> Sequence[str]:
    """Leave out a signature, which RFC 3676, section 4.3, sets below `-- `."""
    at = next((n for n, line in enumerate(lines) if n and _SIGNATURE.fullmatch(line)), len(lines))
    # What follows a signature was quoted below it: it is looked at by itself.
    below = next((n for n in range(at, len(lines)) if _QUOTED.match(lines[n])), None)
    if below is None:
        return lines[:at]
    return [*lines[:at], "", *lines[_first_of(lines, below) :]]


def _typed(lines: Sequence[str]) -> Sequence[str]:
    """Leave out what a phone added at the end."""
    last = next((n for n in reversed(range(len(lines))) if lines[n].strip()), 0)
    return lines[:last] if last and _PHONE.fullmatch(lines[last].strip()) else lines


def _outlook(lines: Sequence[str]) -> int:
    """Return where the mail begins that is quoted whole below; the end when there is none."""
    for n, line in enumerate(lines):
        if _ORIGINAL.fullmatch(line):
            return n
        if _HEAD.match(line):
            heads = [one for one in lines[n : n + 8] if _HEAD.match(one)]
            if len(heads) >= _FEWEST_HEADS:
                return n - 1 if n and _RULE.fullmatch(lines[n - 1]) else n
    return len(lines)


def _unquoted(lines: Sequence[str]) -> Sequence[str]:
    """Leave out one block of quotes at the end or at the start; several stay as they are."""
    quoted = [n for n, line in enumerate(lines) if _QUOTED.match(line)]
    if not quoted:
        bare = next((n for n, line in enumerate(lines) if _wrote(line)), None)
        return lines if bare is None else lines[: _first_of(lines, bare + 1)]
    first, last = quoted[0], quoted[-1]
    within = lines[first:last]
    if any(line.strip() and not _QUOTED.match(line) for line in within):
        return lines
    before, after = lines[: _first_of(lines, first)], lines[last + 1 :]
    has_before, has_after = any(map(str.strip, before)), any(map(str.strip, after))
    return lines if has_before and has_after else before if has_before else after


def _first_of(lines: Sequence[str], quote: int) -> int:
    """Return where the words begin that lead to a quote; the quote itself when there are none."""
    end = quote
    while end and not lines[end - 1].strip():
        end -= 1
    if not end or not lines[end - 1].rstrip().endswith((":", "：")):
        return quote
    start = end - 1
    while start and lines[start - 1].strip() and end - start < _MOST_LINES:
        start -= 1
    # The words of a paragraph of one's own that ends in a colon stay, but for "… wrote:".
    while start < end and not _leads(lines[start:end]):
        start += 1
    return start if start < end else quote


def _wrote(line: str) -> bool:
    # A search takes long in long lines, which are text that somebody wrote.
    return len(line) <= _MOST_CHARACTERS and _WROTE.search(line.strip()) is not None


def _leads(lines: Sequence[str]) -> bool:
    said = " ".join(line.strip() for line in lines)
    return len(said) <= _MOST_CHARACTERS and bool(
        _WROTE.search(said) and re.search(r"[0-9@<]", said)
    )
