"""Files are named by what they hold, so that a browser may keep them for good."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from flask import Flask

from web.dashboard.assets import Assets

ROOT = Path(__file__).parents[4]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, body in {
        "app/one.js": "export const one = 1;\n" * 50,
        "style/base.css": "body { margin: 0 }",
        "vendor/vendor.ABC.js": "vendor",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(body)
    return tmp_path


def test_an_address_changes_with_any_file_of_ours(folder: Path) -> None:
    before = Assets(folder).url("app/one.js")
    (folder / "style" / "base.css").write_text("body { margin: 1px }")
    after = Assets(folder).url("app/one.js")
    assert before != after


def test_a_bundle_keeps_its_address_whatever_changes_beside_it(folder: Path) -> None:
    before = Assets(folder)
    known = before.digest
    (folder / "style" / "base.css").write_text("body { margin: 1px }")
    after = Assets(folder)
    assert before.bundle == after.bundle == "/static/vendor/vendor.ABC.js"
    assert known != after.digest


def test_a_file_may_be_kept_only_under_its_own_version(folder: Path) -> None:
    assets = Assets(folder)
    own = assets.find(f"{assets.digest}/app/one.js")
    old = assets.find("0123456789abcdef/app/one.js")
    bundle = assets.find("vendor/vendor.ABC.js")
    assert [found and found[1] for found in (own, old, bundle)] == [True, False, True]


@pytest.mark.parametrize("path", ["x/none.js", "app/one.js", "../secret", "x/../app/one.js", ""])
def test_nothing_else_is_found(folder: Path, path: str) -> None:
    assert Assets(folder).find(path) is None


def test_a_name_that_is_not_there_is_a_fault(folder: Path) -> None:
    with pytest.raises(AssertionError, match=r"none\.js"):
        Assets(folder).url("app/none.js")


def test_files_are_served_packed_to_everybody(app: Flask) -> None:
    assets = Assets()
    client = app.test_client()
    answer = client.get(assets.url("app/chat.js"), headers={"Accept-Encoding": "gzip"})
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    plain = client.get(assets.url("app/chat.js"))
    assert "Content-Encoding" not in plain.headers
    assert gzip.decompress(answer.data) == plain.data
    same = client.get(assets.url("app/chat.js"), headers={"If-None-Match": plain.headers["ETag"]})
    assert (same.status_code, same.data) == (304, b"")


def test_an_old_page_gets_todays_file_and_asks_again(app: Flask) -> None:
    answer = app.test_client().get("/static/0123456789abcdef/app/chat.js")
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-cache"


def test_a_missing_file_is_a_404(app: Flask) -> None:
    assert app.test_client().get("/static/x/none.js").status_code == 404


def test_the_bundles_are_those_of_the_manifest() -> None:
    folder = ROOT / "web" / "static" / "vendor"
    manifest = json.loads((folder / "manifest.json").read_text())
    there = {path.name for path in folder.glob("*.js")}
    assert there == set(manifest["files"].values())
    licences = (folder / "licences.txt").read_text()
    assert [name for name in manifest["packages"] if f"{name} " not in licences] == []


def test_no_module_is_large() -> None:
    lengths = {
        path.name: len(path.read_text().splitlines())
        for path in (ROOT / "web" / "static").rglob("*")
        if path.suffix in {".js", ".css"} and path.parent.name != "vendor"
    }
    assert lengths
    assert {name for name, lines in lengths.items() if lines > 400} == set()
