"""The turn: from taken messages to an answer, resumable after any crash (design: blueprint §7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from habakkuk.agent import notices, turn_hooks
from habakkuk.agent.begin import begin
from habakkuk.agent.calls import StepCalls
from habakkuk.agent.closing import STOPPED_TEXT, StepResults, close_turn
from habakkuk.agent.compaction.window import Window
from habakkuk.agent.endings import Ending, append, end_turn, visible
from habakkuk.agent.finished import in_brackets, is_blank, meta_of, own_of
from habakkuk.agent.guard import circle, noted
from habakkuk.agent.limits import exceeded
from habakkuk.agent.model import ModelStep
from habakkuk.agent.ports import TurnPorts
from habakkuk.agent.room import room_of
from habakkuk.agent.run import TurnRun
from habakkuk.agent.steering import store as steering
from habakkuk.agent.steering.rest import rests
from habakkuk.conversations.store import addresses, chat, hotpath, transcript, turns
from habakkuk.conversations.store.hotpath import Taken
from habakkuk.conversations.store.usage import Basket
from habakkuk.conversations.types import (
    Author,
    ChatKind,
    ChatState,
    NewChatMessage,
    Outcome,
    StoredMessage,
    Transcript,
)
from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.errors import ConfigurationError, Conflict, LlmError
from habakkuk.core.interrupt import Interrupted, Reason
from habakkuk.db.engine import Work
from habakkuk.events.publisher import TurnEvents
from habakkuk.events.types import EventType
from habakkuk.jobs.contract import JobContext
from habakkuk.jobs.types import Job, JobState, Queue
from habakkuk.llm.contract import ContextOverflow, StreamCut
from habakkuk.llm.types import Finished, Message, ModelRef, Role, StopReason, Text

TURN_KIND = "turn"
_RETRY = "Send the message again to try once more."
_STOPPED = "Stopped."
_CUT = "The answer broke off: the connection to the model was lost. Ask again for the rest."


class _Awaiting(Exception):
    """Files of a turn's messages are still to be fetched."""

    def __init__(self, taken: Taken) -> None:
        super().__init__(taken.turn.id)
        self.taken = taken


class TurnHandler:
    """The job kind `turn`."""

    kind = TURN_KIND
    queue = Queue.TURNS

    def __init__(self, ports: TurnPorts) -> None:
        """Take what turns of this process share."""
        self._ports = ports

    def run(self, context: JobContext) -> None:
        """Run the turn to its end, or until it parks or is interrupted."""
        with self._ports.usage.collecting(context.job.id) as spent:
            run, known = self._taken(context, spent)
            if run is not None:
                with self._ports.signs.running(run.turn):
                    _Turn(run).run(known)

    def _taken(
        self, context: JobContext, spent: Basket
    ) -> tuple[TurnRun | None, Transcript | None]:
        """Return the turn and what is known of its transcript; None when there is no more."""
        context.failpoints.hit("turn.take.before")
        try:
            return self._begun(context, spent)
        except _Awaiting as awaiting:
            with self._ports.signs.typing(awaiting.taken.turn.target):
                self._ports.arrivals.fetch(context, awaiting.taken)
        # No message joins a turn whose job runs: nothing is awaited any more.
        return self._begun(context, spent)

    def _begun(
        self, context: JobContext, spent: Basket
    ) -> tuple[TurnRun | None, Transcript | None]:
        """Take the turn's messages; takes nothing and raises _Awaiting while files are awaited."""
        with context.database.transaction() as work:
            taken = hotpath.take(work, context.job.id, context.fence)
            if taken is None or taken.turn.ended is not None:
                return None, None
            run = self._run_of(context, taken, spent)
            if not taken.begins:
                if taken.turn.began is None:
                    raise Interrupted(Reason.LEASE_LOST)
                context.note_absence(work)
                self._ports.release(work, taken.turn.id)
                return run, None
            if any(said.awaited or said.unplaced for said in taken.messages):
                raise _Awaiting(taken)
            begun = begin(run, work, taken)
        if begun is None:
            return None, None
        context.failpoints.hit("turn.take.after")
        if not taken.length:
            turn_hooks.session_began(run)
        return run, self._known(context, taken, begun)

    def _known(
        self, context: JobContext, taken: Taken, begun: Sequence[StoredMessage]
    ) -> Transcript | None:
        """Return the transcript without reading it all: a new one, or one that was seen before."""
        if not taken.length:
            return Transcript(begun)
        session = taken.turn.session_id
        seen = self._ports.remembered.get(session, taken.compactions)
        if seen is None:
            return None
        last = seen.messages[-1].seq
        between = transcript.since(context.database, session, last) if last < taken.length else ()
        new = [item for item in between if item.seq <= taken.length]
        return replace(seen, messages=[*seen.messages, *new, *begun])

    def _run_of(self, context: JobContext, taken: Taken, spent: Basket) -> TurnRun:
        turn = taken.turn
        agent = self._ports.config.agents.get(turn.agent, AgentConfig())
        events = TurnEvents(self._ports.publisher, turn.session_id, turn.id, context.fence)
        prompt = taken.system_prompt
        choice = taken.model, taken.effort, taken.personality
        return TurnRun(context, turn, agent, self._ports, events, prompt, spent, *choice)

    def lock(self, work: Work, job: Job) -> None:
        """Lock the conversation, which comes before the job in the order of locks."""
        turn = turns.get_in(work, job.id)
        if turn is not None:
            addresses.lock_by_id(work, turn.conversation_id)

    def ended(self, work: Work, job: Job, state: JobState, reason: str) -> None:
        """Tell the user of an end that the turn could not write itself."""
        turn = turns.get_in(work, job.id)
        if turn is None or turn.ended is not None:
            return
        if state is JobState.CANCELLED:
            chat.withdraw(work, turn.conversation_id, turn.id)
            close_turn(work, turn)
            kind, body, outcome = ChatKind.NOTICE, _STOPPED, Outcome.CANCELLED
        else:
            if turn.began is not None:
                steering.follow_up(work, turn)
            chat.take(work, turn.conversation_id, turn.id)
            body = f"This message could not be answered: {reason}. {_RETRY}"
            kind, outcome = ChatKind.ERROR, Outcome.FAILED
        row = NewChatMessage(
            Author.SYSTEM, body, ChatState.SENT, kind, turn_id=turn.id, target=turn.target
        )
        turns.end(work, turn.id, outcome, chat.add(work, turn.conversation_id, row))
        work.after_commit(partial(self._ports.signs.ended, turn.target, outcome))

    def reopen(self, work: Work, job: Job) -> None:
        """Take back a failed end, so that the turn goes on where it stood."""
        turn = turns.get_in(work, job.id)
        if turn is None or turn.ended is None:
            return
        if turn.began is None:
            chat.requeue(work, turn.conversation_id, turn.id)
        elif (last := transcript.last(work, turn.session_id)) is None or last.job_id != turn.id:
            raise Conflict("the session has gone on since; send the message again instead")
        steering.forget_pauses(work, turn.id)
        turns.reopen(work, turn.id)


class _Turn:
    """One run of one turn."""

    def __init__(self, run: TurnRun) -> None:
        self._run = run
        self._window: Window
        self._chain: Sequence[ModelRef] = ()
        self._notes: list[str] = []
        self._step = 0
        self._asked = 0
        # A turn that begins in this run was loaded before its row said so.
        self._began = run.turn.began or run.ports.clock.now()
        self._model: ModelStep | None = None
        # Of a turn that goes on after a stop of any kind it is not known yet.
        self._paused = run.turn.began is not None

    def run(self, known: Transcript | None) -> None:
        """Go on from what is known of the transcript; None when it is to be read."""
        run = self._run
        try:
            self._load(known)
            run.events.emit(EventType.TURN_STARTED, self._step)
            turn_hooks.began(run, lambda: self._task)
            if run.turn.began is not None:
                run.events.emit(EventType.STEP_RESET, self._step)
            self._loop()
        except Interrupted as interrupted:
            if interrupted.reason is not Reason.CANCELLED:
                raise
            self._end_stopped()
        except StreamCut as cut:
            self._end_cut(cut)
        except (LlmError, ConfigurationError) as error:
            self._end_failed(str(error))

    def _load(self, known: Transcript | None) -> None:
        """Take what is known of the transcript, else read what is shown of it."""
        run = self._run
        database, session = run.context.database, run.turn.session_id
        shown = known or transcript.from_compaction(database, session)
        own = own_of(shown.messages, run.turn.id)
        self._step = max((item.step for item in own), default=-1) + 1
        self._asked = sum(1 for item in own if item.message.role is Role.ASSISTANT)
        request = shown.request
        if request is not None and request.job_id == run.turn.id:
            # A part of this very turn is summed up.
            self._asked = transcript.asked(database, session, run.turn.id, request.step)
        self._chain, passed_over = run.models()
        self._notes += [note for item in own for note in item.notices]
        self._notes += [passed_over] if passed_over else []
        self._window = Window(room_of(run, self._chain), shown, self._notes)

    def _loop(self) -> None:
        while True:
            self._run.context.interrupt.check()
            calls = self._last.calls
            if calls:
                results = StepCalls(self._run, self._step - 1, calls, self._task).results()
                if results is None:
                    return
                self._append(self._warned(results).message)
                continue
            if self._over_budget() or (self._paused and rests(self._run, self._step)):
                return
            if self._answer(self._ask()):
                return

    def _own_messages(self) -> list[Message]:
        """Return the messages of this turn alone, those that are shown."""
        return [item.message for item in own_of(self._window.stored, self._run.turn.id)]

    @property
    def _task(self) -> str:
        """What the turn's user asked for, also where that is summed up by now."""
        own, request = self._own_messages(), self._window.transcript.request
        if request is not None and request.job_id == self._run.turn.id:
            own = [request.message]
        spoken = (b.text for b in own[0].blocks if b.type == "text" and not b.note)
        return "".join(spoken).strip()

    @property
    def _last(self) -> Message:
        return self._window.stored[-1].message

    def _warned(self, given: StepResults) -> StepResults:
        """Tell the model when its calls go in circles, in the result that it reads last."""
        found = circle([*self._own_messages(), given.message])
        return given if found is None else given.with_last(noted(given.results[-1], found))

    def _ask(self) -> Finished:
        """Call the model; a blank answer is asked for once more."""
        self._window.make_room()
        try:
            finished = self._call()
        except ContextOverflow:
            # Whatever was assumed of the model: it is too long.
            if not self._window.overflowed():
                raise
            finished = self._call()
        if not is_blank(finished):
            return finished
        self._run.ports.usage.write(self._run.spent)
        # The same step: whatever blank text was shown, the second answer's text follows it.
        return self._model.call() if self._model is not None else self._call()

    def _call(self) -> Finished:
        messages = self._window.messages
        self._model = ModelStep(self._run, self._chain, self._step, messages)
        return self._model.call()

    def _answer(self, finished: Finished) -> bool:
        """Store what the model said; True when that ends the turn."""
        message = Message(Role.ASSISTANT, finished.blocks)
        meta, name_failed = meta_of(finished), self._run.agent.fallback_notice
        if message.calls or (finished.stop is StopReason.PAUSE and finished.blocks):
            said = notices.of_step(finished, name_failed=name_failed)
            self._append(message, meta | ({"notices": said} if said else {}))
            return False
        self._run.context.failpoints.hit("model.call.after")
        text = visible(finished.blocks)
        said = notices.of_answer(finished, text, name_failed=name_failed)
        cut = {"cut": True} if finished.stop is StopReason.LENGTH else {}
        ending = Ending(
            Outcome.ANSWERED,
            self._step,
            [message] if text else [in_brackets(notices.sentence(said[-1]))],
            text,
            self._told(*said),
            {"model": str(finished.model)} | cut,
            meta=meta,
        )
        end_turn(self._run, ending)
        self._remember(ending)
        return True

    def _told(self, *last: str) -> str:
        """Return all that this turn leaves to be said, what is said of its end last."""
        return notices.joined([*self._notes, *last])

    def _remember(self, ending: Ending) -> None:
        """Keep the transcript for the session's next turn, if that comes here."""
        for place, message in enumerate(ending.messages):
            step = ending.step + place
            self._window.add(self._run.turn.id, step, message, ending.meta.get("tokens"))
        self._run.ports.remembered.put(self._run.turn.session_id, self._window.transcript)

    def _append(self, message: Message, meta: dict[str, Any] | None = None) -> None:
        noted = meta or {}
        message, self._paused = append(self._run, self._step, message, noted)
        self._window.add(self._run.turn.id, self._step, message, noted.get("tokens"))
        self._notes += noted.get("notices", [])
        self._step += 1
        self._model = None
        if message.role is Role.ASSISTANT:
            self._asked += 1

    def _over_budget(self) -> bool:
        """End the turn when it has had enough; what it did stays."""
        why = exceeded(self._run, self._asked, self._began, self._own_messages())
        if why is None:
            return False
        end = f"{why} What was done so far is kept; say “go on” to continue."
        notice = self._told(end)
        end_turn(self._run, Ending(Outcome.PARTIAL, self._step, [in_brackets(end)], notice=notice))
        return True

    def _end_stopped(self) -> None:
        """End a cancelled turn: calls get results, shown text stays."""
        messages: list[Message] = []
        last = self._last
        if last.calls:
            results = StepCalls(self._run, self._step - 1, last.calls).stopped()
            messages.append(results.message)
        shown = self._model.shown.strip() if self._model else ""
        partial = Text(text=shown or STOPPED_TEXT, partial=True)
        messages.append(Message(Role.ASSISTANT, (partial,)))
        end_turn(
            self._run, Ending(Outcome.CANCELLED, self._step, messages, shown, self._told(_STOPPED))
        )

    def _end_cut(self, cut: StreamCut) -> None:
        blocks = tuple(b for b in cut.blocks if b.type in ("text", "thinking"))
        message = Message(Role.ASSISTANT, blocks or (Text(text=_CUT, partial=True),))
        text = visible(blocks)
        notice = self._told(_CUT)
        ending = Ending(Outcome.PARTIAL, self._step, [message], text, notice, {"retry": True})
        end_turn(self._run, replace(ending, error=str(cut)))

    def _end_failed(self, reason: str) -> None:
        notice = self._told(reason, _RETRY)
        ending = Ending(Outcome.FAILED, self._step, (), "", notice, {"retry": True}, reason)
        end_turn(self._run, ending)
