"""Row 31: YAML that stands for gigabytes, for objects or for nothing is refused in no time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from habakkuk.core.config.load import load_config, parse_config
from habakkuk.core.errors import ConfigurationError

_ROOT = Path(__file__).parents[2]


def _bomb(levels: int, width: int = 9) -> str:
    """Return what holds `width` to the power of `levels` values."""
    lines = [f"k0: &l0 [{','.join('x' * width)}]"]
    lines += [
        f"k{level}: &l{level} [{','.join([f'*l{level - 1}'] * width)}]"
        for level in range(1, levels)
    ]
    return "\n".join(lines)


def _merged(levels: int) -> str:
    """Return a bomb of mappings that take in the one before, twice over."""
    lines = ["k0: &l0 {a: {b: c}, d: {e: f}}"]
    for level in range(1, levels):
        above = f"*l{level - 1}"
        lines.append(f"k{level}: &l{level} {{<<: {above}, x: {above}, y: {above}, z: {above}}}")
    return "\n".join(lines)


_HOSTILE = {
    "a bomb": _bomb(7),
    "a large bomb": _bomb(40),
    "a wide bomb": _bomb(4, 30),
    "a bomb of two": _bomb(60, 2),
    "a bomb of mappings": _merged(12),
    "a bomb in an agent": "agents:\n  x:\n    " + _bomb(9).replace("\n", "\n    "),
    "a list in itself": "agents: &a [*a]",
    "a mapping in itself": "agents: &a {x: *a}",
    "two in each other": "agents: &a {x: &b {y: *a, z: *b}}",
    "itself as a key": "agents: &a {*a : x}",
    "a merge of itself": "agents: &a {<<: *a}",
    "an anchor that is not there": "agents: *nobody",
    "an anchor named oddly": "agents: &\u202ea [*\u202eb]",
    "open brackets": "agents: " + "[" * 5_000,
    "brackets": "agents: " + "[" * 3_000 + "]" * 3_000,
    "braces": "agents: " + "{a: " * 1_000 + "}" * 1_000,
    "a few brackets": "agents: " + "[" * 25 + "]" * 25,
    "levels of mappings": "".join(" " * level + "a:\n" for level in range(500)),
    "levels of lists": "- " * 2_000 + "x",
    "levels of keys": "? " * 2_000 + "x",
    "a quarter of a megabyte of brackets": "[" * 250_000,
    "too large": "# " + "x" * 300_000,
    "ten megabytes": "timezone: " + "x" * 10_000_000,
    "a command": "agents: !!python/object/apply:os.system ['touch {canary}']",
    "a command, new": "agents: !!python/object/new:os.system ['touch {canary}']",
    "a command in a list": "providers: [!!python/object/apply:subprocess.run [['touch', x]]]",
    "a popen": "timezone: !!python/object/apply:subprocess.Popen [['touch', '{canary}']]",
    "an eval": "timezone: !!python/object/apply:eval [\"open('{canary}', 'w')\"]",
    "an object": "agents: !!python/object:habakkuk.core.config.schema.Config {}",
    "a name": "timezone: !!python/name:os.system",
    "a module": "timezone: !!python/module:os",
    "a tuple": "agents: !!python/tuple [a]",
    "bytes of Python": "timezone: !!python/bytes aGVsbG8=",
    "the tag in full": "agents: !<tag:yaml.org,2002:python/object/apply:os.system> ['id']",
    "the tag by a handle": "%TAG !p! tag:yaml.org,2002:python/\n---\nagents: !p!name:os.system",
    "a tag of Ruby": "agents: !ruby/object:Gem::Installer {i: x}",
    "a tag of Java": "agents: !!javax.script.ScriptEngineManager [!!java.net.URL ['http://x/']]",
    "a tag of ours": "agents: !include /etc/passwd",
    "a variable": "timezone: !ENV ${{HOME}}",
    "a tag on a mapping": "agents: !x {{habakkuk: {{}}}}",
    "a tag on a key": "!x agents: {{}}",
    "a set": "agents: !!set {a, b}",
    "an ordered mapping": "agents: !!omap [a: 1]",
    "pairs": "agents: !!pairs [a: 1]",
    "a word by its tag": "timezone: !!str UTC",
    "binary": "timezone: !!binary aGVsbG8=",
    "a number of thousands of digits": "timezone: " + "9" * 5_000,
    "a number to the base of 60": "gateway: 1:20:30:40",
    "a huge exponent": "gateway: {x: 1e999999999}",
    "no number": "timezone: .nan",
    "a date": "timezone: 2001-01-01",
    "a date that is none": "timezone: 2001-99-99",
    "two documents": "timezone: UTC\n---\ntimezone: UTC",
    "a key twice": "timezone: UTC\ntimezone: UTC",
    "a key twice in other clothes": 'timezone: UTC\n"time\\u007aone": UTC',
    "a list as a key": "? [a, b]\n: c",
    "a mapping as a key": "? {a: b}\n: c",
    "null as a key": "~: c",
    "a prototype": "__proto__: {x: y}\n__class__: x",
    "a null character": 'timezone: "\\0"',
    "a null byte": "timezone: \0",
    "control characters": "timezone: \x1b[31mUTC",
    "a surrogate": 'timezone: "\\ud800"',
    "another version": "%YAML 9.9\n---\ntimezone: no",
    "a directive that is none": "%FOO bar\n---\ntimezone: x",
    "a list": "- a\n- b",
    "a word": "hello",
    "a number": "42",
    "a block without end": "timezone: |999999999\n  x",
    "many keys": "\n".join(f"k{number}: x" for number in range(15_000)),
    "many anchors": "\n".join(f"k{number}: &a{number} x" for number in range(2_000)),
    "quotes": "timezone: " + '"' * 9_999,
    "flows": "agents: " + "{a, " * 15 + "[" * 15,
    "colons": ":" * 100_000,
    "tabs": "agents:\n\t- x",
}


@pytest.mark.parametrize("name", _HOSTILE)
def test_it_is_refused_by_its_name_and_line(name: str, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    raw = _HOSTILE[name].replace("{canary}", str(canary)).encode("utf-8", "surrogatepass")
    path = tmp_path / "config.yaml"
    path.write_bytes(raw)
    with pytest.raises(ConfigurationError) as refused:
        load_config(path)
    assert not canary.exists()
    assert str(refused.value).startswith("config.yaml")
    # A person reads it: neither the whole bomb nor a page of faults for one.
    assert len(str(refused.value)) < 20_000


def test_bytes_that_are_no_text_are_refused() -> None:
    through = []
    for raw in (b"\xff\xfe", b"timezone: \xff", b"\x00" * 100, b"\xef\xbb\xbf\xff", b"\xc0\xaf"):
        try:
            parse_config(raw, "config.yaml")
        except ConfigurationError:
            continue
        through.append(raw)
    assert through == []


def test_what_people_write_is_read() -> None:
    told = (
        "agents:\n  one: &base {model: a/b}\n  two: *base\n  three: {<<: *base, max_steps: 3}\n",
        "timezone: 'UTC'\n",
        "# nothing\n",
        "",
        "---\ntimezone: UTC\n...\n",
    )
    for text in told:
        parse_config(text.encode(), "config.yaml")


def test_the_command_says_it_in_a_line(tmp_path: Path) -> None:
    """In a process of its own with little memory: a bomb that goes off ends it."""
    (tmp_path / "config.yaml").write_text(_bomb(40))
    script = (
        "import resource, runpy, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "sys.argv = ['habakkuk', 'config', 'check']\n"
        "runpy.run_module('web.cli', run_name='__main__')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=_ROOT,
        env={"HABAKKUK_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode not in {0, -9}
    assert "values" in ended.stderr + ended.stdout
    assert "Traceback" not in ended.stderr
