"""The composition root: every part of a process is made here, once, from its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from habakkuk.accounts.logins import Logins
from habakkuk.accounts.memory import TokenMemory
from habakkuk.accounts.service import Accounts
from habakkuk.agent.approval.service import Approvals
from habakkuk.agent.compaction.handler import CompactHandler
from habakkuk.agent.inspection import Inspections
from habakkuk.agent.offered import offered_in
from habakkuk.agent.ports import Fits, TurnPorts
from habakkuk.agent.threads import ToolPool
from habakkuk.agent.turn import TurnHandler
from habakkuk.blobs.service import Blobs
from habakkuk.channels.registry import Channels
from habakkuk.commands.contract import Health, Server
from habakkuk.conversations.budgets import Budgets
from habakkuk.conversations.choices import SessionChoices
from habakkuk.conversations.remembered import Remembered
from habakkuk.conversations.reports import UsageReports
from habakkuk.conversations.service import Conversations
from habakkuk.conversations.shelf import Shelf
from habakkuk.conversations.spend import SpendCaps
from habakkuk.conversations.store.usage import UsageLedger
from habakkuk.conversations.types import session_of
from habakkuk.core.clock import Clock
from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.http import OutsideHttp
from habakkuk.core.redaction import Redactor
from habakkuk.core.redis import RedisGate
from habakkuk.db.cooperate import cooperate_with_gevent
from habakkuk.db.engine import IDLE_SECONDS, Database, DatabaseAway
from habakkuk.db.ping import ping_away
from habakkuk.delivery.handler import DeliveryHandler
from habakkuk.events.hub import LiveHub
from habakkuk.events.publisher import Publisher
from habakkuk.gateway.amend import Amendments
from habakkuk.gateway.intake import Intake
from habakkuk.gateway.service import Gateway
from habakkuk.gateway.service import Ports as GatewayPorts
from habakkuk.hooks.service import Hooks
from habakkuk.jobs.contract import JobHandler
from habakkuk.jobs.done import DoneListener
from habakkuk.jobs.leases import lease_seconds
from habakkuk.jobs.service import Jobs
from habakkuk.jobs.wake import BackgroundWake, CelerySender, Wake
from habakkuk.jobs.wake_list import ListSender
from habakkuk.keeper.service import Keeper, KeeperParts
from habakkuk.llm.choice import with_choice
from habakkuk.llm.cooldowns import SharedCooldowns
from habakkuk.llm.counting import Count, guess
from habakkuk.llm.prices import Prices
from habakkuk.llm.profiles.models import profile_for
from habakkuk.llm.registry import Registry
from habakkuk.llm.router import Ports, Router
from habakkuk.llm.screening import Screening
from habakkuk.llm.selection import NO_MODEL, Selection, select
from habakkuk.llm.types import ModelRef, ToolSpec
from habakkuk.llm.window import compact_at
from habakkuk.ops.tidy import TidyHandler, enqueue_tidy
from habakkuk.processes.desk import Desk
from habakkuk.tools.commands import Commands
from habakkuk.tools.outputs import KeptOutputs
from habakkuk.tools.registry import ToolRegistry
from habakkuk.tools.sandbox.contract import Ground
from habakkuk.tools.services import ToolServices

_TOOL_PACKAGE = "habakkuk.tools"
_TEST_TOOLS = "HABAKKUK_TEST_TOOLS"


@dataclass(frozen=True)
class Container:
    """The parts of one process. Nothing in it connects before it is used."""

    settings: Settings
    database: Database
    redis: RedisGate | None
    redactor: Redactor
    failpoints: Failpoints
    clock: Clock
    wake: Wake
    rewake: Wake
    jobs: Jobs
    accounts: Accounts
    conversations: Conversations
    blobs: Blobs
    approvals: Approvals
    gateway: Gateway
    hooks: Hooks
    publisher: Publisher
    live: LiveHub
    done: DoneListener
    selection: Selection
    models: Registry
    prices: Prices
    usage: UsageLedger
    handlers: dict[str, JobHandler]
    tool_pool: ToolPool
    channels: Channels

    @property
    def logins(self) -> Logins:
        """How people come in with a browser; it holds nothing of its own."""
        return Logins(self.database)

    @property
    def shelf(self) -> Shelf:
        """People's own conversations, as lists; it holds nothing of its own."""
        return Shelf(self.database)

    @property
    def choices(self) -> SessionChoices:
        """People's choices of models; it holds nothing of its own."""
        return SessionChoices(self.database, self.selection, self.settings.config)

    @property
    def spend_caps(self) -> SpendCaps:
        """What lets model calls begin; it holds nothing of its own."""
        config, endpoints = self.settings.config, self.selection.endpoints
        return SpendCaps(self.database, config, self.prices, self.usage, self.clock, endpoints)

    @property
    def budgets(self) -> Budgets:
        """The caps on spending to look at and raise; it holds nothing of its own."""
        return Budgets(self.database, self.settings.config, self.clock)

    @property
    def usage_reports(self) -> UsageReports:
        """What models used and cost; it holds nothing of its own."""
        return UsageReports(self.database, self.settings.config, self.clock)

    def inspections(self, count: Count = guess) -> Inspections:
        """Make what looks back at model calls; `count` counts tokens."""
        tools = ToolRegistry(_tool_packages(self.settings))

        def specs(agent: str, session_id: str) -> Sequence[ToolSpec]:
            return offered_in(tools, _agent(self.settings, agent), self.database, session_id)

        return Inspections(self.database, specs, count)

    @property
    def processes(self) -> Desk:
        """Background processes; it holds nothing of its own."""
        return Desk(self.database, self.settings.home, self.failpoints)

    def keeper(self) -> Keeper:
        """Make what keeps background processes, for the process that does."""
        workspace = partial(_workspace, self.settings.home)
        commands = _commands(self.settings)
        return Keeper(
            KeeperParts(
                self.database,
                self.settings.home,
                commands,
                workspace,
                self.gateway.admit,
                self.failpoints,
            )
        )

    @property
    def amendments(self) -> Amendments:
        """Changes to messages that were let in; it holds nothing of its own."""
        return Amendments(self.database, self.gateway, self.live)

    @property
    def intake(self) -> Intake:
        """Where webhooks come in; it holds nothing of its own."""
        return Intake(self.channels, self.accounts, self.gateway)

    def warm(self) -> None:
        """Load the model SDKs and prices and make the providers, before a worker's first turn."""
        self.models.warm()
        self.prices.warm()

    def maintain(self) -> None:
        """Enqueue what is due today and sum up what is spent; more often changes nothing.

        Raises DatabaseAway.
        """
        enqueue_tidy(self.jobs, self.database, self.clock.now().date())
        self.spend_caps.settle()

    def degraded(self) -> list[str]:
        """Name the parts that are away while the server goes on."""
        return ["redis"] if self.redis is None or self.redis.ping_away() else []

    def database_away(self) -> bool:
        """Ask PostgreSQL; True when it does not answer."""
        return ping_away(self.database)

    def close(self) -> None:
        """Let go of connections and threads."""
        self.live.stop()
        self.done.stop()
        self.publisher.stop()
        self.wake.stop()
        self.rewake.stop()
        self.tool_pool.stop()
        self.models.close()
        if self.redis is not None:
            self.redis.close()
        self.database.dispose()


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
    handlers: dict[str, JobHandler] = {}
    failpoints = _failpoints(settings)
    jobs = Jobs(database, wake, handlers)
    selection = select(settings)
    live = LiveHub(redis)
    memory = TokenMemory()
    approvals = Approvals(database, jobs)
    server = Server(selection, partial(_health, jobs, redis, selection))
    prices = Prices(settings.config, selection.endpoints)
    hooks = Hooks(settings.config.hooks, settings.environment.process, settings.home)
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
        blobs=Blobs(settings.home / "blobs", database, failpoints),
        approvals=approvals,
        gateway=Gateway(
            database, jobs, settings.config, failpoints, GatewayPorts(server, approvals, hooks)
        ),
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
        channels=Channels(settings.config.channels, settings.environment.values, OutsideHttp()),
    )


def _database(url: str, name: str, pool_size: int, lease: float) -> Database:
    """Return the pool; what a frozen process has locked must be free when its lease ends."""
    cooperate_with_gevent()
    idle = min(IDLE_SECONDS, lease)
    return Database(url, pool_size=pool_size, name=f"habakkuk {name}", idle_seconds=idle)


def _add_handlers(container: Container) -> None:
    """Fill the job kinds: they need parts that need the dictionary first."""
    tools = ToolRegistry(_tool_packages(container.settings))
    ports = TurnPorts(
        config=container.settings.config,
        clock=container.clock,
        models=_router(container),
        usage=container.usage,
        models_of=partial(_models_of, container.selection),
        fits=partial(_fits, container.selection),
        release=container.spend_caps.release_of_turn,
        remembered=Remembered(),
        tools=tools,
        tool_threads=container.tool_pool,
        tool_services=_tool_services(container, tools),
        publisher=container.publisher,
        redactor=container.redactor,
        hooks=container.hooks,
        workspace=partial(_workspace, container.settings.home),
    )
    undeliverable = container.approvals.undeliverable
    handlers: tuple[JobHandler, ...] = (
        TurnHandler(ports),
        CompactHandler(ports),
        DeliveryHandler(container.channels, container.clock, undeliverable),
        TidyHandler(container.database, container.blobs, container.spend_caps),
    )
    for handler in handlers:
        if container.handlers.setdefault(handler.kind, handler) is not handler:
            raise AssertionError(f"two handlers for the job kind {handler.kind!r}")


def _tool_services(container: Container, tools: ToolRegistry) -> ToolServices:
    settings, blobs = container.settings, container.blobs
    public = urlsplit(settings.config.public_url or "")
    return ToolServices(
        web=OutsideHttp(own_names=[public.hostname] if public.hostname else []),
        commands=_commands(settings),
        outputs=KeptOutputs(blobs.put, blobs.get),
        catalogue=lambda agent: tools.specs(_agent(settings, agent).toolsets),
        processes=container.processes,
        failpoints=container.failpoints,
    )


def _commands(settings: Settings) -> Commands:
    process, limits = settings.environment.process, settings.config.commands
    secret = settings.environment.get
    ground = Ground(process, settings.home, limits=limits, secret=secret)
    return Commands.on(ground, settings.config.agents)


def _router(container: Container) -> Router:
    redis = container.redis
    ports = Ports(
        log=container.usage,
        budget=container.spend_caps,
        screen=Screening(container.selection.endpoints, container.blobs.get),
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


def _tool_packages(settings: Settings) -> list[str]:
    """Return where tools are found; the test-only setting adds a package of theirs."""
    extra = settings.environment.get(_TEST_TOOLS)
    return [_TOOL_PACKAGE, *([extra] if extra else [])]


def _agent(settings: Settings, name: str) -> AgentConfig:
    return settings.config.agents.get(name, AgentConfig())


def _workspace(home: Path, agent: str) -> Path:
    return home / "agents" / agent / "workspace"


def _models_of(
    selection: Selection, agent: str, chosen: str | None
) -> tuple[Sequence[ModelRef], str | None]:
    models = selection.agents.get(agent)
    if models is None:
        raise ConfigurationError(f"the agent {agent!r} is no longer configured")
    chain, passed_over = with_choice(selection, models.chain, chosen)
    if not chain:
        raise ConfigurationError(models.problem or NO_MODEL)
    return chain, passed_over


def _fits(selection: Selection, ref: ModelRef, agent: AgentConfig) -> Fits:
    endpoint = selection.endpoints.get(ref.provider)
    profile = profile_for(ref)
    kind = endpoint.type if endpoint is not None else ""
    return Fits(compact_at(agent.compact_at, kind, profile), profile.context_window)


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
