"""Add a provider in four steps at a terminal; nothing is written before the last one is over."""

from __future__ import annotations

import getpass
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from habakkuk.core.config.values import Name, Url
from habakkuk.core.errors import Invalid, LlmError
from habakkuk.llm.profiles.presets import PRESETS
from habakkuk.llm.types import ModelRef
from habakkuk.ops.provider_check import Untold, list_models, try_model
from habakkuk.ops.provider_setup import (
    NewProvider,
    checked,
    fit_key,
    key_variable,
    make_plan,
    preset_of,
)
from web.cli.terminal.failures import ExitCode, say
from web.cli.terminal.output import one_line, visible
from web.cli.terminal.providers import FORMATS, Given, identified

if TYPE_CHECKING:
    from habakkuk.core.config.settings import Settings
    from habakkuk.llm.contract import Endpoint
    from habakkuk.ops.provider_setup import Plan

_STEPS = 4
_SHOWN = 40


class Steps:
    """One run of the questions."""

    def __init__(self, settings: Settings, given: Given) -> None:
        """Ask for what `given` leaves open."""
        self._settings = settings
        self._given = given

    def run(self) -> tuple[NewProvider, Plan]:
        """Ask and try; nothing is written. KeyboardInterrupt, EOFError and Abort pass."""
        chosen = self._key(self._service())
        chosen, plan = self._model(chosen)
        self._try(plan.endpoint, chosen.model)
        return chosen, plan

    def _service(self) -> NewProvider:
        given = self._given
        _step(1, "the service")
        if given.name and (given.base_url or self._known(given.name)):
            say(given.name)
            return identified(self._settings, given, given.name)
        say(f"Known: {', '.join(PRESETS)}.")
        answer = _asked("A service, or the base URL of another server", self._service_or_url)
        if self._known(answer):
            return identified(self._settings, replace(given, kind=None), answer)
        name = given.name or _asked("A name for it", _name, default=_derived_name(answer))
        kind = given.kind or click.prompt(
            "Its format", type=click.Choice(FORMATS), default="openai", err=True
        )
        return identified(self._settings, replace(given, base_url=answer, kind=kind), name)

    def _known(self, name: str) -> bool:
        return name in self._settings.config.providers or name in PRESETS

    def _service_or_url(self, text: str) -> str:
        return text if self._known(text) else str(checked(Url, text))

    def _key(self, chosen: NewProvider) -> NewProvider:
        _step(2, "the key")
        service = preset_of(self._settings, chosen)
        variable = key_variable(self._settings, chosen)
        keyless = service is None or service.keyless
        if service is not None and keyless and not chosen.base_url:
            say("It needs none.")
            return chosen
        stored = self._settings.secret(variable) is not None
        hint = "Enter keeps the one that is set" if stored else "Enter for none" if keyless else ""
        key = _hidden(f"{variable} (not shown{f'; {hint}' if hint else ''}): ", may_skip=bool(hint))
        return replace(chosen, key=key)

    def _model(self, chosen: NewProvider) -> tuple[NewProvider, Plan]:
        """Choose the model, and whether the main agent answers with it."""
        _step(3, "the model")
        endpoint = make_plan(self._settings, chosen).endpoint
        chosen = replace(chosen, model=self._given.model or self._asked_model(chosen, endpoint))
        plan = make_plan(self._settings, chosen)
        agent = self._settings.config.main_agent
        chain = plan.selection.agents[agent].chain
        wanted = ModelRef(chosen.name, chosen.model or "")
        if chain and chain[0] == wanted:
            return chosen, plan
        question = (
            f"{agent} answers with {chain[0] if chain else 'nothing'}. With {wanted} instead?"
        )
        said = click.confirm(visible(question), default=bool(self._given.model), err=True)
        chosen = replace(chosen, answers=said)
        return chosen, make_plan(self._settings, chosen)

    def _asked_model(self, chosen: NewProvider, endpoint: Endpoint) -> str:
        service = preset_of(self._settings, chosen)
        default = service.default_model if service else None
        if default is None:
            default = next(iter(_listed(endpoint)), None)
        while True:
            hint = "Model (? lists them)"
            model = _asked(hint, _model_name, default=default and one_line(default))
            if model != "?":
                return model
            _listed(endpoint)

    def _try(self, endpoint: Endpoint, model: str | None) -> None:
        """Have the model answer; a failure is saved only when that is confirmed."""
        _step(4, "a test")
        if not self._given.test or model is None:
            say("Left out.")
            return
        try:
            try_model(endpoint, model)
        except LlmError as error:
            say(visible(str(error)))
            if not click.confirm("Save it all the same?", default=False, err=True):
                say("Nothing was saved.")
                raise click.exceptions.Exit(ExitCode.REFUSED) from error
        else:
            say("It answers.")


def _step(number: int, what: str) -> None:
    say(f"\nStep {number} of {_STEPS}: {what}")


def _listed(endpoint: Endpoint) -> Sequence[str]:
    """Show which models a provider has, or why nobody knows, and return them."""
    try:
        models = list_models(endpoint)
    except Untold as untold:
        say(f"It does not tell which models it has: {visible(str(untold))}.")
        return ()
    shown = ", ".join(one_line(model) for model in models[:_SHOWN])
    more = f" and {len(models) - _SHOWN} more" if len(models) > _SHOWN else ""
    say(f"It has {shown}{more}." if models else "It says that it has no models.")
    return models


def _asked(question: str, check: Callable[[str], str], default: str | None = None) -> str:
    """Return an answer that passes the check; what is wrong is said, and it is asked again."""
    while True:
        text = str(click.prompt(question, default=default, err=True)).strip()
        try:
            return check(text)
        except Invalid as error:
            say(f"{error}.")


def _name(text: str) -> str:
    return checked(Name, text)


def _model_name(text: str) -> str:
    if not text or " " in text:
        raise Invalid("a model's name has no spaces")
    return text


def _derived_name(url: str) -> str:
    """Return a name for a server, such as box for http://box.example:8000/v1."""
    host = (urlsplit(url).hostname or "").partition(".")[0].lower()
    try:
        return "mine" if host.isdigit() or host == "localhost" else checked(Name, host)
    except Invalid:
        return "mine"


def _hidden(prompt: str, *, may_skip: bool) -> str | None:
    """Return a key that is typed or pasted without being shown; None when it is left out."""
    while True:
        text = _unseen(prompt)
        if not text.strip() and may_skip:
            return None
        try:
            return fit_key(text)
        except Invalid as error:
            say(f"{error}.")


def _unseen(prompt: str) -> str:
    """Read a line without echo; a terminal that cannot do that is refused. Raises Invalid."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(prompt, sys.stderr)
        except getpass.GetPassWarning as error:
            raise Invalid("this terminal cannot hide what is typed; use --key-stdin") from error
