"""Everything that one process is configured with, read once at its start."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from habakkuk.core.config.environment import DEFAULT_LISTEN, Environment, read_environment
from habakkuk.core.config.load import load_config
from habakkuk.core.config.override import overridden
from habakkuk.core.config.schema import Config
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.redaction import secret_values

_PORTS = range(1, 65536)
_SCHEMES = ("postgresql+psycopg2://", "postgresql://", "postgres://")


@dataclass(frozen=True)
class Settings:
    """The configuration of one process.

    `database_url` and `redis_url` are None when neither the environment nor a running `up` named
    them; whoever needs them says so. `config_hash` differs when a process reads another file.
    """

    home: Path
    config: Config
    environment: Environment = field(repr=False)
    database_url: str | None = field(repr=False)
    redis_url: str | None = field(repr=False)
    listen: tuple[str, int]
    config_hash: str

    def secret(self, name: str | None) -> str | None:
        """Return the value of the variable that the config names as a secret."""
        return self.environment.get(name) if name else None

    @property
    def secrets(self) -> list[str]:
        """Every value that may not be written anywhere.

        What the config names as a secret, the providers' own headers, and the variables whose name
        says so.
        """
        config = self.config
        providers = config.providers.values()
        named = [name for provider in providers for name in provider.key_variables]
        named += [one.env for one in config.secrets.values()]
        named += [one.api_key_env for one in config.search.backends if one.api_key_env]
        for channel in config.channels.values():
            named += [str(v) for k, v in (channel.model_extra or {}).items() if k.endswith("_env")]
        machines = (agent.ssh for agent in config.agents.values() if agent.ssh is not None)
        named += [machine.key_env for machine in machines if machine.key_env is not None]
        values = filter(None, map(self.secret, named))
        headers = (value for provider in providers for value in provider.headers.values())
        return [*secret_values(self.environment.values), *values, *headers]


def load_settings(environment: Environment | None = None) -> Settings:
    """Read config.yaml and the environment. Raises ConfigurationError."""
    env = environment or read_environment()
    path = env.home / "config.yaml"
    config = overridden(load_config(path), env)
    raw = path.read_bytes() if path.is_file() else b""
    database = env.get("DATABASE_URL")
    return Settings(
        home=env.home,
        config=config,
        environment=env,
        database_url=psycopg2_url(database) if database else None,
        redis_url=env.get("REDIS_URL"),
        listen=parse_listen(env.get("HABAKKUK_LISTEN") or DEFAULT_LISTEN),
        config_hash=hashlib.sha256(raw).hexdigest()[:12],
    )


def psycopg2_url(url: str) -> str:
    """Return a PostgreSQL URL with the driver named: without it SQLAlchemy 2.1 takes psycopg 3."""
    for scheme in _SCHEMES:
        if url.startswith(scheme):
            return "postgresql+psycopg2://" + url.removeprefix(scheme)
    raise ConfigurationError("DATABASE_URL: only PostgreSQL is supported (postgresql://…)")


def parse_listen(text: str) -> tuple[str, int]:
    """Return (host, port) of `host:port`; brackets around an IPv6 host are taken off."""
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) not in _PORTS:
        raise ConfigurationError(
            f"HABAKKUK_LISTEN: {text!r} is not host:port, such as {DEFAULT_LISTEN}"
        )
    return host.strip("[]"), int(port)
