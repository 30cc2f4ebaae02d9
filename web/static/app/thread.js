// The flow of a conversation: messages, what runs, what waits for an answer.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor.js";
import { deliver, drop, loadEarlier } from "./actions.js";
import { Approval } from "./approval.js";
import { Files } from "./files.js";
import { Icon } from "./icons.js";
import { Answer, Steps, UserMessage } from "./message.js";
import { attempt } from "./notes.js";
import { Growth, Prose, Thinking } from "./prose.js";
import { Question } from "./question.js";
import { approvals, questions } from "./shell.js";
import * as state from "./state.js";
import { Calls, runs } from "./tools.js";
import { plural, seconds, span } from "./words.js";

const NEAR = 48;
const EARLIER_WITHIN = 400;

export function Thread() {
  const scroller = useRef();
  const column = useRef();
  const place = useScroll(scroller, column);
  const asked = new Set([...approvals.value, ...questions.value].map((item) => item.id));
  const shown = state.rows.value.filter(
    (row) =>
      row.state !== "withdrawn" &&
      !state.isQueued(row) &&
      !state.isGuiding(row) &&
      !asked.has(row.data.approval ?? row.data.question),
  );
  const lastAnswer = shown.findLast((row) => row.author !== "user" && !state.isBetween(row));
  const isLast = (row) => row === lastAnswer && row === shown.at(-1) && !state.busy.value;
  const streaming = Boolean(state.running.value);
  return html`<div class="thread" ref=${scroller} onScroll=${place.onScroll} tabindex="-1">
      <div
        class="column"
        ref=${column}
        role="log"
        aria-label="Messages"
        aria-live="off"
        aria-busy=${streaming}
      >
        ${state.earlier.value &&
        html`<button class="button bare small" onClick=${() => attempt(loadEarlier)}>
          Show earlier messages
        </button>`}
        ${shown.map((row) =>
          row.author === "user"
            ? html`<${UserMessage} key=${row.seq} row=${row} />`
            : html`<${Answer}
                key=${row.seq}
                row=${row}
                turn=${state.turns.value.get(row.turn)}
                last=${isLast(row)}
              />`,
        )}
        ${state.sending.value.map((one) => html`<${Sending} key=${one.key} one=${one} />`)}
        <${Current} />
        ${!shown.length && !state.busy.value && html`<${Empty} />`}
      </div>
    </div>
    <${Announcer} row=${lastAnswer} />
    ${place.away &&
    html`<div class="bottom">
      <button class="button small pill" onClick=${place.toEnd}>
        <${Icon} name="arrow-down" />
        ${place.fresh ? `${place.fresh} new` : "Latest"}
      </button>
    </div>`}`;
}

// Follow the end while the reader is there; keep their place when older messages come.
function useScroll(scroller, column) {
  const atEnd = useRef(true);
  const lastTop = useRef(0);
  const before = useRef({ first: null, height: 0, last: 0 });
  const [away, setAway] = useState(false);
  const [fresh, setFresh] = useState(0);
  const conversation = state.name.value;
  const list = state.rows.value;
  const sending = state.sending.value.length;
  const sought = state.sought.value;

  const toEnd = () => {
    atEnd.current = true;
    setAway(false);
    setFresh(0);
    scroller.current.scrollTop = scroller.current.scrollHeight;
  };
  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = scroller.current;
    // Growth below is no leaving: only who scrolls up has left the end.
    const up = scrollTop < lastTop.current;
    lastTop.current = scrollTop;
    if (scrollHeight - scrollTop - clientHeight < NEAR) atEnd.current = true;
    else if (up) atEnd.current = false;
    setAway(!atEnd.current);
    if (atEnd.current) setFresh(0);
    if (scrollTop < EARLIER_WITHIN) askEarlier();
  };

  useEffect(() => {
    const observer = new ResizeObserver(() => {
      if (atEnd.current) scroller.current.scrollTop = scroller.current.scrollHeight;
    });
    observer.observe(column.current);
    observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    before.current = { first: null, height: 0, last: 0 };
    toEnd();
  }, [conversation]);
  useLayoutEffect(() => {
    if (sending) toEnd();
  }, [sending]);
  useLayoutEffect(() => {
    const { first, height, last } = before.current;
    const element = scroller.current;
    const now = list[0]?.seq ?? null;
    if (first !== null && now !== null && now < first && !atEnd.current) {
      element.scrollTop += element.scrollHeight - height;
    }
    const newest = list.at(-1)?.seq ?? 0;
    if (last && newest > last && !atEnd.current) {
      setFresh((count) => count + list.filter((row) => row.seq > last).length);
    }
    before.current = { first: now, height: element.scrollHeight, last: newest };
  }, [list]);
  useLayoutEffect(() => {
    const found = sought && document.getElementById(`m${sought}`);
    if (!found) return undefined;
    atEnd.current = false;
    setAway(true);
    found.scrollIntoView({ block: "center" });
    found.setAttribute("aria-current", "location");
    return () => found.removeAttribute("aria-current");
  }, [sought]);
  return { away, fresh, toEnd, onScroll };
}

let asking = false;
async function askEarlier() {
  if (asking || !state.earlier.peek()) return;
  asking = true;
  await attempt(loadEarlier);
  asking = false;
}

function Sending({ one }) {
  return html`<article class="message user" aria-label="You">
    <${Files} files=${one.files} />
    ${one.text && html`<div class="said" dir="auto">${one.text}</div>`}
    <div class="under">
      ${one.failed
        ? html`<span class="err">Not sent. ${one.failed}</span>
            <button class="button small" onClick=${() => deliver(one)}>Send again</button>
            <button class="button small" onClick=${() => drop(one)}>Discard</button>`
        : html`<span>Sending</span>`}
    </div>
  </article>`;
}

// The turn that runs or waits, with what it has done and what it writes.
function Current() {
  const current = state.running.value ?? state.open.value[0];
  if (!current) return null;
  const live = state.live.value?.turn === current.id ? state.live.value : null;
  const recorded = state.turns.value.get(current.id)?.steps ?? [];
  const asked = approvals.value.filter((item) => item.turn === current.id);
  const unclear = questions.value.filter((item) => item.turn === current.id);
  const steps = withText(recorded, live?.steps ?? []);
  return html`<section class="steps" aria-label="Being answered">
    ${runs(steps).map((run) => html`<${Run} key=${run.key} run=${run} turn=${current.id} />`)}
    ${asked.map((item) => html`<${Approval} key=${item.id} item=${item} />`)}
    ${unclear.map((item) => html`<${Question} key=${item.id} item=${item} />`)}
    <${Doing} current=${current} asked=${asked.length + unclear.length} live=${live} />
  </section>`;
}

function withText(recorded, seen) {
  const texts = new Map(seen.map((step) => [step.step, step]));
  return state.merge(recorded, seen).map((step) => {
    const own = texts.get(step.step);
    return own ? { ...step, text: own.text ?? step.text, thinking: own.thinking } : step;
  });
}

function Run({ run, turn }) {
  if (run.kind === "calls") return html`<${Calls} calls=${run.calls} turn=${turn} />`;
  if (run.kind === "thinking") return html`<${Thinking} growing=${run.growing} />`;
  if (typeof run.text === "string") return html`<${Prose} text=${run.text} />`;
  return html`<${Growth} growing=${run.text} />`;
}

const DOING = { queued: "Waits for a worker", running: "Answering", waiting: "Waits for an answer" };

function doing(current, asked) {
  if (current.state === "waiting" && asked) return "Waits for you";
  if (state.paused.value) return "Paused";
  return state.pauses.value ? "Pauses after this step" : DOING[current.state];
}

function Doing({ current, asked, live }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const word = doing(current, asked);
  const began = state.turns.value.get(current.id)?.began ?? live?.began;
  const since = began && current.state === "running" ? span(seconds(began)) : "";
  return html`<div class="answering">
    ${current.state === "running" && html`<span class="dot" aria-hidden="true"></span>`}
    <span>${word}</span><span>${since}</span>
  </div>`;
}

function Empty() {
  return html`<div class="empty">
    <h2>What shall be done?</h2>
    <p class="muted">
      Write a message below. The answer is kept and comes also when you close this page; come back
      any time to read it.
    </p>
    <p class="muted small">For example: “Summarise the files in your workspace.”</p>
  </div>`;
}

// Says a finished answer once to screen readers; what streams is not read piece by piece.
function Announcer({ row }) {
  const known = useRef(null);
  const [said, setSaid] = useState("");
  useEffect(() => {
    const here = `${state.name.peek()}:${row?.seq ?? 0}`;
    const first = known.current === null || !known.current.startsWith(`${state.name.peek()}:`);
    if (!first && known.current !== here && row) setSaid(row.text);
    known.current = here;
  }, [row?.seq, state.name.value]);
  return html`<div class="unseen" role="status">${said}</div>`;
}
