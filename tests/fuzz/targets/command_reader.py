"""Any bytes as a command: reading it never raises, and a harmless line before it hides nothing."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from habakkuk.tools.hardline.check import hardline, typed_hardline

_WORDS = (
    "rm -rf / ~ * $x ${x:- ${x[ x= x=( $( ) ` ' \" \\ | sh bash -c eval xargs sudo env -S { } (("
    " ( )) [[ ]] if then fi for x in do done while case esac ;; & && || ; <( >( <<E E <<< >"
    " >/dev/sda {a,b} {1..9} curl https://a.b/c dd of=/dev/sda f() $' # find . -exec python3 base64"
    " -d printf %s trap set -- alias a= read mkfs.ext4 /dev/sdb :(){ :|:& };: 3<&0 <&3 3<> exec"
    " {fd}< ${x:0:1} ${x//a/b} ${!x} IFS=_ ln -s git -c alias.x=! tar --to-command= -u3 tee $(<"
)
# A name that begins with an escaped blank is no program's; the grammar takes such a line for a part
# of the one before, alone for a command of the next word.
_NAMELESS = re.compile(r"(?:\s|#[^\n]*\n)*\\[ \t]")
_PIECE = st.sampled_from([*_WORDS.split(), "\n", " ", "\0", "é", "\ufdd0"])
_JOINED = st.sampled_from(["", " ", "\n"])
STRATEGY = (
    st.builds(
        lambda pieces, joint: joint.join(pieces).encode(), st.lists(_PIECE, max_size=40), _JOINED
    )
    | st.binary(max_size=300)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
)


def check(data: bytes) -> None:
    """Read it as exec does and as what is typed at a shell."""
    script = data.decode("utf-8", "replace")
    found = hardline(script, "/w")
    assert found is None or found
    half = len(script) // 2
    typed_hardline(script[:half], script[half:])
    if "this would" in (hardline(script, None, fresh=False) or ""):
        # What is certain stays so in pieces; where it was not, each line is looked at alone.
        pieces = typed_hardline("", script[:half]) or typed_hardline(script[:half], script[half:])
        assert pieces is not None
    if found is not None and _NAMELESS.match(script) is None:
        assert hardline(f"true\n{script}", "/w") is not None
