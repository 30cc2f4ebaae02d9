"""Any text as an answer at Discord: every part fits as it is sent, and calls nobody."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from habakkuk.channels.discord.format import render, shown_length
from habakkuk.core.text import utf16_units
from habakkuk.delivery.split import split

_MARKS = (
    "# #### - * + 1. 10) > >> ``` ~~~ ```py ` `` ** __ _ ~ ~~ || | |- |-|-| [ ] ]( ) [x] [r]: [^1]:"
    " ![ <b> </b> <!-- --> <https://e.example> & &amp; &#0; &lt; &gt; \\ \\\\ -# --- === ***"
    " https://e.example/x <@1> <@! <@&2> <#3> @everyone @here <t:1:R> <:a:1> @ever yone"
    " word 速い नमस्ते 😀 👨‍👩‍👧 🏳️‍🌈 é \u200d \ufe0f \u202e \u2028"
)
_PIECE = st.sampled_from([*_MARKS.split(), "\n", "\n\n", " ", "    ", "\t", "\r\n", "\0", "x" * 70])
_LIMIT = 400
# As Discord reads it: code first, then addresses, then what is escaped.
_TOKENS = re.compile(
    r"```[\s\S]*?```|(`+)[\s\S]*?[^`]\1(?!`)|<https?://[^\s>]+>|https?://[^\s<]+|\\[^0-9A-Za-z\s]"
    r"|(?P<mention><@[!&]?\d+>|<#\d+>)"
)
STRATEGY = (
    st.lists(_PIECE, max_size=120).map(lambda pieces: "".join(pieces).encode())
    | st.lists(_PIECE, max_size=120).map(lambda pieces: " ".join(pieces).encode())
    | st.text(max_size=900).map(lambda text: text.encode("utf-8", "replace"))
)


def check(data: bytes) -> None:
    """Cut it and show it as a delivery does."""
    text = data.decode("utf-8", "replace")
    for part in split(text, _LIMIT, shown_length):
        shown = render(part)
        assert utf16_units(shown) <= _LIMIT
        assert shown.strip() or not part.strip()
        assert not any(found["mention"] for found in _TOKENS.finditer(shown))
