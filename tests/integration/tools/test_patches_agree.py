"""apply_patch does what `git apply` and GNU patch do, and never half of it."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from habakkuk.tools.core.apply_patch import apply_patch
from tests.fakes.toolbox import call, context
from tests.integration.tools.drift import (
    case,
    git_apply,
    gnu_patch,
    read_tree,
    write_tree,
)

_WANTED = 300
_MOST = 2_000


# Four programs a patch: on a busy machine far longer than the other tests.
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_it_agrees_with_both_programs_where_they_accept(tmp_path: Path) -> None:
    """300 patches that both take and that both understand alike.

    Where only one takes it, or they differ, there is no right value to compare with; what must hold
    for those too is that a refused patch changes nothing.
    """
    agreed = refused = 0
    for seed in count():
        assert seed < _MOST, f"only {agreed} of the patches were accepted by both programs"
        folder = tmp_path / str(seed)
        made = case(seed, folder)
        if not made.patch:
            continue
        results = []
        for number, program in enumerate((git_apply, gnu_patch)):
            place = folder / str(number)
            write_tree(place, made.drifted)
            results.append(program(place, made.patch))
        ours = folder / "ours"
        write_tree(ours, made.drifted)
        output = call(apply_patch, context(ours), patch=made.patch.decode())
        left = read_tree(ours)
        if output.is_error:
            refused += 1
            assert left == made.drifted, f"seed {seed}: refused, but files changed"
        if results[0] is None or results[0] != results[1]:
            continue
        agreed += 1
        assert left == results[0], f"seed {seed}: {output.text}\n{made.patch.decode()}"
        if agreed == _WANTED:
            break
    # The other half of the promise was seen too.
    assert refused > 0


@pytest.mark.parametrize(
    ("text", "hunk"),
    [
        pytest.param(
            "p\nx\ny\nx\ny\n", "@@ -2,2 +2,3 @@\n x\n y\n+z\n", id="no context below: the end"
        ),
        pytest.param(
            "p\nx\nq\nz\np\nx\nq\n", "@@ -3,3 +3,3 @@\n p\n-x\n+y\n q\n", id="as far: the later"
        ),
    ],
)
def test_of_two_places_it_takes_the_one_that_they_take(
    tmp_path: Path, text: str, hunk: str
) -> None:
    """Chance makes such a patch seldom."""
    patch = f"--- a/f\n+++ b/f\n{hunk}"
    results = []
    for name, program in (("git", git_apply), ("patch", gnu_patch)):
        write_tree(tmp_path / name, {"f": text.encode()})
        results.append(program(tmp_path / name, patch.encode()))
    write_tree(tmp_path / "ours", {"f": text.encode()})
    call(apply_patch, context(tmp_path / "ours"), patch=patch)
    assert results[0] == results[1] == read_tree(tmp_path / "ours")
