"""Each fuzz target: its kept cases, and a few new ones. scripts/fuzz tries them for longer."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.fuzz.running import Failed, Target, fuzz, one_round, replay, targets

EVERY = [pytest.param(target, id=name) for name, target in targets().items()]


@pytest.mark.parametrize("target", EVERY)
def test_its_kept_cases_and_some_new_ones(target: Target) -> None:
    replay(target)
    assert one_round(target, 1, 50) > 0


def test_every_corpus_belongs_to_a_target() -> None:
    kept = {path.name for path in (Path(__file__).parent / "corpus").iterdir() if path.is_dir()}
    assert kept <= set(targets())


def test_a_broken_promise_is_found_made_small_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(data: bytes) -> None:
        assert b"x" not in data

    monkeypatch.setattr("tests.fuzz.running._HERE", tmp_path)
    target = Target("planted", st.binary(max_size=20), check)
    with pytest.raises(Failed) as caught:
        fuzz(target, 60, 0)
    assert caught.value.case.read_bytes() == b"x"
    with pytest.raises(Failed):
        replay(target)
