from __future__ import annotations

from collections.abc import Iterator

import httpx2
import openai
import pytest

from scripts.drills.world import Options, World


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    """Web, two workers, both databases and the fake model, each a process."""
    with World(Options(forked=True)) as made:
        yield made


@pytest.fixture
def http(world: World) -> Iterator[httpx2.Client]:
    """A client with the token."""
    headers = {"authorization": f"Bearer {world.api.token}"}
    url = f"http://127.0.0.1:{world.web_port}"
    with httpx2.Client(base_url=url, headers=headers, trust_env=False, timeout=60) as client:
        yield client


@pytest.fixture
def sdk(world: World) -> Iterator[openai.OpenAI]:
    """OpenAI's own client, pointed at /v1."""
    with httpx2.Client(trust_env=False, timeout=60) as client:
        url = f"http://127.0.0.1:{world.web_port}/v1"
        yield openai.OpenAI(
            api_key=world.api.token, base_url=url, max_retries=0, http_client=client
        )
