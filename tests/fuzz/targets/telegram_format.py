"""Any text as an answer at Telegram: every part fits as it is shown."""

from __future__ import annotations

from functools import partial

from hypothesis import strategies as st

from habakkuk.channels.telegram.format import render, shown_length
from habakkuk.core.text import utf16_units
from habakkuk.delivery.split import split

_MARKS = (
    "# ## - * + 1. 10) > >> ``` ~~~ ```py ` `` ** __ _ ~ ~~ || | |- |-|-| [ ] ]( ) [x] [r]: [^1]:"
    " ![ <b> </b> <!-- --> <? <div> <tg-spoiler> <https://e.example> & &amp; &#0; &lt; \\"
    " \\\\ $ $$ $5"
    " \\( \\[ --- === *** https://e.example/x mailto:a@b.c javascript:x tg://emoji?id=1234567890123456789"
    " word 速い नमस्ते 😀 👨‍👩‍👧 🏳️‍🌈 é \u200d \ufe0f \u202e \u2028"
)
_PIECE = st.sampled_from([*_MARKS.split(), "\n", "\n\n", " ", "    ", "\t", "\r\n", "\0", "x" * 70])
_LIMIT = 400
STRATEGY = (
    st.lists(_PIECE, max_size=120).map(lambda pieces: "".join(pieces).encode())
    | st.lists(_PIECE, max_size=120).map(lambda pieces: " ".join(pieces).encode())
    | st.text(max_size=900).map(lambda text: text.encode("utf-8", "replace"))
)


def check(data: bytes) -> None:
    """Cut it and show it as a delivery does."""
    text = data.decode("utf-8", "replace")
    for part in split(text, _LIMIT, partial(shown_length, limit=_LIMIT)):
        shown = render(part, _LIMIT)
        assert utf16_units(shown.text) <= _LIMIT
        assert utf16_units(shown.plain) <= _LIMIT
        assert shown.text.strip() or not part.strip()
        whole = shown.text.encode("utf-16-le")
        for entity in shown.entities:
            end = entity.offset + entity.length
            assert 0 < entity.length <= end <= len(whole) // 2
            whole[2 * entity.offset : 2 * end].decode("utf-16-le")
