"""Long work beside the loop that everybody's request waits on."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from habakkuk.core.errors import Invalid
from web.apart import apart

_PATCHED = """
from gevent import monkey
monkey.patch_all()
import gevent
from gevent.monkey import get_original
from habakkuk.core.errors import Invalid
from web.apart import apart
ident = get_original("_thread", "get_ident")
others = []
gevent.spawn(others.append, "another request")
def work(text):
    return ident(), text
where, text = apart(work, "as it is")
print(where != ident(), text, others)
def refuse():
    raise Invalid("refused")
try:
    apart(refuse)
except Invalid as error:
    print(error)
"""


def test_under_gevent_the_loop_goes_on_and_refusals_come_back_without_a_word() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PATCHED],
        cwd=Path(__file__).parents[3],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["True as it is ['another request']", "refused"]
    assert done.stderr == ""


def test_elsewhere_the_work_is_done_at_once() -> None:
    def refuse() -> None:
        raise Invalid("refused")

    assert apart(threading.get_ident) == threading.get_ident()
    with pytest.raises(Invalid, match="refused"):
        apart(refuse)
