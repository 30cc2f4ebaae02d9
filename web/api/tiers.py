"""How the parts of the server are, each with what to do about it."""

from __future__ import annotations

from habakkuk.bootstrap import Container
from habakkuk.core.errors import Unavailable
from habakkuk.llm.selection import AgentModels, Tier
from web.api.shown import TierBody


def tiers(container: Container) -> list[TierBody]:
    """Return how the parts are that an answer needs."""
    return [
        _database(container),
        _redis(container),
        _workers(container),
        *(_model(models) for models in container.selection.agents.values()),
    ]


def _database(container: Container) -> TierBody:
    if container.database_away():
        return TierBody(
            name="Database",
            state="down",
            line="PostgreSQL does not answer: nothing can be read or sent.",
            fix="Start PostgreSQL, or ./scripts/up, which brings its own.",
        )
    return TierBody(name="Database", state="ok", line="PostgreSQL answers.", fix=None)


def _redis(container: Container) -> TierBody:
    if "redis" in container.degraded():
        return TierBody(
            name="Redis",
            state="degraded",
            line="Redis is away: messages are accepted, answers come late and all at once.",
            fix="Start Redis or Valkey at REDIS_URL; nothing is lost until then.",
        )
    return TierBody(name="Redis", state="ok", line="Redis answers.", fix=None)


def _workers(container: Container) -> TierBody:
    try:
        alive = container.jobs.workers_alive()
    except Unavailable:
        return TierBody(
            name="Workers", state="down", line="Unknown while the database is away.", fix=None
        )
    if not alive:
        return TierBody(
            name="Workers",
            state="down",
            line="No worker runs: messages are stored and wait.",
            fix="Start one with ./scripts/up, or the worker service.",
        )
    ours = container.settings.config_hash
    old = sum(1 for worker in alive if worker.config_hash != ours)
    count = "1 worker runs." if len(alive) == 1 else f"{len(alive)} workers run."
    if old:
        return TierBody(
            name="Workers",
            state="degraded",
            line=f"{count} {old} of them started with another config.yaml than this page's server.",
            fix="Restart Habakkuk, so that all read the same config.yaml.",
        )
    return TierBody(name="Workers", state="ok", line=count, fix=None)


def _model(models: AgentModels) -> TierBody:
    if models.tier is Tier.FULL:
        return TierBody(name="Model", state="ok", line=models.line, fix=models.problem)
    state = "degraded" if models.tier is Tier.TOY else "down"
    fix = models.problem or (
        "Set the key of a service, such as OPENAI_API_KEY, in the environment or in"
        " $HABAKKUK_HOME/.env, and start Habakkuk again."
    )
    return TierBody.model_validate(
        {"name": "Model", "state": state, "line": models.line, "fix": fix}
    )
