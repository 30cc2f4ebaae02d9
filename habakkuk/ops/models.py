"""Which model `up` serves with: what is configured, else the bundled one, started for it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.llm.profiles.models import LOCAL_PROVIDER
from habakkuk.llm.selection import LOCAL_NAME, LOCAL_URL, Selection, select
from habakkuk.ops.port import free_port


@dataclass(frozen=True)
class LocalModel:
    """A local model to be started: its file, its port, its name (None: the bundled one's own)."""

    file: Path
    port: int
    name: str | None = None

    @property
    def url(self) -> str:
        """Where it will answer."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def variables(self) -> dict[str, str]:
        """What tells the other processes of it."""
        return {LOCAL_URL: self.url} | ({LOCAL_NAME: self.name} if self.name else {})


def named_model(file: Path) -> LocalModel:
    """Return a model file that a person chose."""
    return LocalModel(file, free_port(), file.stem.lower().replace("/", "-"))


def bundled_model(file: Path) -> LocalModel:
    """Return the bundled model."""
    return LocalModel(file, free_port())


def with_local(settings: Settings, model: LocalModel) -> Settings:
    """Return the settings as a process sees them that knows of the model."""
    return with_variables(settings, model.variables)


def needs_bundled(settings: Settings) -> bool:
    """Whether an agent would be answered for by the bundled model, did it run.

    Raises ConfigurationError when the configuration is wrong either way.
    """
    if settings.environment.get(LOCAL_URL):
        return False
    probe = select(with_variables(settings, {LOCAL_URL: "http://127.0.0.1:9/v1"}))
    return any(
        ref.provider == LOCAL_PROVIDER for models in probe.agents.values() for ref in models.chain
    )


def who_answers(settings: Settings) -> Selection | str:
    """Return the selection, or what is wrong with it: `up` starts all the same and says so."""
    try:
        return select(settings)
    except ConfigurationError as error:
        return str(error)


def with_variables(settings: Settings, variables: dict[str, str]) -> Settings:
    """Return the settings with variables as if the environment had them."""
    values = {**settings.environment.values, **variables}
    environment = dataclasses.replace(settings.environment, values=values)
    return dataclasses.replace(settings, environment=environment)
