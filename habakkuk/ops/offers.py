"""A model server that answers on this machine already, offered instead of the bundled toy."""

from __future__ import annotations

import http.client
import json
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from habakkuk.core.config.load import parse_config
from habakkuk.core.config.settings import Settings
from habakkuk.ops.config_file import with_provider
from habakkuk.ops.home import write_private

# The presets of servers that people run, by their usual port.
PORTS = {11434: "ollama", 1234: "lmstudio", 8080: "llamacpp"}
_ANSWER_SECONDS = 0.4
_OK = 200
_NAME = re.compile(r"[^\s/]\S*")


@dataclass(frozen=True)
class Offer:
    """One server that answers, and a model that it has."""

    provider: str
    port: int
    model: str

    @property
    def question(self) -> str:
        """What the person is asked."""
        return (
            f"A model server answers on 127.0.0.1:{self.port} ({self.provider}) with {self.model}."
            " Use it instead of the bundled toy?"
        )


class _Model(BaseModel):
    id: str


class _Models(BaseModel):
    data: list[_Model]


def find_offer(ports: dict[int, str] | None = None) -> Offer | None:
    """Return the first server that answers with a model; None when none does."""
    for port, provider in (PORTS if ports is None else ports).items():
        for model in _models(port):
            if _NAME.fullmatch(model):
                return Offer(provider, port, model)
    return None


def _models(port: int) -> list[str]:
    """Return the models of what listens on a port, none when that is no model server."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=_ANSWER_SECONDS)
    try:
        line.request("GET", "/v1/models")
        answer = line.getresponse()
        body = answer.read(1_000_000)
        if answer.status != _OK:
            return []
        return [model.id for model in _Models.model_validate(json.loads(body)).data]
    except (OSError, http.client.HTTPException, ValueError, ValidationError):
        return []
    finally:
        line.close()


def accept(offer: Offer, settings: Settings) -> Path:
    """Write the provider into config.yaml, and as the model of the main agent; return the file.

    Comments and everything else stay. Raises ConfigurationError when the result were not valid.
    """
    path = settings.home / "config.yaml"
    raw = path.read_bytes() if path.exists() else b""
    agent = settings.config.main_agent
    named = settings.config.agents[agent].model is not None
    models = {} if named else {agent: f"{offer.provider}/{offer.model}"}
    changed = with_provider(raw, offer.provider, {}, models)
    parse_config(changed, path.name)
    write_private(path, changed)
    return path
