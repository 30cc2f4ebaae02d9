"""Add a provider without asking anything, and say what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from habakkuk.core.errors import LlmError
from web.cli.terminal.failures import ExitCode, say
from web.cli.terminal.output import one_line, visible

if TYPE_CHECKING:
    from habakkuk.core.config.settings import Settings
    from habakkuk.llm.contract import Endpoint
    from habakkuk.ops.provider_setup import NewProvider, Plan

_NAMED = 10
# The wire formats; a test holds them to the adapters that there are.
FORMATS = ("openai", "responses", "anthropic", "gemini")


@dataclass(frozen=True)
class Given:
    """What the command line says."""

    name: str | None
    base_url: str | None
    kind: str | None
    model: str | None
    test: bool


def without_questions(settings: Settings, given: Given, key: str | None) -> None:
    """Add what the command line says; what is missing is an error."""
    from habakkuk.ops.provider_setup import make_plan  # noqa: PLC0415 - not for --help

    if given.name is None:
        raise click.UsageError(
            "Name a service, such as: habakkuk provider add groq --key-stdin < key.txt"
        )
    chosen = replace(identified(settings, given, given.name), key=key)
    _need_key(settings, chosen)
    model = given.model or _default(settings, chosen)
    if model is None and given.test:
        model = _only_model(make_plan(settings, chosen).endpoint)
    chosen = replace(chosen, model=model, answers=True if given.model else None)
    plan = make_plan(settings, chosen)
    if given.test and model:
        _tried(plan.endpoint, model)
    finish(settings, chosen, plan)


def identified(settings: Settings, given: Given, name: str) -> NewProvider:
    """Return which provider is meant. Raises Invalid, and UsageError when an address is needed."""
    from habakkuk.core.config.values import Name, Url  # noqa: PLC0415 - not for --help
    from habakkuk.ops.provider_setup import (  # noqa: PLC0415 - not for --help
        NewProvider,
        checked,
        service_of,
    )

    name = checked(Name, name)
    base_url = checked(Url, given.base_url) if given.base_url else None
    known = name in settings.config.providers or service_of(settings, name) is not None
    if not known and base_url is None:
        raise click.UsageError(
            f"{name!r} is no known service ({', '.join(services())}); give --base-url"
        )
    return NewProvider(name, kind=given.kind or (None if known else "openai"), base_url=base_url)


def services() -> Sequence[str]:
    """Return the names of the known services."""
    from habakkuk.llm.profiles.presets import PRESETS  # noqa: PLC0415 - not for --help

    return list(PRESETS)


def _default(settings: Settings, chosen: NewProvider) -> str | None:
    from habakkuk.ops.provider_setup import preset_of  # noqa: PLC0415 - not for --help

    service = preset_of(settings, chosen)
    return service.default_model if service else None


def _need_key(settings: Settings, chosen: NewProvider) -> None:
    from habakkuk.ops.provider_setup import (  # noqa: PLC0415 - not for --help
        key_variable,
        preset_of,
    )

    service = preset_of(settings, chosen)
    variable = key_variable(settings, chosen)
    if service and not service.keyless and not chosen.key and not settings.secret(variable):
        raise click.UsageError(f"{chosen.name} needs a key: pipe it in with --key-stdin")


def _only_model(endpoint: Endpoint) -> str:
    """Return the model of a server that has one."""
    from habakkuk.ops.provider_check import Untold, list_models  # noqa: PLC0415 - not for --help

    try:
        found = list_models(endpoint)
    except Untold as untold:
        why = visible(str(untold))
        raise click.UsageError(f"Name a model with --model; there is no list: {why}") from untold
    if len(found) == 1:
        return found[0]
    has = f"; it has {', '.join(map(one_line, found[:_NAMED]))}" if found else ""
    raise click.UsageError(f"Name a model with --model{has}")


def _tried(endpoint: Endpoint, model: str) -> None:
    from habakkuk.ops.provider_check import try_model  # noqa: PLC0415 - not for --help

    try:
        try_model(endpoint, model)
    except LlmError as error:
        say(f"{visible(str(error))}\nNothing was saved; --no-test saves without asking it.")
        raise click.exceptions.Exit(ExitCode.REFUSED) from error


def finish(settings: Settings, chosen: NewProvider, plan: Plan) -> None:
    """Write the plan, and say what changed and what there is to do."""
    from habakkuk.ops.provider_save import save  # noqa: PLC0415 - not for --help
    from habakkuk.ops.provider_setup import (  # noqa: PLC0415 - not for --help
        key_variable,
        overruled,
    )

    save(plan, settings.home)
    click.echo("Changed:" if plan.changes else "Nothing to change.")
    for change in plan.changes:
        click.echo(f"  {visible(change)}")
    click.echo(visible(plan.selection.agents[settings.config.main_agent].line) + ".")
    variable = key_variable(settings, chosen)
    if overruled(settings, variable, chosen.key):
        say(f"The environment has another {variable}, which wins over .env: remove it there.")
    if plan.changes:
        click.echo(_restart(settings))


def _restart(settings: Settings) -> str:
    from habakkuk.ops.run_file import read_run  # noqa: PLC0415 - not for --help

    run = read_run(settings.home)
    if run is None:
        return "It counts from the next start on: ./scripts/up, or a restart of the containers."
    if run.detached:
        return "Habakkuk runs without it yet: `habakkuk down`, then `habakkuk up --detach`."
    return "Habakkuk runs without it yet: end ./scripts/up with Ctrl+C and start it again."
