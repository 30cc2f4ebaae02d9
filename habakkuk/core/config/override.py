"""What the environment says in place of config.yaml, for servers whose files are an image."""

from __future__ import annotations

from pydantic import ValidationError

from habakkuk.core.config.environment import Environment
from habakkuk.core.config.schema import Config
from habakkuk.core.errors import ConfigurationError

_VARIABLES = {
    "public_url": "HABAKKUK_PUBLIC_URL",
    "trusted_proxies": "HABAKKUK_TRUSTED_PROXIES",
    "worker_niceness": "HABAKKUK_WORKER_NICENESS",
}


def overridden(config: Config, environment: Environment) -> Config:
    """Return the configuration with what the environment says. Raises ConfigurationError."""
    for name, variable in _VARIABLES.items():
        value = environment.get(variable)
        if value is not None:
            config = _with(config, name, value, variable)
    return config


def _with(config: Config, name: str, value: str, variable: str) -> Config:
    try:
        one = Config.model_validate({name: value}, strict=False)
    except ValidationError as error:
        message = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise ConfigurationError(f"{variable}: {message} (found {value!r:.80})") from error
    return config.model_copy(update={name: getattr(one, name)})
