"""Make every part of a process, once, from its settings."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from habakkuk.accounts.memory import AccountMemory
from habakkuk.accounts.service import Accounts
from habakkuk.agent.approval.service import Approvals
from habakkuk.agent.arriving.service import Arrivals
from habakkuk.agent.chains import fits, models_of
from habakkuk.agent.clarify.service import Questions
from habakkuk.agent.compaction.handler import CompactHandler
from habakkuk.agent.ports import TurnPorts
from habakkuk.agent.posting import Posts
from habakkuk.agent.threads import ToolPool
from habakkuk.agent.turn import TurnHandler
from habakkuk.agent.undo.handler import UndoHandler
from habakkuk.blobs.service import Blobs
from habakkuk.bootstrap.container import Container
from habakkuk.bootstrap.tooling import agent_of, commands_of, tools_of, workspace_of
from habakkuk.channels.registry import Channels
from habakkuk.commands.contract import Health, Server
from habakkuk.conversations.personalities import Personalities
from habakkuk.conversations.remembered import Remembered
from habakkuk.conversations.service import Conversations
from habakkuk.conversations.store.usage import UsageLedger
from habakkuk.conversations.todo import TodoLists
from habakkuk.conversations.types import session_of
from habakkuk.core.clock import Clock
from habakkuk.core.config.settings import Settings
from habakkuk.core.cooldowns import SharedCooldowns
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.outside import OutsideHttp
from habakkuk.core.redaction import Redactor
from habakkuk.core.redis import RedisGate
from habakkuk.db.cooperate import cooperate_with_gevent
from habakkuk.db.engine import IDLE_SECONDS, Database, DatabaseAway
from habakkuk.delivery.handler import DeliveryHandler
from habakkuk.delivery.signs import Signs
from habakkuk.events.hub import LiveHub
from habakkuk.events.publisher import Publisher
from habakkuk.gateway.answering import Answering
from habakkuk.gateway.service import Gateway
from habakkuk.gateway.service import Ports as GatewayPorts
from habakkuk.hooks.service import Hooks
from habakkuk.jobs.contract import JobHandler
from habakkuk.jobs.done import DoneListener
from habakkuk.jobs.leases import lease_seconds
from habakkuk.jobs.service import Jobs
from habakkuk.jobs.wake import BackgroundWake, CelerySender, Wake
from habakkuk.jobs.wake_list import ListSender
from habakkuk.llm.media.images import Images
from habakkuk.llm.prices import Prices
from habakkuk.llm.registry import Registry
from habakkuk.llm.router import Ports, Router
from habakkuk.llm.screening import Screening
from habakkuk.llm.selection import Selection, select
from habakkuk.ops.tidy import TidyHandler
from habakkuk.search.service import Search
from habakkuk.tools.files import ShownFiles
from habakkuk.tools.outputs import KeptOutputs
from habakkuk.tools.registry import ToolRegistry
from habakkuk.tools.secrets import Secrets
from habakkuk.tools.services import ToolServices


def build(
    settings: Settings, *, name: str, pool_size: int = 12, wake: Wake | None = None
) -> Container:
    """Make the parts of a process called `name`. Raises ConfigurationError.

    `pool_size` is how many connections it may hold (blueprint §10); `wake` is for tests.
    """
    database_url, redis_url = _urls(settings)
    database = _database(database_url, name, pool_size, lease_seconds(settings))
    redis = RedisGate(redis_url)
    first = wake or BackgroundWake(ListSender(redis), database)
    second = wake or BackgroundWake(CelerySender(redis_url), database)
    container = _assemble(settings, database, redis, first, second)
    _add_handlers(container)
    return container


def _assemble(
    settings: Settings, database: Database, redis: RedisGate, wake: Wake, rewake: Wake
) -> Container:
    handlers, failpoints = dict[str, JobHandler](), _failpoints(settings)
    jobs = Jobs(database, wake, handlers)
    selection = select(settings)
    live, memory = LiveHub(redis), AccountMemory()
    channels = Channels(settings.config.channels, settings.environment.values, OutsideHttp())
    blobs = Blobs(settings.home / "blobs", database, failpoints)
    prices = Prices(settings.config, selection.endpoints)
    hooks = _hooks(settings)
    ports = _gateway_ports(database, jobs, _server(settings, jobs, redis, selection, blobs), hooks)
    return Container(
        settings=settings,
        database=database,
        redis=redis,
        redactor=Redactor(settings.secrets),
        failpoints=failpoints,
        clock=Clock(),
        wake=wake,
        rewake=rewake,
        jobs=jobs,
        accounts=Accounts(database, memory),
        conversations=Conversations(database),
        blobs=blobs,
        approvals=ports.answering.approvals,
        gateway=Gateway(database, jobs, settings.config, failpoints, ports),
        hooks=hooks,
        publisher=Publisher(redis),
        live=live,
        done=DoneListener(database, partial(_hint, live), [memory]),
        selection=selection,
        models=Registry(selection.endpoints),
        prices=prices,
        usage=UsageLedger(database, prices),
        handlers=handlers,
        tool_pool=ToolPool(),
        channels=channels,
        signs=Signs(channels, database, failpoints),
    )


def _hooks(settings: Settings) -> Hooks:
    config, process = settings.config, settings.environment.process
    return Hooks(config.hooks, process, settings.home, niceness=config.worker_niceness)


def _server(
    settings: Settings, jobs: Jobs, redis: RedisGate, selection: Selection, blobs: Blobs
) -> Server:
    health = partial(_health, jobs, redis, selection)
    return Server(selection, Personalities(settings.home), health, blobs.put_file)


def _gateway_ports(database: Database, jobs: Jobs, server: Server, hooks: Hooks) -> GatewayPorts:
    answering = Answering(Approvals(database, jobs), Questions(database, jobs, hooks))
    return GatewayPorts(server, answering, hooks)


def _database(url: str, name: str, pool_size: int, lease: float) -> Database:
    """Return the pool; what a frozen process has locked must be free when its lease ends."""
    cooperate_with_gevent()
    idle = min(IDLE_SECONDS, lease)
    return Database(url, pool_size=pool_size, name=f"habakkuk {name}", idle_seconds=idle)


def _add_handlers(container: Container) -> None:
    """Fill the job kinds: they need parts that need the dictionary first."""
    tools = tools_of(container.settings)
    images, workspace = Images(), partial(workspace_of, container.settings.home)
    ports = TurnPorts(
        config=container.settings.config,
        clock=container.clock,
        models=_router(container, images),
        usage=container.usage,
        models_of=partial(models_of, container.selection),
        fits=partial(fits, container.selection),
        release=container.spend_caps.release_of_turn,
        remembered=Remembered(),
        tools=tools,
        tool_threads=container.tool_pool,
        tool_services=_tool_services(container, tools, images),
        publisher=container.publisher,
        redactor=container.redactor,
        hooks=container.hooks,
        workspace=workspace,
        checkpoints=container.checkpoints,
        personalities=Personalities(container.settings.home),
        signs=container.signs,
        arrivals=Arrivals(container.channels, container.blobs, workspace),
    )
    undeliverable = container.approvals.undeliverable
    handlers: tuple[JobHandler, ...] = (
        TurnHandler(ports),
        CompactHandler(ports),
        UndoHandler(ports),
        DeliveryHandler(container.channels, container.clock, undeliverable, container.blobs),
        TidyHandler(
            container.database, container.blobs, container.spend_caps, container.checkpoints
        ),
    )
    for handler in handlers:
        if container.handlers.setdefault(handler.kind, handler) is not handler:
            raise AssertionError(f"two handlers for the job kind {handler.kind!r}")


def _tool_services(container: Container, tools: ToolRegistry, images: Images) -> ToolServices:
    settings, blobs = container.settings, container.blobs
    config, public = settings.config, urlsplit(settings.config.public_url or "")
    web = OutsideHttp(own_names=[public.hostname] if public.hostname else [])
    return ToolServices(
        web=web,
        commands=commands_of(settings),
        outputs=KeptOutputs(blobs.put, blobs.get),
        secrets=Secrets(settings.config.secrets, settings.environment.get),
        catalogue=lambda agent: tools.specs(agent_of(settings, agent).toolsets),
        processes=container.processes,
        todo=TodoLists(container.database),
        posts=_posts(container),
        failpoints=container.failpoints,
        files=ShownFiles(blobs.put),
        images=images,
        search=Search(config.search, settings.environment.values, web, container.redis),
    )


def _posts(container: Container) -> Posts:
    blobs, live = container.blobs, container.live
    return Posts(container.database, container.channels, blobs.put_file, live)


def _router(container: Container, images: Images) -> Router:
    redis = container.redis
    ports = Ports(
        log=container.usage,
        budget=container.spend_caps,
        screen=Screening(container.selection.endpoints, container.blobs.get, images),
        cooldowns=SharedCooldowns(redis) if redis is not None else None,
    )
    return Router(container.models, ports)


def _urls(settings: Settings) -> tuple[str, str]:
    if settings.database_url is None or settings.redis_url is None:
        raise ConfigurationError(
            "DATABASE_URL and REDIS_URL are not set and nothing runs here; start with ./scripts/up"
        )
    return settings.database_url, settings.redis_url


def _failpoints(settings: Settings) -> Failpoints:
    log = settings.environment.get("HABAKKUK_FAILPOINT_LOG")
    spec = settings.environment.get("HABAKKUK_FAILPOINT") or ""
    return Failpoints(spec, Path(log) if log else None)


def _hint(live: LiveHub, serial_key: str) -> None:
    session = session_of(serial_key)
    if session is not None:
        live.hint(session)


def _health(jobs: Jobs, redis: RedisGate, selection: Selection) -> Health:
    try:
        workers = len(jobs.workers_alive())
    except DatabaseAway:
        workers = 0
    degraded = ["redis"] if redis.ping_away() else []
    lines = [models.line for models in selection.agents.values()]
    return Health(workers, degraded, "; ".join(lines))
