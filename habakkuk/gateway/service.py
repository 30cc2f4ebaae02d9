"""Admission: one transaction from a message to its durable turn (design: blueprint §6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from habakkuk.agent.heard import Said, tell_of
from habakkuk.commands.contract import Command, CommandContext, Health, Prepared, Server, Words
from habakkuk.commands.registry import CommandRegistry, allowed
from habakkuk.conversations.store import acceptance, addresses, chat, turns
from habakkuk.conversations.store.chat import Earlier
from habakkuk.conversations.types import ASIDE, Acceptance, Accepted, Address, Conversation
from habakkuk.core.config.schema import Config
from habakkuk.core.errors import Forbidden, Invalid, NotFound, Unavailable, UserError
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.ids import random_id
from habakkuk.db.engine import Database, Work
from habakkuk.gateway import rows
from habakkuk.gateway.ahead import prepared
from habakkuk.gateway.answering import Answering
from habakkuk.gateway.entry import cleaned
from habakkuk.gateway.idle import renewed
from habakkuk.gateway.store import cursors
from habakkuk.gateway.types import Admitted, Cursor, Inbound
from habakkuk.hooks.service import Hooks
from habakkuk.jobs.service import Jobs

MOST_FILES = 20
_EMPTY = "the message is empty; write something to be answered"


@dataclass(frozen=True)
class _Call:
    """A command with what was written after it, and what it is to know of the server.

    `prepared` is what was made of the conversation before it was locked.
    """

    command: Command
    arguments: str
    health: Health | None
    prepared: Prepared | None


@dataclass(frozen=True)
class Ports:
    """What stands behind the door: commands look at `server`, `answering` knows what is open."""

    server: Server
    answering: Answering
    hooks: Hooks


class Gateway:
    """The one door. Only when `admit` has returned may the source be told that it arrived."""

    def __init__(
        self,
        database: Database,
        jobs: Jobs,
        config: Config,
        failpoints: Failpoints,
        ports: Ports,
    ) -> None:
        """Take what admission needs."""
        self._database = database
        self._jobs = jobs
        self._config = config
        self._failpoints = failpoints
        self._server = ports.server
        self._answering = ports.answering
        self._hooks = ports.hooks
        self._commands = CommandRegistry()

    def admit(self, inbound: Inbound) -> Admitted:
        """Store a message and the turn that answers it; both or neither.

        Raises Invalid for what cannot be stored, NotFound for a session of somebody else,
        Forbidden for a command of others and DatabaseAway, when the source should send it again.
        What is refused moves the intake's cursor too.
        """
        inbound = cleaned(inbound)
        try:
            return self._admitted(inbound)
        except Unavailable:
            raise
        except UserError:
            self.pass_over(inbound.address, inbound.cursor)
            raise

    def pass_over(self, address: Address, cursor: Cursor | None) -> None:
        """Move the intake on past what is not stored, or it would bring the same for ever."""
        if cursor is not None:
            with self._database.transaction() as work:
                cursors.save(work, address, cursor)

    def _admitted(self, inbound: Inbound) -> Admitted:
        self._check(inbound)
        # Who sends a file says something of it.
        commands = inbound.commands and not inbound.file_count
        matched = self._commands.match(inbound.text) if commands else None
        if matched is None:
            return self._answer(inbound) or self._admit_message(inbound)
        command, arguments = matched
        health = self._server.health() if command.wants_health else None
        ready = prepared(self._database, self._server.put, command, inbound)
        with self._database.transaction() as work:
            found = self._locked(work, inbound)
            self._save_cursor(work, inbound)
            known = self._known(work, inbound)
            if known is not None:
                return known
            call = _Call(command, arguments, health, ready)
            return self._command(work, self._fitted(work, found, inbound), inbound, call)

    def _answer(self, inbound: Inbound) -> Admitted | None:
        """Take a yes or no as the answer to the open approval here; None when it is a message."""
        said = self._answering.words(inbound)
        if said is None:
            return None
        with self._database.transaction() as work:
            conversation = addresses.lock(work, inbound.address)
            if conversation is None:
                return None
            admitted = self._known(work, inbound)
            if admitted is None:
                admitted = self._answering.approval(work, conversation, inbound, said)
            if admitted is not None:
                self._save_cursor(work, inbound)
            return admitted

    def tell_what_it_waits_for(self, inbound: Inbound, admitted: Admitted) -> None:
        """Say outside that a message waits behind an open question, where no queue is shown."""
        if not admitted.behind:
            return
        with self._database.transaction() as work:
            row = self._answering.notice(work, inbound, admitted)
            if row is not None:
                addresses.lock_by_id(work, admitted.conversation_id)
                chat.add(work, admitted.conversation_id, row)

    def note(self, inbound: Inbound, turn_id: str) -> None:
        """Show what Habakkuk says of a turn in its conversation, once a remote id; nobody answers.

        Where the conversation is gone nothing is shown. Raises DatabaseAway.
        """
        said = cleaned(inbound)
        with self._database.transaction() as work:
            conversation = addresses.lock(work, said.address)
            if conversation is not None:
                chat.add(work, conversation.id, rows.note_row(said, turn_id))

    def _admit_message(self, inbound: Inbound) -> Admitted:
        """Accept in one statement; only what is new, joins or moves a cursor takes more."""
        asked = rows.acceptance(inbound, self._config)
        self._failpoints.hit("admit.commit.before")
        plain = inbound.cursor is None and not inbound.joinable and inbound.idle is None
        accepted = self._accept_at_once(inbound, asked) if plain else None
        if isinstance(accepted, Earlier):
            # Storms are repeats for the most part: they take no lock.
            return rows.repeated(accepted)
        if accepted is None:
            admitted = self._admit_slowly(inbound, asked)
        else:
            admitted = rows.admitted(asked, accepted)
        self._failpoints.hit("admit.commit.after")
        if admitted.duplicate:
            return admitted
        if asked.delay <= 0 and not admitted.answers:
            self._jobs.announce(asked.queue, asked.turn_id)
        self._tell(inbound, admitted.conversation_id, admitted.turn_id, inbound.text)
        return admitted

    def _tell(self, inbound: Inbound, conversation: str, turn: str | None, text: str) -> None:
        tell_of(self._hooks, Said(inbound.address, conversation, turn, inbound.user.id, text))

    def _accept_at_once(self, inbound: Inbound, asked: Acceptance) -> Accepted | Earlier | None:
        """Accept in one statement, at an address that is there or at a new one."""
        accepted = None if inbound.fresh else acceptance.accept(self._database, asked)
        if accepted is not None or inbound.session_id:
            return accepted
        agent = inbound.agent or inbound.routed or self._config.main_agent
        conversation = rows.conversation_id(inbound.address)
        return acceptance.open_and_accept(
            self._database, asked, conversation, random_id("ses"), agent
        )

    def _admit_slowly(self, inbound: Inbound, asked: Acceptance) -> Admitted:
        with self._database.transaction() as work:
            found = self._locked(work, inbound)
            self._save_cursor(work, inbound)
            known = self._known(work, inbound)
            if known is not None:
                return known
            answered = self._answering.question(work, found, inbound)
            if answered is not None:
                if inbound.outside and answered.turn_id is not None:
                    turns.taint(work, answered.turn_id)
                return answered
            asked = replace(asked, answers=False)
            conversation = self._fitted(work, found, inbound)
            conversation = renewed(work, conversation, inbound)
            asked = replace(asked, agents=[conversation.agent])
            if inbound.joinable:
                asked = self._joining(work, conversation, inbound, asked)
            accepted = acceptance.accept_in(work, asked)
            if accepted is None:
                return self._repeated(work, inbound)
            return rows.admitted(asked, accepted)

    def _joining(
        self,
        work: Work,
        conversation: Conversation,
        inbound: Inbound,
        asked: Acceptance,
    ) -> Acceptance:
        """Let the message join the person's turn that has not begun, when there is one."""
        session = inbound.session_id or conversation.session_id
        open_turn = turns.joinable(work, conversation.id, session, inbound.user.id)
        if open_turn is None:
            return asked
        return replace(asked, turn_id=open_turn, opens=False)

    @staticmethod
    def _save_cursor(work: Work, inbound: Inbound) -> None:
        if inbound.cursor is not None:
            cursors.save(work, inbound.address, inbound.cursor)

    def check(self, inbound: Inbound) -> None:
        """Raise Invalid for what `admit` would refuse by itself: before its files are stored."""
        self._check(cleaned(inbound))

    def check_text(self, text: str, *, files: int = 0) -> None:
        """Raise Invalid for a message that is too large, or empty and without files."""
        size = len(text.encode())
        limit = self._config.gateway.max_message_bytes
        if size > limit:
            raise Invalid(f"the message has {size:,} bytes; at most {limit:,} are accepted")
        if not text.strip() and not files:
            raise Invalid(_EMPTY)

    def _check(self, inbound: Inbound) -> None:
        self.check_text(inbound.text, files=inbound.file_count + len(inbound.unread))
        if inbound.file_count > MOST_FILES:
            raise Invalid(f"a message has at most {MOST_FILES} files")
        if inbound.agent is not None and inbound.agent not in self._config.agents:
            names = ", ".join(self._config.agents)
            raise Invalid(f"there is no agent {inbound.agent!r}; the agents are: {names}")

    def _locked(self, work: Work, inbound: Inbound) -> Conversation:
        """Lock the conversation, made now when the address is new."""
        return addresses.lock(work, inbound.address) or self._create(work, inbound)

    def _fitted(self, work: Work, found: Conversation, inbound: Inbound) -> Conversation:
        """Return the conversation with the agent and the session that a new message wants."""
        if inbound.session_id is not None:
            if not addresses.holds(work, found.id, inbound.session_id):
                raise NotFound(f"there is no session {inbound.session_id!r}")
            return found
        kept = found.agent in self._config.agents and (found.chosen or inbound.routed is None)
        wanted = inbound.agent or (found.agent if kept else inbound.routed)
        wanted = wanted or self._config.main_agent
        return found if wanted == found.agent else self._switch(work, found, wanted)

    def _create(self, work: Work, inbound: Inbound) -> Conversation:
        address = inbound.address
        session = inbound.session_id or random_id("ses")
        agent = inbound.agent or inbound.routed or self._config.main_agent
        fresh = Conversation(
            rows.conversation_id(address), address, inbound.user.id, agent, session, next_seq=1
        )
        addresses.create(work, fresh)
        found = addresses.lock(work, address)
        if found is None:
            raise NotFound("the conversation was removed while the message arrived; send it again")
        return found

    def _switch(self, work: Work, conversation: Conversation, agent: str) -> Conversation:
        """Give the conversation to another agent, which starts with a fresh session."""
        session = random_id("ses")
        fresh = Conversation(
            conversation.id,
            conversation.address,
            conversation.user_id,
            agent,
            session,
            conversation.next_seq,
        )
        addresses.add_session(work, fresh, session)
        addresses.point(work, conversation.id, session, agent)
        return fresh

    def _known(self, work: Work, inbound: Inbound) -> Admitted | None:
        """Return what became of the same message when it came before."""
        if inbound.remote_id is None:
            return None
        found = chat.by_remote_id(work, inbound.address.account, inbound.remote_id)
        return rows.repeated(found) if found is not None else None

    def _repeated(self, work: Work, inbound: Inbound) -> Admitted:
        """Return the twin that arrived at another address of the account while this one waited."""
        known = self._known(work, inbound)
        if known is None:
            raise Invalid("the message was withdrawn while it arrived; send it again")
        return known

    def _command(
        self, work: Work, conversation: Conversation, inbound: Inbound, call: _Call
    ) -> Admitted:
        command = call.command
        if not allowed(command, inbound.user.role):
            raise Forbidden(f"/{command.name} is for the {command.role} only")
        context = self._context(work, conversation, inbound, call)
        words = command.words(context, call.arguments) if command.words is not None else None
        if words is not None:
            return self._said(work, inbound, words, context)
        if chat.add(work, conversation.id, rows.command_row(inbound)) is None:
            return self._repeated(work, inbound)
        reply = command.run(context, call.arguments)
        seq = chat.add(work, conversation.id, rows.reply_row(inbound, reply))
        return Admitted(conversation.id, conversation.session_id, seq or 0, None, reply)

    def _said(
        self, work: Work, inbound: Inbound, words: Words, context: CommandContext
    ) -> Admitted:
        """Take as a message what a command has to say to the agent in its place."""
        session = words.session_id or inbound.session_id
        message = replace(
            inbound,
            text=words.text,
            files=words.files,
            awaited=words.awaited,
            unplaced=words.unplaced,
            unread=(*words.unread, *inbound.unread),
            outside=words.outside or inbound.outside,
            session_id=session,
            joinable=inbound.joinable and not words.alone,
            reply_to={**inbound.reply_to, ASIDE: True} if words.session_id else inbound.reply_to,
        )
        agents = [context.conversation.agent]
        asked = replace(rows.acceptance(message, self._config), answers=False, agents=agents)
        accepted = acceptance.accept_in(work, asked)
        if accepted is None:
            return self._repeated(work, inbound)
        if asked.delay <= 0:
            work.after_commit(partial(self._jobs.announce, asked.queue, asked.turn_id))
        context.heard(asked.turn_id, words.text)
        return rows.admitted(asked, accepted)

    def _passed_on(
        self, work: Work, inbound: Inbound, conversation: str, turn: str, said: str
    ) -> None:
        """Note that a command has handed words to a turn."""
        if inbound.outside:
            turns.taint(work, turn)
        work.after_commit(partial(self._tell, inbound, conversation, turn, said))

    def _context(
        self, work: Work, conversation: Conversation, inbound: Inbound, call: _Call
    ) -> CommandContext:
        return CommandContext(
            work,
            replace(conversation, session_id=inbound.session_id or conversation.session_id),
            inbound.user,
            self._config,
            self._jobs,
            self._server.selection,
            call.health,
            partial(self._passed_on, work, inbound, conversation.id),
            self._server.personalities,
            call.prepared,
            inbound.session_id is not None,
            inbound.target,
            inbound.outside,
        )
