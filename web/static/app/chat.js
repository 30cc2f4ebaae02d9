// The chat page: takes over what the server wrote.

import { html, render, tinykeys } from "./vendor.js";
import * as actions from "./actions.js";
import { Composer } from "./composer.js";
import { follow, onChange } from "./follow.js";
import { Header } from "./header.js";
import { Inspector, inspectedIn } from "./inspector.js";
import { List } from "./list.js";
import { attempt } from "./notes.js";
import { EVERYWHERE, shell, writing } from "./shell.js";
import * as state from "./state.js";
import { get, conversation } from "./api.js";
import { Thread } from "./thread.js";

function Talk({ agents, writes, most }) {
  return html`<${Header} />
    <div role="status">
      ${!state.connected.value &&
      html`<div class="line">The connection is lost; it comes back by itself.</div>`}
    </div>
    <${Thread} />
    ${writes
      ? html`<${Composer} agents=${agents} most=${most} />`
      : html`<div class="line">You may read here, not write.</div>`}
    <${Inspector} />`;
}

// A title is made of the first message, a command may choose a model: look when that may have
// happened.
async function learn(row) {
  const name = state.name.peek();
  const settled = state.about.peek()?.title && state.choice.peek();
  if (!name || (settled && row?.kind !== "command")) return;
  try {
    const page = await get(`${conversation(name)}?limit=1`);
    if (state.name.peek() !== name) return;
    state.about.value = page.conversation;
    state.session.value = page.session;
    state.choice.value = page.choice;
  } catch {
    // The list has it at its next look.
  }
}

function nameOf(path) {
  const found = /^\/c\/([^/]+)$/.exec(path);
  return found ? decodeURIComponent(found[1]) : null;
}

function keys() {
  const write = (event) => {
    if (writing(event)) return;
    event.preventDefault();
    document.getElementById("message")?.focus();
  };
  const end = (event) => {
    if (document.querySelector("dialog[open]") || event.defaultPrevented || event.repeat) return;
    if (state.open.peek().length) actions.stop();
  };
  tinykeys(window, { "/": write, Escape: end }, EVERYWHERE);
}

function takeOver() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const name = nameOf(location.pathname);
  actions.begin(name);
  state.list.value = data.list;
  if (data.page) state.take(data.page);
  state.inspected.value = inspectedIn(location.search);
  document.body.dataset.titled = "yes";
  const list = document.querySelector(".list");
  const talk = document.querySelector(".talk");
  const parameters = new URLSearchParams(location.search);
  const start = { q: parameters.get("q") ?? "", archived: parameters.has("archived") };
  list.replaceChildren();
  talk.replaceChildren();
  render(html`<${List} start=${start} />`, list);
  render(html`<${Talk} agents=${data.agents} writes=${data.writes} most=${data.most} />`, talk);
  onChange(learn);
  shell({ onNew: () => attempt(() => actions.show(null)) });
  keys();
  window.addEventListener("popstate", () => {
    actions.show(nameOf(location.pathname), {
      push: false,
      seq: actions.soughtIn(location.hash),
    });
    state.inspected.value = inspectedIn(location.search);
  });
  if (!name) return;
  follow(name);
  const seq = actions.soughtIn(location.hash);
  if (seq) attempt(() => actions.reach(seq));
}

takeOver();
performance.mark("shown");
