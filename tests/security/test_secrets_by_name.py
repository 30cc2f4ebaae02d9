"""Secrets that an agent uses and never holds: put in at the edge, taken out of what comes back."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from habakkuk.core.config.schema import SecretConfig
from habakkuk.core.errors import ToolError
from habakkuk.tools.contract import ToolContext
from habakkuk.tools.core.exec import exec as exec_tool
from habakkuk.tools.core.fetch_url import fetch_url
from habakkuk.tools.secrets import Secrets, told
from tests.fakes.search_server import Asked, SearchServer, Told, search_server
from tests.fakes.toolbox import call, context, services

VALUE = "ca/nary+secret=4711"
AWKWARD = 'pass "word" & <more>/ü\\'
# Most keys have such letters, which Markdown, HTML, JSON and URLs write in other ways.
ODD = "sk_live_*ca<na>r&y'\"/+=ü"
CONFIG = {
    "forge": SecretConfig(
        env="FORGE_TOKEN", tools=["fetch_url"], hosts=["api.forge.example"], agents=["habakkuk"]
    ),
    "deploy": SecretConfig(env="DEPLOY_KEY", tools=["exec"]),
    "unset": SecretConfig(env="UNSET", tools=["exec"]),
    "short": SecretConfig(env="SHORT", tools=["exec"]),
    "odd": SecretConfig(env="ODD", tools=["fetch_url"], hosts=["odd.example"]),
}
VALUES = {"FORGE_TOKEN": VALUE, "DEPLOY_KEY": "deploy-" + VALUE, "SHORT": "1234567", "ODD": ODD}


@pytest.fixture
def secrets() -> Secrets:
    return Secrets(CONFIG, VALUES.get)


@pytest.fixture
def server() -> Iterator[SearchServer]:
    with search_server() as running:
        running.answers["api.forge.example"] = Told(b"welcome", kind="text/plain")
        yield running


@pytest.fixture
def where(tmp_path: Path, secrets: Secrets, server: SearchServer) -> ToolContext:
    workspace = tmp_path / "home" / "agents" / "habakkuk" / "workspace"
    workspace.mkdir(parents=True)
    return context(workspace, services(tmp_path / "home", web=server.web(), secrets=secrets))


def fetched(where: ToolContext, url: str, value: str = "Bearer {{secret:forge}}") -> str:
    return call(fetch_url, where, url=url, headers={"Authorization": value}).text


def test_it_goes_into_the_header_of_a_host_that_it_is_for(
    where: ToolContext, server: SearchServer
) -> None:
    assert "welcome" in fetched(where, "https://api.forge.example/user")
    assert server.asked[0].headers["authorization"] == f"Bearer {VALUE}"


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/",
        "https://api.forge.example.evil.example/",
        "https://evil-api.forge.example/",
        "https://forge.example/",
        "https://evil.example/?x=api.forge.example",
        "https://evil.example/#api.forge.example",
        "https://evil.example/@api.forge.example",
        "https://api.forge.example@evil.example/",
        "https://evil.example\\@api.forge.example/",
        "https://evil.example:443/api.forge.example",
        "http://api.forge.example/",
        "ftp://api.forge.example/",
        "https://[api.forge.example]/",
        "",
    ],
)
def test_it_goes_nowhere_else(where: ToolContext, server: SearchServer, url: str) -> None:
    output = call(fetch_url, where, url=url, headers={"x-key": "{{secret:forge}}"})
    assert output.is_error
    assert VALUE not in output.text
    assert all(VALUE not in str(asked.headers) for asked in server.asked)


def test_a_redirect_to_another_host_does_not_take_it_along(
    where: ToolContext, server: SearchServer
) -> None:
    server.answers["api.forge.example"] = Told(
        b"", 302, headers={"location": "https://evil.example/"}
    )
    server.answers["evil.example"] = Told(b"hello", kind="text/plain")
    fetched(where, "https://api.forge.example/")
    assert [asked.host for asked in server.asked] == ["api.forge.example", "evil.example"]
    assert VALUE not in str(server.asked[1].headers)


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"x-key": "{{secret:nothing}}"}, "there is no secret 'nothing'"),
        ({"x-key": "{{secret:deploy}}"}, "is not for fetch_url"),
        ({"x-key": "{{secret:}}"}, "there is no secret ''"),
        ({"host": "evil.example"}, "cannot be sent"),
        ({"x-key": "a\r\nx-evil: 1"}, "cannot be sent"),
        ({"x key": "1"}, "cannot be sent"),
        ({"content-length": "5"}, "cannot be sent"),
    ],
)
def test_what_may_not_be_sent_says_why(
    where: ToolContext, server: SearchServer, headers: dict[str, str], said: str
) -> None:
    output = call(fetch_url, where, url="https://api.forge.example/", headers=headers)
    assert output.is_error
    assert said in output.text
    assert server.asked == []


def test_another_agent_does_not_have_it(secrets: Secrets) -> None:
    with pytest.raises(ToolError, match="for this agent"):
        secrets.filled("{{secret:forge}}", "fetch_url", "other", "https://api.forge.example/")
    assert "forge" not in told(secrets.of("other"))


def test_a_command_has_it_in_its_environment_and_its_name_in_the_output(
    where: ToolContext, secrets: Secrets
) -> None:
    output = call(exec_tool, where, command='test "$DEPLOY_KEY" && env', secrets=["deploy"])
    assert not output.is_error
    assert "DEPLOY_KEY=[secret:deploy]" in secrets.redacted(output.text)


def test_a_command_that_does_not_name_it_has_none(where: ToolContext) -> None:
    assert "DEPLOY_KEY" not in call(exec_tool, where, command="env").text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"secrets": ["forge"]}, "is not for exec"),
        ({"secrets": ["unset"]}, "the operator sets UNSET"),
        ({"secrets": ["short"]}, "fewer than 8 characters"),
        ({"secrets": ["nothing"]}, "there is no secret"),
        ({"secrets": ["deploy"], "background": True}, "do not run in the background"),
    ],
)
def test_a_command_gets_none_that_is_not_for_it(
    where: ToolContext, arguments: dict[str, Any], said: str
) -> None:
    output = call(exec_tool, where, command="touch ran", **arguments)
    assert output.is_error
    assert said in output.text
    assert not (where.workspace / "ran").exists()


def _split_base64(before: str) -> str:
    return base64.b64encode(f"{before}{VALUE}; and more".encode()).decode()


@pytest.mark.parametrize(
    "text",
    [
        VALUE,
        f"token={VALUE}&x=1",
        quote(VALUE, safe=""),
        VALUE.encode().hex(),
        VALUE.encode().hex().upper(),
        base64.b64encode(VALUE.encode()).decode(),
        base64.urlsafe_b64encode(VALUE.encode()).decode(),
        _split_base64("a"),
        _split_base64("ab"),
        _split_base64("abc"),
        f"{VALUE}{VALUE}",
    ],
)
def test_it_is_taken_out_of_what_comes_back(secrets: Secrets, text: str) -> None:
    found = secrets.redacted(f"before {text} after")
    assert "[secret:forge]" in found
    assert found.startswith("before ")
    assert found.endswith(" after")
    # Nothing from which it could be put together: of eight letters of it none are left.
    shown = [
        VALUE,
        quote(VALUE, safe=""),
        VALUE.encode().hex(),
        base64.b64encode(VALUE.encode()).decode(),
    ]
    assert not any(form[at : at + 8] in found for form in shown for at in range(len(form) - 8))


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(AWKWARD),
        json.dumps(AWKWARD, ensure_ascii=False),
        html.escape(AWKWARD),
        html.escape(AWKWARD, quote=False),
        quote(AWKWARD),
        quote_plus(AWKWARD),
    ],
)
def test_one_with_awkward_characters_is_found_where_they_are_written_otherwise(
    written: str,
) -> None:
    made = Secrets({"one": SecretConfig(env="ONE", tools=["exec"])}, {"ONE": AWKWARD}.get)
    assert made.redacted(f"<{written}>").strip('<">') == "[secret:one]"


def test_one_inside_another_leaves_nothing_behind(secrets: Secrets) -> None:
    assert secrets.redacted(f"x deploy-{VALUE} y") == "x [secret:deploy] y"


LONG = "long-" + "0123456789abcdefghijklmnopqrstuvwxyz" * 3


def _lines(text: str, width: int, end: str = "\n") -> str:
    return end.join(text[at : at + width] for at in range(0, len(text), width))


ENCODED = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
}


@pytest.mark.parametrize("width", [60, 64, 76, 1])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n    ", "\\n", "\\r\\n"])
@pytest.mark.parametrize("encoded", ENCODED.values(), ids=ENCODED.keys())
def test_it_is_taken_out_of_lines(encoded: Callable[[str], str], width: int, end: str) -> None:
    made = Secrets({"one": SecretConfig(env="ONE", tools=["exec"])}, {"ONE": LONG}.get)
    for before in range(0, 80, 7):
        text = _lines(encoded(f"{'x' * before}{LONG}; and more"), width, end)
        found = re.sub(r"\s|\\[rn]", "", made.redacted(f"before {text} after"))
        assert found.startswith("before")
        assert found.endswith("after")
        assert "[secret:one]" in found
        whole = encoded(LONG)[2:-4]
        assert not any(whole[at : at + 8] in found for at in range(len(whole) - 8))


def test_lines_that_only_begin_as_it_does_stay(secrets: Secrets) -> None:
    text = _lines(base64.b64encode(b"another text, " * 40).decode(), 76)
    assert secrets.redacted(text) == text


def test_ordinary_text_stays(secrets: Secrets) -> None:
    assert secrets.redacted("nothing of the kind; Y2EvbmFy") == "nothing of the kind; Y2EvbmFy"


def test_a_page_that_echoes_it_does_not_show_it(
    where: ToolContext, server: SearchServer, secrets: Secrets
) -> None:
    def echo(asked: Asked) -> Told:
        return Told(asked.headers["authorization"].encode(), kind="text/plain")

    server.answers["api.forge.example"] = echo
    assert VALUE not in secrets.redacted(fetched(where, "https://api.forge.example/"))


@pytest.mark.parametrize("limit", [190, 200])
def test_a_page_that_echoes_it_is_not_cut_through_it(
    where: ToolContext, server: SearchServer, limit: int
) -> None:
    """Of what is cut away afterwards, the rest would not be known for a part of a secret."""
    server.answers["api.forge.example"] = Told(b"x" * 182 + VALUE.encode(), kind="text/plain")
    arguments = {"url": "https://api.forge.example/", "max_chars": limit}
    assert VALUE[:6] not in call(fetch_url, where, **arguments).text


def test_a_failure_that_echoes_it_is_not_cut_through_it(
    where: ToolContext, server: SearchServer
) -> None:
    echo = b"x" * (2_000 - 10) + VALUE.encode()
    server.answers["api.forge.example"] = Told(echo, status=403, kind="text/plain")
    assert VALUE[:6] not in fetched(where, "https://api.forge.example/")


def test_a_page_in_html_that_echoes_it_does_not_show_it(
    where: ToolContext, server: SearchServer, secrets: Secrets
) -> None:
    """Turned into Markdown it has backslashes in it."""
    text = f"<p>Your token is {html.escape(ODD)}, and that is all there is to say here.</p>"
    page = f"<html><body><article>{text}</article></body></html>".encode()
    server.answers["odd.example"] = Told(page, kind="text/html; charset=utf-8")
    shown = call(fetch_url, where, url="https://odd.example/").text
    assert "[secret:odd]" in shown
    assert "live" not in shown


@pytest.mark.parametrize(
    "written",
    [
        ODD,
        html.escape(ODD),
        "".join(f"&#{ord(letter)};" if not letter.isalnum() else letter for letter in ODD),
        "".join(f"&#x{ord(letter):X};" if not letter.isalnum() else letter for letter in ODD),
        json.dumps(ODD)[1:-1],
        json.dumps(ODD, ensure_ascii=False)[1:-1],
        # As PHP writes it, and Go.
        json.dumps(ODD)[1:-1].replace("/", "\\/"),
        json.dumps(ODD)[1:-1].replace("<", "\\u003c").replace(">", "\\u003E"),
        quote(ODD),
        quote_plus(ODD),
        quote(ODD, safe="").replace("%2F", "%2f").replace("%C3%BC", "%c3%bc"),
        re.sub(r"([_*<>&])", r"\\\1", ODD),
    ],
)
def test_it_is_taken_out_however_its_signs_are_written(secrets: Secrets, written: str) -> None:
    assert secrets.redacted(f"before {written} after") == "before [secret:odd] after"
