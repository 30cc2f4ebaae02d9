"""Any text as an answer at Slack: every part fits as it is sent, is taken, and calls nobody."""

from __future__ import annotations

from hypothesis import strategies as st

from habakkuk.channels.messages import Button
from habakkuk.channels.slack.format import blocks, notification, plain_blocks, render, shown_length
from habakkuk.delivery.split import split
from tests.fakes import slack_rules

_MARKS = (
    "# - * 1. > ``` ~~~ ```py ` `` ** __ _ ~~ | |-|-| [ ] ]( ) <b> </b> <!-- --> <? <div> & &amp;"
    " <!channel> <!here> <@U1> <#C1|x> <!date^1^x|y> <https://e.example> <mailto:a@b.c> &lt; &#60;"
    " \\ \\\\ \\<"
    " word 速い नमस्ते 😀 👨‍👩‍👧 é \u200d \ufe0f \u202e \u2028"
)
_PIECE = st.sampled_from([*_MARKS.split(), "\n", "\n\n", " ", "    ", "\t", "\r\n", "\0", "x" * 70])
_LIMIT = 400
_BUTTONS = (Button("Allow", "hb|n|0"), Button("Deny", "hb|n|1"))
STRATEGY = (
    st.lists(_PIECE, max_size=120).map(lambda pieces: "".join(pieces).encode())
    | st.lists(_PIECE, max_size=120).map(lambda pieces: " ".join(pieces).encode())
    | st.text(max_size=900).map(lambda text: text.encode("utf-8", "replace"))
)


def check(data: bytes) -> None:
    """Cut it and send it as a delivery does."""
    text = data.decode("utf-8", "replace")
    for part in split(text, _LIMIT, shown_length):
        assert len(render(part)) <= _LIMIT
        assert render(part).replace("&lt;", "<") == part.replace("&lt;", "<")
        for form in (blocks(part, _BUTTONS), plain_blocks(part, _BUTTONS)):
            asked = {"channel": "D1", "text": notification(part), "blocks": form}
            assert list(slack_rules.faults_of(asked)) == []
