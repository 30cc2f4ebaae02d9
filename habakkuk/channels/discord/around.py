"""What the gateway tells of servers: names, the bot's own roles, and the threads it is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from habakkuk.core.log import get_logger

_log = get_logger("channels.discord")
# Kinds of channels that hold no messages of their own: categories, directories, forums.
_WITHOUT_MESSAGES = {4, 14, 15, 16}


class _Tags(BaseModel):
    bot_id: str | None = None


class _Role(BaseModel):
    id: str
    name: str = ""
    tags: _Tags = _Tags()


class Channel(BaseModel):
    """A channel or a thread; `member` is there when the bot is in the thread."""

    id: str
    type: int = 0
    name: str | None = None
    last_message_id: str | None = None
    member: Any = None

    @property
    def last(self) -> int:
        """The id of the last message in it, 0 without."""
        known = self.last_message_id if self.type not in _WITHOUT_MESSAGES else None
        return int(known) if known and known.isdecimal() else 0


class Guild(BaseModel):
    """A server, as it is told when a session begins."""

    id: str
    unavailable: bool = False
    channels: list[Channel] = []
    threads: list[Channel] = []
    roles: list[_Role] = []


class _OfRole(BaseModel):
    role: _Role


class _Listed(BaseModel):
    threads: list[Channel] = []
    members: list[_Membership] = []


class _Membership(BaseModel):
    id: str | None = None
    user_id: str | None = None


class _Members(BaseModel):
    id: str
    added_members: list[_Membership] = []
    removed_member_ids: list[str] = []


@dataclass
class Around:
    """What is known around the bot whose user id is `bot`."""

    bot: str
    roles: dict[str, str] = field(default_factory=dict)
    channels: dict[str, str] = field(default_factory=dict)
    own_roles: set[str] = field(default_factory=set)
    threads: set[str] = field(default_factory=set)

    def learn(self, kind: str, data: Mapping[str, Any]) -> None:
        """Take what an event tells; what cannot be read tells nothing."""
        act = _KINDS.get(kind)
        if act is None:
            return
        try:
            act(self, data)
        except ValidationError as error:
            _log.warning("an event cannot be read", kind=kind, faults=error.error_count())

    def guild(self, guild: Guild) -> Iterator[Channel]:
        """Take a server, and yield its channels and threads."""
        for role in guild.roles:
            self._role(role)
        for thread in guild.threads:
            if thread.member is not None:
                self.threads.add(thread.id)
            else:
                self.threads.discard(thread.id)
        for channel in [*guild.channels, *guild.threads]:
            self._named(channel)
            yield channel

    def _role(self, role: _Role) -> None:
        self.roles[role.id] = role.name
        if role.tags.bot_id == self.bot:
            self.own_roles.add(role.id)

    def _named(self, channel: Channel) -> None:
        self.channels[channel.id] = channel.name or ""

    def _channel_is(self, data: Mapping[str, Any]) -> None:
        self._named(Channel.model_validate(data))

    def _channel_gone(self, data: Mapping[str, Any]) -> None:
        gone = Channel.model_validate(data).id
        self.channels.pop(gone, None)
        self.threads.discard(gone)

    def _role_is(self, data: Mapping[str, Any]) -> None:
        self._role(_OfRole.model_validate(data).role)

    def _thread_is(self, data: Mapping[str, Any]) -> None:
        thread = Channel.model_validate(data)
        self._named(thread)
        if thread.member is not None:
            self.threads.add(thread.id)

    def _threads_are(self, data: Mapping[str, Any]) -> None:
        listed = _Listed.model_validate(data)
        for thread in listed.threads:
            self._named(thread)
        self.threads.update(one.id for one in listed.members if one.id)

    def _in_thread(self, data: Mapping[str, Any]) -> None:
        # Only ever told of the bot itself.
        joined = _Membership.model_validate(data).id
        if joined:
            self.threads.add(joined)

    def _members_change(self, data: Mapping[str, Any]) -> None:
        changed = _Members.model_validate(data)
        if any(one.user_id == self.bot for one in changed.added_members):
            self.threads.add(changed.id)
        if self.bot in changed.removed_member_ids:
            self.threads.discard(changed.id)


_KINDS: Mapping[str, Callable[[Around, Mapping[str, Any]], None]] = {
    "CHANNEL_CREATE": Around._channel_is,
    "CHANNEL_UPDATE": Around._channel_is,
    "CHANNEL_DELETE": Around._channel_gone,
    "GUILD_ROLE_CREATE": Around._role_is,
    "GUILD_ROLE_UPDATE": Around._role_is,
    "THREAD_CREATE": Around._thread_is,
    "THREAD_UPDATE": Around._channel_is,
    "THREAD_DELETE": Around._channel_gone,
    "THREAD_LIST_SYNC": Around._threads_are,
    "THREAD_MEMBER_UPDATE": Around._in_thread,
    "THREAD_MEMBERS_UPDATE": Around._members_change,
}
