// Follow one conversation: its rows, its live events, and what to do when the line breaks.

import { get, chat, conversation } from "./api.js";
import { lookForApprovals } from "./shell.js";
import * as state from "./state.js";

const FIRST_MS = 100;
const LONGEST_MS = 5000;
const LOOK_MS = 5000;
const UNAUTHORIZED = 401;

let source = null;
let timer = null;
let pause = FIRST_MS;
let listeners = [];

export const onChange = (listener) => listeners.push(listener);
const changed = (what) => listeners.forEach((listener) => listener(what));

export function follow(name) {
  leave();
  connect(name);
}

export function leave() {
  clearTimeout(timer);
  source?.close();
  source = null;
}

function connect(name) {
  source = new EventSource(`${chat(name)}/events?after=${state.lastSeq()}`);
  const own = source;
  const on = (type, handle) =>
    own.addEventListener(type, (event) => own === source && handle(JSON.parse(event.data)));
  own.onopen = () => own === source && cameBack(name);
  own.onerror = () => own === source && broke(name);
  on("message", (row) => {
    state.receive(row);
    changed(row);
    if (state.endsTurn(row)) {
      record(row.turn);
      if (state.waiting()) lookAtOpen(name);
    }
    if (state.isBetween(row)) lookForApprovals();
  });
  on("turn.started", ({ turn }) => {
    state.taken(turn);
    state.opened(turn, "running");
  });
  on("turn.waiting", ({ turn }) => {
    state.opened(turn, "waiting");
    lookForApprovals();
    lookAtOpen(name);
  });
  on("approval.asked", () => lookForApprovals());
  on("question.asked", ({ turn, call }) => {
    state.callWaits(turn, call);
    lookForApprovals();
  });
  on("turn.ended", ({ turn }) => state.closed(turn));
  on("text.delta", ({ turn, step, text, at }) => {
    alive(turn);
    state.liveText(turn, step, text, at, "text");
  });
  on("thinking.delta", ({ turn, step, text }) => {
    alive(turn);
    state.liveText(turn, step, text, undefined, "thinking");
  });
  on("tool.started", ({ turn, step, call, name: tool, input }) => {
    alive(turn);
    const started = new Date().toISOString();
    state.liveCall(turn, step, { id: call, name: tool, input, state: "running", started });
  });
  on("tool.finished", ({ turn, step, call, error, excerpt }) => {
    const finished = new Date().toISOString();
    const end = { id: call, state: "done", error, result: excerpt, finished };
    state.liveCall(turn, step, end);
  });
  on("queue.changed", () => lookAtOpen(name));
  on("step.reset", ({ turn, step }) => state.resetSteps(turn, step));
}

// Whoever writes has begun, whether or not that was heard.
function alive(turn) {
  if (state.running.peek()?.id === turn && state.running.peek().state === "running") return;
  state.taken(turn);
  state.opened(turn, "running");
}

function cameBack(name) {
  pause = FIRST_MS;
  if (!state.connected.peek()) {
    state.connected.value = true;
    state.staleLive();
    lookAtOpen(name);
  }
}

function broke(name) {
  source.close();
  state.connected.value = false;
  clearTimeout(timer);
  timer = setTimeout(async () => {
    if (await signedOut()) location.reload();
    else if (state.name.peek() === name) connect(name);
  }, pause);
  pause = Math.min(pause * 2, LONGEST_MS);
}

async function signedOut() {
  try {
    await get("/api/conversations?limit=1");
    return false;
  } catch (error) {
    return error.status === UNAUTHORIZED;
  }
}

// What a turn did, as it was recorded, once its answer is here.
async function record(turn) {
  try {
    state.addTurns([await get(`/api/turns/${encodeURIComponent(turn)}/steps`)]);
  } catch {
    // What was seen live stays; the page's next load has the record.
  }
}

async function lookAtOpen(name) {
  if (!state.busy.peek() && !state.waiting()) return;
  try {
    const found = await get(`${conversation(name)}/open`);
    if (state.name.peek() === name && !state.sending.peek().length) state.settle(found);
  } catch {
    // The next look comes by itself.
  }
}

setInterval(() => {
  const name = state.name.peek();
  if (name && !document.hidden) lookAtOpen(name);
}, LOOK_MS);
