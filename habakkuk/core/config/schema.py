"""The shape of config.yaml. Unknown keys are errors; secrets are named (`*_env`), never written."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from habakkuk.core.config.searching import SearchConfig
from habakkuk.core.config.values import (
    SECTION,
    CompactAt,
    Dollars,
    Duration,
    HostName,
    Limit,
    ModelName,
    ModelPattern,
    Name,
    PublicUrl,
    Size,
    Slots,
    Switch,
    Url,
    Variable,
    Variables,
    written,
)


class _Section(BaseModel):
    model_config = SECTION


class ProviderConfig(_Section):
    """One model service. One named after a preset needs nothing else; `preset` names it.

    Several variables in `api_key_env` are several keys: when one is refused or limited, the next
    is used.
    """

    type: str | None = None
    preset: str | None = None
    base_url: Url | None = None
    api_key_env: Variables = ()
    timeout: Limit = 600.0
    first_byte_timeout: Limit = 300.0
    stall_timeout: Limit = 120.0
    ping_timeout: Limit = 300.0
    headers: dict[str, str] = {}

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The variables that hold its keys, the first choice first."""
        return self.api_key_env


class PermissionMode(StrEnum):
    """What an agent may do without asking."""

    READ_ONLY = "read-only"
    ASK = "ask"
    WORKSPACE = "workspace"
    FULL = "full"


class Approvers(StrEnum):
    """Who decides on calls that need approval."""

    HUMAN = "human"
    REVIEWER = "reviewer"
    REVIEWER_THEN_HUMAN = "reviewer_then_human"


class SandboxKind(StrEnum):
    """Where an agent's commands run."""

    NONE = "none"
    WORKSPACE = "workspace"
    DOCKER = "docker"
    SSH = "ssh"


AbsolutePath = Annotated[
    str, written(r"(?s)/[^\0]*", 'write a path from the root on, such as "/opt/tools"')
]


class WorkspaceSandboxConfig(_Section):
    """What commands in the sandbox `workspace` get beside the workspace.

    `network` opens the internet to them, and this machine's own ports; `read` are more folders that
    they may read and run programs from.
    """

    network: bool = False
    read: list[AbsolutePath] = []


class DockerConfig(_Section):
    """The container of the sandbox `docker`.

    `user` is whom commands run as in it: by itself whoever owns the workspace, so that files stay
    theirs; "image" means the image's own. `pids` is how many processes it may have at once, null
    any number.
    """

    image: Annotated[str, written(r"[\w][\w./:@-]*", 'write an image, such as "python:3.13"')] = (
        "debian:stable-slim"
    )
    network: bool = True
    cpus: float | None = Field(default=None, gt=0, le=1024)
    memory: Size | None = None
    pids: int | None = Field(default=512, ge=16)
    user: Annotated[str, written(r"[\w][\w:-]*", 'write uid:gid, a name, or "image"')] | None = None


class SshConfig(_Section):
    """The machine of the sandbox `ssh`.

    `key_env` names the variable that holds the private key, or the path of its file; without it
    ssh uses its agent and its own configuration. A folder inside the workspace is the same one
    below `workdir` there.
    """

    host: Annotated[str, written(r"[\w][\w.:-]*", 'write a host, such as "build.example.org"')]
    port: int | None = Field(default=None, ge=1, le=65535)
    user: Annotated[str, written(r"[\w][\w.-]*", 'write a user name, such as "agent"')] | None = (
        None
    )
    key_env: Variable | None = None
    workdir: AbsolutePath


class AgentConfig(_Section):
    """One agent: its model as provider/model, what follows when that fails, and what it may do.

    `fallback_notice` says under an answer who failed before it; `web` lets the model use its
    provider's own search and fetch; `compact_at` is the length in tokens at which a session is
    summed up, -1 never, by itself what the model takes. `approvals` says who decides on calls that
    need it; a reviewer is `reviewer_model`, else the agent's own. With more tools than
    `tool_search_over` the model is told of few and searches for the others; -1 tells it of all.
    `checkpoints`: its workspace is kept before a turn changes it, unless more than
    `checkpoint_max_mb` MB of it are new.
    """

    model: ModelName | None = None
    fallbacks: list[ModelName] = []
    fallback_notice: bool = True
    web: bool = True
    compact_at: CompactAt | None = None
    permissions: Annotated[PermissionMode, Field(strict=False)] = PermissionMode.WORKSPACE
    approvals: Annotated[Approvers, Field(strict=False)] = Approvers.HUMAN
    reviewer_model: ModelName | None = None
    sandbox: Annotated[SandboxKind, Field(strict=False)] = SandboxKind.NONE
    workspace: WorkspaceSandboxConfig = WorkspaceSandboxConfig()
    docker: DockerConfig = DockerConfig()
    ssh: SshConfig | None = None
    toolsets: list[Name] = ["core"]
    tool_search_over: int = Field(default=60, ge=-1)
    prompt: str | None = Field(default=None, max_length=100_000)
    max_steps: int = Field(default=50, ge=1, le=1000)
    max_turn_tokens: int = Field(default=5_000_000, ge=1)
    turn_timeout: Limit = 3600.0
    max_output_tokens: int | None = Field(default=None, ge=1)
    checkpoints: bool = True
    checkpoint_max_mb: int = Field(default=200, ge=1, le=100_000)

    @model_validator(mode="after")
    def _names_a_machine(self) -> AgentConfig:
        if self.sandbox is SandboxKind.SSH and self.ssh is None:
            raise ValueError('the sandbox ssh needs a section "ssh: {host: ..., workdir: ...}"')
        return self


class WorkerPools(_Section):
    """How many jobs of each queue one worker process runs at once (design: blueprint §3)."""

    turns: Slots = 128
    subturns: Slots = 64
    deliveries: Slots = 32
    schedules: Slots = 8
    maintenance: Slots = 4

    def of(self, queue: str) -> int:
        """Return the slots of a queue; one such as `turns.node` has as many as `turns`."""
        return int(getattr(self, queue.partition(".")[0]))


class CommandLimits(_Section):
    """What the commands of agents may take; null sets no limit beside the system's own.

    `processes` is for all commands together and holds where they run as a user of their own;
    `memory` is for each process, `file_size` for each file that one writes.
    """

    processes: int | None = Field(default=4096, ge=16)
    memory: Size | None = 8 * 10**9
    file_size: Size | None = 20 * 10**9


class UnknownPolicy(StrEnum):
    """What becomes of a message of which nobody can say whether it arrived."""

    RESEND = "resend"
    HOLD = "hold"


class Groups(StrEnum):
    """Which messages of groups are read: those meant for the account, all, or none."""

    ADDRESSED = "addressed"
    ALL = "all"
    NONE = "none"


class ChannelConfig(_Section):
    """One account of a channel. What it needs beside this stands in the channel's own settings.

    Nobody may write who is not in `allow_from` or was paired; "*" stands for every person. More
    than `messages_per_minute` of one sender are dropped, null sets no limit. After `session_idle`
    without a word a new message starts a fresh session. `reactions` stand at messages whose turns
    run and end; `progress` is shown of turns that take long.
    """

    model_config = ConfigDict(extra="allow")

    type: Name
    agent: Name | None = None
    allow_from: list[str] = []
    groups: Annotated[Groups, Field(strict=False)] = Groups.ADDRESSED
    messages_per_minute: int | None = Field(default=30, ge=1, le=100_000)
    session_idle: Limit | None = None
    unknown: Annotated[UnknownPolicy, Field(strict=False)] = UnknownPolicy.RESEND
    reactions: Switch = False
    progress: Switch = True


class RouteConfig(_Section):
    """Who answers on an account, in a chat, or a sender: the first route that fits decides.

    A sender's route holds in chats of two alone: in a group it would change the agent, and with it
    the session, from message to message.
    """

    account: Name | None = None
    chat: str | None = None
    sender: str | None = None
    agent: Name

    @model_validator(mode="after")
    def _names_a_place(self) -> RouteConfig:
        if self.account is None and self.chat is None and self.sender is None:
            raise ValueError("name an account, a chat or a sender beside the agent")
        return self


class GatewayConfig(_Section):
    """How messages come in.

    `notice_turns` is how many turns in a row may come of the ends of background processes in a
    session while no person writes; later ends are shown and start none.
    """

    burst_window: Duration = 1.5
    max_message_bytes: int = Field(default=1_000_000, ge=1_000, le=20_000_000)
    notice_turns: int = Field(default=10, ge=0, le=1_000)


class HttpConfig(_Section):
    """Limits of the HTTP surface. `hosts` adds names that the Host header may carry."""

    hosts: list[str] = []
    max_body_bytes: int = Field(default=40_000_000, ge=10_000, le=100_000_000)


class RatesConfig(_Section):
    """USD for a million tokens. What is read from or written to a cache costs `input` if unsaid.

    `search` is for a thousand searches of the provider's own, its list price if unsaid.
    """

    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None
    search: Dollars | None = None


class LongRatesConfig(RatesConfig):
    """What all tokens of a call cost whose prompt has more than `above` tokens."""

    above: int = Field(ge=1)


class PriceConfig(RatesConfig):
    """What a model costs; `long` is for prompts beyond a length."""

    long: LongRatesConfig | None = None


class BudgetConfig(_Section):
    """What may be spent on models in a day of the timezone, in USD; nothing said sets no limit.

    `day` is for everybody together, `agents` for each agent, `users` for each person: by name,
    else by role (owner, member). `unpriced`: whether a model of unknown price may be asked where a
    budget holds; it counts nothing then.
    """

    day: Dollars | None = None
    users: dict[str, Dollars] = {}
    agents: dict[Name, Dollars] = {}
    unpriced: Literal["refuse", "allow"] = "refuse"


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"write a regular expression; this is none: {error}") from error
    return value


class HookConfig(_Section):
    """A command that runs when something happens; `match` is a regular expression on its subject.

    It runs with /bin/sh in Habakkuk's home and gets the event as JSON. Only `tool_before` is waited
    for: there a failure of any kind forbids the call.
    """

    event: Literal[
        "turn_start",
        "turn_end",
        "tool_before",
        "tool_after",
        "message_in",
        "message_out",
        "session_new",
    ]
    command: str = Field(min_length=1, max_length=10_000)
    timeout: Limit = 10.0
    match: Annotated[str, AfterValidator(_pattern)] | None = None


class SecretConfig(_Section):
    """A secret that agents use by name and never hold; `env` names the variable with its value.

    `tools` may use it; fetch_url sends it to `hosts` alone. `agents` may, all of them if unsaid.
    """

    env: Variable
    tools: list[Literal["fetch_url", "exec"]] = Field(min_length=1)
    hosts: list[HostName] = []
    agents: list[Name] = []


class LogConfig(_Section):
    """What is logged."""

    level: Literal["debug", "info", "warning", "error"] = "info"


class Config(_Section):
    """All of config.yaml. Everything has a default, so an empty file is a valid one."""

    providers: dict[Name, ProviderConfig] = {}
    agents: dict[Name, AgentConfig] = {"habakkuk": AgentConfig()}
    default_agent: Name | None = None
    channels: dict[Name, ChannelConfig] = {}
    routes: list[RouteConfig] = []
    workers: WorkerPools = WorkerPools()
    commands: CommandLimits = CommandLimits()
    gateway: GatewayConfig = GatewayConfig()
    http: HttpConfig = HttpConfig()
    pricing: dict[ModelPattern, PriceConfig] = {}
    budgets: BudgetConfig = BudgetConfig()
    search: SearchConfig = SearchConfig()

    hooks: list[HookConfig] = []
    secrets: dict[Name, SecretConfig] = {}
    logs: LogConfig = LogConfig()
    timezone: str = "UTC"
    public_url: PublicUrl | None = None
    trusted_proxies: int = Field(default=0, ge=0, le=8)
    # How far workers let web go first, and agents' commands five further; 0: nobody does.
    worker_niceness: int = Field(default=10, ge=0, le=14)

    @property
    def main_agent(self) -> str:
        """The agent for whoever names none: `default_agent`, else habakkuk, else the first."""
        if self.default_agent is not None:
            return self.default_agent
        return "habakkuk" if "habakkuk" in self.agents else next(iter(self.agents))
