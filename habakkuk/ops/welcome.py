"""What a person reads when Habakkuk is up."""

from __future__ import annotations

from habakkuk.core.config.settings import Settings
from habakkuk.llm.selection import Tier
from habakkuk.ops.console import Console
from habakkuk.ops.home import HomeFolder, data_folder
from habakkuk.ops.login import say_owner_link
from habakkuk.ops.models import who_answers
from habakkuk.ops.run_file import browser_address


def welcome(console: Console, settings: Settings, detached: bool) -> None:  # noqa: FBT001 - a fact of the run
    """Say where it listens, who answers, where the data is, how to ask and how to stop."""
    stop = "./scripts/habakkuk down" if detached else "Ctrl+C, or ./scripts/habakkuk down"
    console.say()
    console.heading("Habakkuk is up.")
    console.say()
    console.table(
        [
            ("Listens on", browser_address(settings.listen)),
            *_answers(settings),
            *_places(settings),
            ("Ask", './scripts/habakkuk ask "Hello, who are you?"'),
            ("Stop", stop),
        ]
    )
    console.say()
    if not detached:
        # Its output is a log otherwise, where no secret belongs: whoever started it shows the link.
        say_owner_link(console, settings)


def _answers(settings: Settings) -> list[tuple[str, str]]:
    selection = who_answers(settings)
    if isinstance(selection, str):
        return [("Answers", f"nobody yet: {selection}")]
    models = selection.agents[settings.config.main_agent]
    key_file = settings.home / ".env"
    if models.tier is Tier.TOY:
        return [
            ("Answers", f"{models.chain[0]}, a toy that runs on this machine: it shows that all"),
            ("", "works and knows little. For real answers put a key, such as"),
            ("", f"OPENAI_API_KEY=…, into {key_file} and start again."),
        ]
    rows = [("Answers", models.line)]
    if models.problem and models.problem not in models.line:
        rows.append(("", models.problem))
    return rows


def _places(settings: Settings) -> list[tuple[str, str]]:
    home = HomeFolder(settings.home)
    data = data_folder(home)
    rows = [("Home", f"{home.root} (logs: {home.logs})")]
    if data != home.root and not settings.environment.get("DATABASE_URL"):
        rows.append(("Database", str(data)))
    return rows
