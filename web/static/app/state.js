// What the chat page knows. Rows are the truth; what streams is only shown until its row comes.

import { batch, computed, signal } from "./vendor.js";
import { Growing } from "./streaming.js";

export const name = signal(null);
export const about = signal(null);
export const session = signal(null);
// Which model answers: the agent's own, or what was chosen for the session.
export const choice = signal(null);
export const rows = signal([]);
export const turns = signal(new Map());
export const open = signal([]);
export const sending = signal([]);
export const live = signal(null);
export const earlier = signal(false);
export const connected = signal(true);
export const missing = signal(false);
// The message that a search found and the reader went to.
export const sought = signal(null);
// The turn whose request is looked at.
export const inspected = signal(null);
export const list = signal({ conversations: [], total: 0 });

// How long a message that only waits for its worker is not called queued.
const AT_ONCE_MS = 1500;
const seen = new Map();

export const running = computed(() => open.value.find((turn) => turn.state !== "queued"));
// Whether what is being answered waits until a person lets it go on.
export const paused = computed(() => {
  const current = running.value;
  return current?.state === "waiting" && Boolean(turns.value.get(current.id)?.paused);
});
// Where a pause was asked for here: the turn ends its step first.
export const pausing = signal(null);
export const pauses = computed(
  () => !paused.value && running.value !== undefined && running.value.id === pausing.value,
);
export const busy = computed(() => open.value.length > 0 || sending.value.length > 0);

export const lastSeq = () => rows.peek().at(-1)?.seq ?? 0;

// A message is shown as queued when others come before it, or when nobody takes it.
export function isQueued(row) {
  if (row.state !== "queued" || row.author !== "user") return false;
  const current = running.value;
  if (current && current.id !== row.turn) return true;
  if (!seen.has(row.seq)) seen.set(row.seq, Date.now());
  return Date.now() - seen.get(row.seq) > AT_ONCE_MS;
}

export function reset(conversation) {
  batch(() => {
    name.value = conversation;
    about.value = null;
    session.value = null;
    choice.value = null;
    rows.value = [];
    turns.value = new Map();
    open.value = [];
    sending.value = [];
    live.value = null;
    earlier.value = false;
    missing.value = false;
    sought.value = null;
    inspected.value = null;
    pausing.value = null;
    connected.value = true;
    seen.clear();
  });
}

export function take(page) {
  batch(() => {
    about.value = page.conversation;
    session.value = page.session;
    choice.value = page.choice;
    earlier.value = page.earlier;
    addRows(page.messages);
    addTurns([...page.turns, ...page.open]);
    open.value = page.open.map(({ id, state }) => ({ id, state }));
  });
}

export function addEarlier(page) {
  batch(() => {
    earlier.value = page.earlier;
    addRows(page.messages);
    addTurns(page.turns);
  });
}

export function addRows(fresh) {
  const known = new Map(rows.peek().map((row) => [row.seq, row]));
  fresh.forEach((row) => known.set(row.seq, row));
  rows.value = [...known.values()].sort((one, other) => one.seq - other.seq);
}

export function addTurns(fresh) {
  const known = new Map(turns.peek());
  fresh.forEach((turn) => known.set(turn.id, turn));
  turns.value = known;
  // From now on the server knows better, whoever resumes it.
  if (known.get(pausing.peek())?.paused) pausing.value = null;
}

export function changeRow(seq, change) {
  rows.value = rows.peek().map((row) => (row.seq === seq ? { ...row, ...change } : row));
}

// What stands between: a question or a file on a turn's way, or what began it without a person.
const BETWEEN = new Set(["approval", "question", "event", "file", "poll"]);
export const isBetween = (row) => BETWEEN.has(row.kind);

// The command of guidance, which stands in a row of its own.
export const isGuiding = (row) => row.kind === "command" && /^\/steer\s/i.test(row.text);

// A turn's last word.
export const endsTurn = (row) => Boolean(row.turn) && row.author !== "user" && !isBetween(row);

// A message of the conversation, as the stream brought it.
export function receive(row) {
  batch(() => {
    addRows([row]);
    sending.value = sending.peek().filter((one) => one.seq !== row.seq);
    if (endsTurn(row)) closed(row.turn);
    else if (row.turn && row.state === "queued" && row.kind !== "steer") opened(row.turn, "queued");
  });
}

export function opened(turn, state) {
  const known = open.peek().find((one) => one.id === turn);
  if (known?.state === state) return;
  const rest = open.peek().filter((one) => one.id !== turn);
  const next = { id: turn, state };
  open.value = state === "queued" ? [...rest, next] : [next, ...rest];
}

export function closed(turn) {
  open.value = open.peek().filter((one) => one.id !== turn);
  const shown = live.peek();
  if (shown?.turn !== turn) return;
  keepSteps(shown);
  live.value = null;
}

// Whether messages of this page still wait: those of a turn that ended may have been withdrawn.
export const waiting = () => rows.peek().some((row) => row.state === "queued");

export function taken(turn) {
  const waits = (row) => row.turn === turn && row.state === "queued";
  if (!rows.peek().some(waits)) return;
  rows.value = rows.peek().map((row) => (waits(row) ? { ...row, state: "taken" } : row));
}

// What the server says is open replaces what was guessed here.
export function settle({ open: alive, queued, withdrawn }) {
  const waiting = new Map(queued.map((row) => [row.seq, row]));
  const gone = new Set(withdrawn);
  const now = (row) => {
    if (gone.has(row.seq)) return { ...row, state: "withdrawn" };
    return waiting.get(row.seq) ?? (row.state === "queued" ? { ...row, state: "taken" } : row);
  };
  batch(() => {
    open.value = alive.map(({ id, state }) => ({ id, state }));
    addTurns(alive);
    rows.value = rows.peek().map(now);
  });
}

// The live turn: its steps in order, each with its text and its calls.

export function liveTurn(turn) {
  const shown = live.peek();
  if (shown?.turn === turn && !shown.stale) return shown;
  const fresh = { turn, began: Date.now(), steps: [] };
  live.value = fresh;
  return fresh;
}

export function liveStep(turn, number) {
  const shown = liveTurn(turn);
  const known = shown.steps.find((step) => step.step === number);
  if (known) return known;
  const step = { step: number, text: null, thinking: null, calls: [] };
  live.value = {
    ...shown,
    steps: [...shown.steps, step].sort((one, other) => one.step - other.step),
  };
  return step;
}

export function liveText(turn, number, piece, at, kind) {
  const step = liveStep(turn, number);
  if (step[kind]) {
    step[kind].add(piece, at);
    return;
  }
  const growing = new Growing();
  growing.add(piece, at);
  changeStep(number, { [kind]: growing });
}

export function liveCall(turn, number, call) {
  const step = liveStep(turn, number);
  const known = step.calls.find((one) => one.id === call.id);
  const calls = known
    ? step.calls.map((one) => (one === known ? { ...one, ...call } : one))
    : [...step.calls, call];
  changeStep(number, { calls });
}

// A call that began and asks a person: what it asks is shown beside it.
export function callWaits(turn, id) {
  const shown = live.peek();
  if (shown?.turn !== turn) return;
  const step = shown.steps.find(({ calls }) => calls.some((call) => call.id === id));
  if (step) liveCall(turn, step.step, { id, state: "waiting" });
}

function changeStep(number, change) {
  const shown = live.peek();
  live.value = {
    ...shown,
    steps: shown.steps.map((step) => (step.step === number ? { ...step, ...change } : step)),
  };
}

export function resetSteps(turn, from) {
  const shown = live.peek();
  if (shown?.turn !== turn) return;
  live.value = { ...shown, steps: shown.steps.filter((step) => step.step < from) };
}

// After a reconnect the server shows the running step anew.
export function staleLive() {
  if (live.peek()) live.value = { ...live.peek(), stale: true };
}

// Until the server's record of a turn is here, what was seen of its calls stays.
function keepSteps(shown) {
  const steps = shown.steps
    .filter((step) => step.calls.length)
    .map((step) => ({ step: step.step, text: step.text?.text ?? "", calls: step.calls }));
  const known = turns.peek().get(shown.turn);
  const all = merge(known?.steps ?? [], steps);
  addTurns([{ ...known, id: shown.turn, state: "ended", steps: all, took: null }]);
}

// Recorded steps, with what was seen of later ones.
export function merge(recorded, seenSteps) {
  const found = new Map(recorded.map((step) => [step.step, step]));
  for (const step of seenSteps) {
    const known = found.get(step.step);
    if (!known) {
      found.set(step.step, step);
      continue;
    }
    const ids = new Set(known.calls.map((call) => call.id));
    const calls = known.calls.map((call) => {
      const fresh = step.calls.find((one) => one.id === call.id);
      return fresh && call.state !== "done" ? { ...call, ...fresh } : call;
    });
    const more = step.calls.filter((call) => !ids.has(call.id));
    found.set(step.step, { ...known, text: step.text || known.text, calls: [...calls, ...more] });
  }
  return [...found.values()].sort((one, other) => one.step - other.step);
}
