// What a person does to a conversation.

import { call, get, post, sentence, chat, conversation } from "./api.js";
import { follow, leave } from "./follow.js";
import { attempt, tell } from "./notes.js";
import * as state from "./state.js";
import { forget, keep, unsent } from "./unsent.js";

const PAGE = 50;
const LARGE_PAGE = 200;
const GONE = 404;
const STOP_ONCE_MS = 1000;

const fresh = () => `c-${crypto.randomUUID().slice(0, 13)}`;

// The list.

export async function refreshList(query = "", archived = false) {
  const q = encodeURIComponent(query);
  const shown = Math.max(PAGE, Math.min(200, state.list.peek().conversations.length));
  const found = await get(`/api/conversations?limit=${shown}&q=${q}&archived=${archived}`);
  state.list.value = found;
}

export async function moreOfList(archived) {
  const { conversations, total } = state.list.peek();
  const before = encodeURIComponent(conversations.at(-1).updated);
  const found = await get(`/api/conversations?before=${before}&archived=${archived}&limit=${PAGE}`);
  state.list.value = { conversations: [...conversations, ...found.conversations], total };
}

// Where one is.

// The address of a conversation, or of the place of one message in it.
export const place = (name, seq) => `/c/${encodeURIComponent(name)}${seq ? `#m${seq}` : ""}`;
export const soughtIn = (hash) => Number(/^#m(\d{1,15})$/.exec(hash)?.[1] ?? 0);

export function begin(name) {
  state.reset(name);
  state.sending.value = unsent(name);
}

export async function show(name, { push = true, seq = 0 } = {}) {
  leave();
  begin(name);
  document.body.classList.remove("listing");
  if (push) history.pushState(null, "", name ? place(name, seq) : "/");
  if (!name) return;
  try {
    const page = await get(`${conversation(name)}?limit=${PAGE}`);
    if (state.name.peek() === name) state.take(page);
  } catch (error) {
    if (error.status !== GONE) return tell(error.message);
  }
  if (state.name.peek() !== name) return;
  follow(name);
  if (seq) await attempt(() => reach(seq));
}

// Go to one message. What lies between is gathered first, so that it is drawn once.
export async function reach(seq) {
  const name = state.name.peek();
  const between = { earlier: state.earlier.peek(), messages: [], turns: [] };
  let before = state.rows.peek()[0]?.seq ?? 0;
  while (between.earlier && before > seq) {
    const page = await get(`${conversation(name)}?limit=${LARGE_PAGE}&before=${before}`);
    between.earlier = page.earlier;
    between.messages.push(...page.messages);
    between.turns.push(...page.turns);
    before = page.messages[0]?.seq ?? 0;
  }
  if (state.name.peek() !== name) return;
  if (between.messages.length) state.addEarlier(between);
  state.sought.value = seq;
}

export async function loadEarlier() {
  const name = state.name.peek();
  const before = state.rows.peek()[0]?.seq;
  if (!before || !state.earlier.peek()) return;
  const page = await get(`${conversation(name)}?limit=${PAGE}&before=${before}`);
  if (state.name.peek() === name) state.addEarlier(page);
}

// Messages.

export async function send(text, agent, files = []) {
  let name = state.name.peek();
  const begins = !name;
  if (begins) {
    name = fresh();
    state.reset(name);
    history.pushState(null, "", `/c/${name}`);
  }
  const id = crypto.randomUUID();
  const mine = { key: id, text, failed: null, name, agent, files };
  state.sending.value = [...state.sending.peek(), mine];
  if (begins) follow(name);
  await deliver(mine);
}

// The same id again changes nothing on the server, so a try after a lost answer is safe.
export async function deliver(mine) {
  change(mine.key, { failed: null });
  try {
    const body = { conversation: mine.name, text: mine.text, id: mine.key };
    if (mine.agent) body.agent = mine.agent;
    if (mine.files?.length) body.files = mine.files.map(({ name, data }) => ({ name, data }));
    const sent = await post("/api/chat", body);
    forget(mine);
    if (state.name.peek() !== mine.name) return;
    state.session.value = sent.session;
    if (!sent.turn || state.rows.peek().some((row) => row.seq === sent.seq)) return drop(mine);
    change(mine.key, { seq: sent.seq });
    state.opened(sent.turn, state.running.peek()?.id === sent.turn ? "running" : "queued");
  } catch (error) {
    keep({ ...mine, failed: error.message });
    change(mine.key, { failed: error.message });
  }
}

function change(key, fields) {
  state.sending.value = state.sending
    .peek()
    .map((one) => (one.key === key ? { ...one, ...fields } : one));
}

export function drop(mine) {
  forget(mine);
  state.sending.value = state.sending.peek().filter((one) => one.key !== mine.key);
}

let stopped = -Infinity;

// Pressed twice in a moment it is meant once: the second would stop the message that waits.
export function stop() {
  if (performance.now() - stopped < STOP_ONCE_MS) return;
  stopped = performance.now();
  attempt(() => post(`${chat(state.name.peek())}/stop`));
}

export async function pause() {
  const turn = state.running.peek()?.id;
  if (await attempt(() => post(`${chat(state.name.peek())}/pause`))) state.pausing.value = turn;
}

export async function resume() {
  if (await attempt(() => post(`${chat(state.name.peek())}/resume`))) state.pausing.value = null;
}

export const steer = (text) => attempt(() => post(`${chat(state.name.peek())}/steer`, { text }));
export const retry = () => attempt(() => post(`${conversation(state.name.peek())}/retry`));

const message = (seq) => `${conversation(state.name.peek())}/messages/${seq}`;

export async function edit(row, text) {
  const done = await attempt(() => call("PATCH", message(row.seq), { text }));
  if (done) state.changeRow(row.seq, { text });
  return Boolean(done);
}

export async function withdraw(row) {
  const done = await attempt(() => call("DELETE", message(row.seq)));
  if (!done) return;
  state.changeRow(row.seq, { state: "withdrawn" });
  const others = state.rows.peek().some((one) => one.turn === row.turn && one.state === "queued");
  if (!others) state.open.value = state.open.peek().filter((turn) => turn.id !== row.turn);
}

// The conversation itself.

async function patch(fields) {
  const name = state.name.peek();
  const about = await attempt(() => call("PATCH", conversation(name), fields));
  if (about && state.name.peek() === name) state.about.value = about;
  return about;
}

export const rename = (title) => patch({ title });
export const archive = (archived) => patch({ archived });

// What is given changes; "default" goes back to what the agent has.
export async function choose(fields) {
  const session = state.session.peek();
  const done = await attempt(() =>
    call("PATCH", `/api/sessions/${encodeURIComponent(session)}`, fields),
  );
  if (!done || state.session.peek() !== session) return;
  const { model, effort } = done.session;
  state.choice.value = { ...state.choice.peek(), model, effort };
  if (done.notes.length) tell(done.notes.map(sentence).join(" "));
}

export async function remove() {
  const done = await attempt(() => call("DELETE", conversation(state.name.peek())));
  if (done) await show(null);
  return Boolean(done);
}
