"""docker-compose.yml as docker reads it: merged and with its variables filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[3]
_VARIABLE = re.compile(r"\$\{([A-Z_]+)(?::\?[^}]*)?\}")


def services(variables: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the services by name; a variable that .env would have to give and does not fails."""
    text = (ROOT / "docker-compose.yml").read_text()
    filled = _VARIABLE.sub(lambda match: variables[match[1]], text)
    tree: dict[str, Any] = YAML(typ="safe").load(filled)
    return dict(tree["services"])


def own(found: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the services of our image."""
    return {name: one for name, one in found.items() if one["image"] == "habakkuk"}
