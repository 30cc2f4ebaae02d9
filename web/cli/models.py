"""`habakkuk models`: the models that can be named here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from web.cli.terminal.opened import read_settings
from web.cli.terminal.output import one_line, output_option, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from habakkuk.llm.catalogue import ListedModel, ListedProvider
    from habakkuk.llm.prices import Prices
    from habakkuk.llm.selection import Selection

# A gateway may have hundreds; these are enough to find a name, and `-o json` has all.
_SHOWN = 200
_SAMPLE = 1000


@click.group("models")
def command() -> None:
    """See which models can be named, and what is known of them."""


@command.command("list")
@click.option("--probe", is_flag=True, help="Ask the providers which models they have.")
@output_option
def list_models(
    probe: bool,  # noqa: FBT001 - click passes it by name
    output: str,
) -> None:
    """List the models of the providers that are configured or whose key is set."""
    from habakkuk.llm.catalogue import catalogue  # noqa: PLC0415 - not for --help
    from habakkuk.llm.prices import Prices  # noqa: PLC0415 - not for --help
    from habakkuk.llm.selection import select  # noqa: PLC0415 - not for --help
    from habakkuk.llm.types import ModelRef  # noqa: PLC0415 - not for --help

    settings = read_settings()
    selection = select(settings)
    prices = Prices(settings.config, selection.endpoints)
    told, untold = _asked(selection) if probe else ({}, {})
    refs = [ModelRef(name, model) for name, models in told.items() for model in models]
    found = catalogue(selection, refs)
    if output == "json":
        print_json(providers=[_provider(one, prices) for one in found])
        return
    rows = [_row(model, prices) for one in found for model in one.models[:_SHOWN]]
    if rows:
        print_table(("MODEL", "WINDOW", "READS", "EFFORT", "USD IN/OUT", "USED BY"), rows)
    for line in _remarks(found, untold, probed=probe):
        click.echo(line)


def _asked(selection: Selection) -> tuple[dict[str, Sequence[str]], dict[str, str]]:
    """Return the models of those who tell, and why the others do not."""
    from habakkuk.ops.model_probe import told  # noqa: PLC0415 - not for --help
    from habakkuk.ops.provider_check import Untold  # noqa: PLC0415 - not for --help

    found = told({name: selection.endpoints[name] for name in selection.meant})
    names = {name: one for name, one in found.items() if not isinstance(one, Untold)}
    return names, {name: str(one) for name, one in found.items() if isinstance(one, Untold)}


def _row(model: ListedModel, prices: Prices) -> tuple[str, ...]:
    profile = model.profile
    reads = ["text"] + ["images"] * profile.vision + ["PDFs"] * model.documents
    return (
        one_line(str(model.ref)),
        f"{profile.context_window:,}" if profile.context_window else "",
        ", ".join(reads) if profile.known else "unknown: treated carefully",
        " ".join(profile.efforts),
        _price(model, prices),
        ", ".join(model.agents),
    )


def _price(model: ListedModel, prices: Prices) -> str:
    rates = _rates(model, prices)
    return "unknown" if rates is None else f"{rates[0]:g} / {rates[1]:g}"


def _rates(model: ListedModel, prices: Prices) -> tuple[float, float] | None:
    """Return USD for a million tokens read and written, with a short prompt; None when unknown."""
    from habakkuk.llm.types import Usage  # noqa: PLC0415 - not for --help

    read = prices.cost(model.ref, Usage(input=_SAMPLE))
    whole = prices.cost(model.ref, Usage(input=_SAMPLE, output=_SAMPLE))
    if read is None or whole is None:
        return None
    scale = 1_000_000 // _SAMPLE
    return float(read * scale), float((whole - read) * scale)


def _remarks(
    found: Sequence[ListedProvider], untold: Mapping[str, str], *, probed: bool
) -> list[str]:
    """Return what the table does not show."""
    lines = []
    for one in found:
        more = len(one.models) - _SHOWN
        if one.missing_key:
            lines.append(f"{one.name}: {one.missing_key} is not set.")
        elif one.name in untold:
            why = one_line(untold[one.name])
            lines.append(f"{one.name} does not tell which models it has: {why}.")
        elif not one.models:
            says = "it says that it has none" if probed else "--probe asks which models it has"
            lines.append(f"{one.name}: {says}.")
        elif more > 0:
            lines.append(f"{one.name} has {more} more; -o json lists them all.")
    if not found:
        lines.append("No provider is configured; begin with `habakkuk provider add`.")
    return lines


def _provider(one: ListedProvider, prices: Prices) -> dict[str, Any]:
    models = [
        {
            "model": str(model.ref),
            "known": model.profile.known,
            "context_window": model.profile.context_window,
            "vision": model.profile.vision,
            "documents": model.documents,
            "efforts": list(model.profile.efforts),
            "usd_per_million": _as_json(_rates(model, prices)),
            "agents": list(model.agents),
        }
        for model in one.models
    ]
    return {"name": one.name, "missing_key": one.missing_key, "models": models}


def _as_json(rates: tuple[float, float] | None) -> dict[str, float] | None:
    return None if rates is None else {"input": rates[0], "output": rates[1]}
