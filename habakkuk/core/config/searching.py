"""The section `search` of config.yaml."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from habakkuk.core.config.values import SECTION, Duration, Name, Url, Variable


def _named_backend(value: object) -> object:
    return {"backend": value} if isinstance(value, str) else value


class SearchBackendConfig(BaseModel):
    """One service that searches the web; its name alone stands for it with its defaults.

    `url` is that of an own or another server of its kind; `timeout` is for one request of it.
    """

    model_config = SECTION

    backend: Name
    api_key_env: Variable | None = None
    url: Url | None = None
    timeout: Annotated[Duration, Field(ge=1.0, le=60.0)] = 10.0


class SearchTuningConfig(BaseModel):
    """Whether back-ends that often come too late are given longer, `step` by `step`."""

    model_config = SECTION

    enabled: bool = False
    step: Annotated[Duration, Field(ge=0.5, le=30.0)] = 5.0
    max_bump: Annotated[Duration, Field(ge=0.5, le=60.0)] = 30.0


SearchBackend = Annotated[SearchBackendConfig, BeforeValidator(_named_backend)]


class SearchConfig(BaseModel):
    """How the web is searched: the first back-end is asked first, the next when it fails.

    `keyless`: last of all, or alone, pages of public search engines are read. `timeout` is for all
    of them together.
    """

    model_config = SECTION

    backends: list[SearchBackend] = []
    keyless: bool = True
    timeout: Annotated[Duration, Field(ge=1.0, le=90.0)] = 25.0
    tuning: SearchTuningConfig = SearchTuningConfig()
