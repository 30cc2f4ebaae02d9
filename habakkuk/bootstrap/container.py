"""The parts of one process, and what can be made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from habakkuk.accounts.logins import Logins
from habakkuk.accounts.service import Accounts
from habakkuk.agent.approval.service import Approvals
from habakkuk.agent.clarify.service import Questions
from habakkuk.agent.inspection import Inspections
from habakkuk.agent.offered import offered_in
from habakkuk.agent.threads import ToolPool
from habakkuk.blobs.service import Blobs
from habakkuk.bootstrap.tooling import agent_of, commands_of, tools_of, workspace_of
from habakkuk.channels.registry import Channels
from habakkuk.conversations.budgets import Budgets
from habakkuk.conversations.choices import SessionChoices
from habakkuk.conversations.personalities import Personalities
from habakkuk.conversations.reports import UsageReports
from habakkuk.conversations.service import Conversations
from habakkuk.conversations.shelf import Shelf
from habakkuk.conversations.spend import SpendCaps
from habakkuk.conversations.store.usage import UsageLedger
from habakkuk.core.clock import Clock
from habakkuk.core.config.settings import Settings
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.redaction import Redactor
from habakkuk.core.redis import RedisGate
from habakkuk.db.engine import Database
from habakkuk.db.ping import ping_away
from habakkuk.delivery.reports import Deliveries
from habakkuk.delivery.signs import Signs
from habakkuk.events.hub import LiveHub
from habakkuk.events.publisher import Publisher
from habakkuk.gateway.admittance import Admittance
from habakkuk.gateway.amend import Amendments
from habakkuk.gateway.answering import Answering
from habakkuk.gateway.edits import Edits
from habakkuk.gateway.health import ChannelHealth
from habakkuk.gateway.intake import Intake
from habakkuk.gateway.intake import Ports as IntakePorts
from habakkuk.gateway.limits import SenderLimit
from habakkuk.gateway.pairing import Pairings
from habakkuk.gateway.presses import Presses
from habakkuk.gateway.removals import Removals
from habakkuk.gateway.service import Gateway
from habakkuk.gateway.supervisor import Parts, Supervisor
from habakkuk.gateway.types import Inbound
from habakkuk.hooks.service import Hooks
from habakkuk.jobs.contract import JobHandler
from habakkuk.jobs.done import DoneListener
from habakkuk.jobs.service import Jobs
from habakkuk.jobs.wake import Wake
from habakkuk.keeper.notices import Door
from habakkuk.keeper.service import Keeper, KeeperPorts
from habakkuk.llm.counting import Count, guess
from habakkuk.llm.prices import Prices
from habakkuk.llm.registry import Registry
from habakkuk.llm.selection import Selection
from habakkuk.llm.types import ToolSpec
from habakkuk.ops.tidy import enqueue_tidy
from habakkuk.processes.desk import Desk
from habakkuk.tools.checkpoints.service import Checkpoints


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
    signs: Signs

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
        tools = tools_of(self.settings)

        def specs(agent: str, session_id: str) -> Sequence[ToolSpec]:
            return offered_in(tools, agent_of(self.settings, agent), self.database, session_id)

        return Inspections(self.database, specs, Personalities(self.settings.home), count)

    @property
    def checkpoints(self) -> Checkpoints:
        """Snapshots of workspaces; it holds nothing of its own."""
        home, agents = self.settings.home, self.settings.config.agents
        return Checkpoints(home, agents, partial(workspace_of, home))

    @property
    def questions(self) -> Questions:
        """The open questions of agents; it holds nothing of its own."""
        return Questions(self.database, self.jobs, self.hooks)

    @property
    def processes(self) -> Desk:
        """Background processes; it holds nothing of its own."""
        return Desk(self.database, self.settings.home, self.failpoints)

    def keeper(self) -> Keeper:
        """Make what keeps background processes, for the process that does."""
        home, commands = self.settings.home, commands_of(self.settings)
        most = self.settings.config.gateway.notice_turns
        door = Door(self.gateway.admit, self._note, most)
        ports = KeeperPorts(commands, partial(workspace_of, home), door)
        return Keeper(self.database, home, ports, self.failpoints)

    def supervisor(self) -> Supervisor:
        """Make what listens to chat platforms, for the process that does."""
        return Supervisor(Parts(self.database, self.channels, self.intake))

    @property
    def channel_health(self) -> ChannelHealth:
        """How the accounts are; it holds nothing of its own."""
        return ChannelHealth(self.database, self.channels)

    @property
    def deliveries(self) -> Deliveries:
        """What went out and what did not; it holds nothing of its own."""
        return Deliveries(self.database)

    def _note(self, inbound: Inbound, turn_id: str) -> None:
        """Show what Habakkuk says, also to whoever looks at the session just now."""
        self.gateway.note(inbound, turn_id)
        if inbound.session_id is not None:
            self.live.queue_changed(inbound.session_id)

    @property
    def amendments(self) -> Amendments:
        """Changes to messages that were let in; it holds nothing of its own."""
        return Amendments(self.database, self.gateway, self.live)

    @property
    def pairings(self) -> Pairings:
        """Strangers of channels, and who was let in; it holds nothing of its own."""
        return Pairings(self.database, self.accounts)

    @property
    def intake(self) -> Intake:
        """Where what channels bring comes in; it holds nothing of its own."""
        database, accounts = self.database, self.accounts
        answering = Answering(self.approvals, self.questions)
        ports = IntakePorts(
            database,
            accounts,
            Admittance(database, self.pairings, SenderLimit(self.redis)),
            Edits(database, accounts, self.gateway, self.live),
            Presses(database, accounts, answering),
            Removals(database, accounts, self.live),
        )
        return Intake(self.channels, self.gateway, self.settings.config.routes, ports)

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
        self.signs.stop()
        self.tool_pool.stop()
        self.models.close()
        if self.redis is not None:
            self.redis.close()
        self.database.dispose()
