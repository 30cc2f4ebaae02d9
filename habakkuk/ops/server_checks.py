"""The doctor's checks of the databases, the processes and the model."""

from __future__ import annotations

from collections.abc import Mapping

from redis.exceptions import RedisError

from habakkuk.core.config.settings import Settings
from habakkuk.core.redis import command_client
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.jobs.store import workers
from habakkuk.llm.selection import Selection, Tier
from habakkuk.ops.binaries import POSTGRES_OLDEST, VALKEY_OLDEST
from habakkuk.ops.findings import Finding, fail, ok, warn
from habakkuk.ops.models import needs_bundled, who_answers
from habakkuk.ops.port import check_port
from habakkuk.ops.readiness import web_answers
from habakkuk.ops.run_file import browser_address
from habakkuk.ops.schema import schema_fault
from habakkuk.ops.store import server_settings
from habakkuk.processes.store import census

_DURABLE = ("fsync", "full_page_writes", "synchronous_commit")
# A worker holds at most 14 connections, web 21, and a deployment grows.
_CONNECTIONS = 100


def check_postgres(database: Database) -> list[Finding]:
    """Check that PostgreSQL answers, is new enough and keeps what it confirms."""
    try:
        found = server_settings(database)
    except DatabaseAway as error:
        advice = "start with ./scripts/up, or look at what DATABASE_URL names"
        return [fail("postgresql", f"does not answer: {error.detail}", advice)]
    return [_version(found), _durability(found), _connections(found)]


def _version(found: Mapping[str, str]) -> Finding:
    version = found["server_version"]
    if int(found["server_version_num"]) // 10_000 < POSTGRES_OLDEST:
        return fail("postgresql", f"version {version}", f"use {POSTGRES_OLDEST} or later")
    return ok("postgresql", f"version {version}")


def _durability(found: Mapping[str, str]) -> Finding:
    off = [name for name in _DURABLE if found[name] == "off"]
    if off:
        advice = f"set {', '.join(f'{name} = on' for name in off)} in postgresql.conf and reload"
        return fail("durability", f"{', '.join(off)} off: confirmed messages can be lost", advice)
    return ok("durability", ", ".join(f"{name} {found[name]}" for name in _DURABLE))


def _connections(found: Mapping[str, str]) -> Finding:
    most = found["max_connections"]
    if int(most) < _CONNECTIONS:
        return warn("connections", f"at most {most}", "set max_connections to 300")
    return ok("connections", f"at most {most}")


def check_schema(settings: Settings) -> Finding:
    """Check that the tables are those of this code."""
    try:
        fault = schema_fault(settings)
    except DatabaseAway:
        return fail("schema", "unknown: PostgreSQL does not answer", "see postgresql")
    if fault is not None:
        return fail("schema", fault.partition(";")[0], "habakkuk migrate")
    return ok("schema", "current")


def check_redis(url: str) -> list[Finding]:
    """Check that Redis answers and forgets nothing on its own."""
    client = command_client(url)
    try:
        info = client.info("server")
        policy = client.info("memory").get("maxmemory_policy", "unknown")
        append = bool(client.info("persistence").get("aof_enabled"))
    except (RedisError, OSError) as error:
        advice = "answers come late and not streamed until it is back; see REDIS_URL"
        return [warn("redis", f"does not answer: {error}", advice)]
    finally:
        client.close()
    return [_redis_version(info), _redis_memory(str(policy), append=append)]


def _redis_version(info: Mapping[str, object]) -> Finding:
    name = "Valkey" if "valkey_version" in info else "Redis"
    version = str(info.get("valkey_version") or info.get("redis_version"))
    if int(version.partition(".")[0] or 0) < VALKEY_OLDEST:
        return fail("redis", f"{name} {version}", f"use {VALKEY_OLDEST} or later")
    return ok("redis", f"{name} {version}")


def _redis_memory(policy: str, *, append: bool) -> Finding:
    faults = [] if policy == "noeviction" else [f"maxmemory-policy is {policy}"]
    faults += [] if append else ["appendonly is off"]
    if faults:
        advice = "set maxmemory-policy noeviction and appendonly yes: wake-ups get lost otherwise"
        return warn("redis keeps", ", ".join(faults), advice)
    return ok("redis keeps", "noeviction, appendonly")


def check_workers(database: Database, config_hash: str) -> Finding:
    """Check that somebody runs jobs, with today's configuration. The schema must be current."""
    present = workers.alive(database)
    if not present:
        return fail("workers", "none is running", "start with ./scripts/up; see habakkuk logs")
    outdated = [row.id for row in present if row.config_hash != config_hash]
    if outdated:
        return warn("workers", f"{', '.join(outdated)}: an older config.yaml", "start again")
    return ok("workers", f"{len(present)} running")


def check_keeper(database: Database) -> Finding:
    """Check that the service of background processes is there. The schema must be current."""
    found = census(database)
    if not found.kept:
        lost = f"nothing keeps them; {found.running} are taken for running" if found.running else ""
        return fail("background", lost or "nothing keeps processes", "see habakkuk logs processes")
    return ok("background", f"{found.running} processes running")


def check_web(settings: Settings) -> Finding:
    """Check that the web server answers where it should."""
    address = browser_address(settings.listen)
    if web_answers(settings.listen):
        return ok("web", address)
    # What is wrong with the port is said when it is not ours.
    check_port(settings.listen)
    return fail("web", f"nothing answers at {address}", "start with ./scripts/up")


def _nobody(settings: Settings, selection: Selection) -> Finding:
    """Say that nobody answers, unless the bundled model would while `up` runs."""
    if needs_bundled(settings):
        return warn("model", "only the bundled toy, while ./scripts/up runs", selection.problems[0])
    names = [name for name, models in selection.agents.items() if models.tier is Tier.NONE]
    return fail("model", f"nobody answers for {', '.join(names)}", "; ".join(selection.problems))


def check_model(settings: Settings) -> Finding:
    """Check that somebody answers for every agent."""
    selection = who_answers(settings)
    if isinstance(selection, str):
        return fail("model", selection, "correct config.yaml")
    agents = selection.agents.values()
    lines = "; ".join(models.line for models in agents)
    if any(models.tier is Tier.NONE for models in agents):
        return _nobody(settings, selection)
    if selection.problems:
        return warn("model", lines, "; ".join(selection.problems))
    if any(models.tier is Tier.TOY for models in agents):
        advice = f"put a key such as OPENAI_API_KEY into {settings.home / '.env'} and start again"
        return warn("model", "the bundled toy", advice)
    return ok("model", lines)
