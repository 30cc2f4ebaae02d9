// The conversations: found, opened, begun.

import { html, useEffect, useRef, useState } from "./vendor.js";
import { moreOfList, place, refreshList, show } from "./actions.js";
import { Icon } from "./icons.js";
import { attempt } from "./notes.js";
import * as state from "./state.js";
import { brief, exact, plural } from "./words.js";

const TYPED_MS = 200;
const LOOK_MS = 10_000;
const BUSY = { pending: "queued", running: "answering", waiting: "waits for you", paused: "paused" };

function plain(event) {
  return event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;
}

export function List({ start }) {
  const [query, setQuery] = useState(start.q);
  const [archived, setArchived] = useState(start.archived);
  const typed = useRef(false);
  const shown = useRef(false);
  const known = state.rows.value.at(-1)?.seq;

  useEffect(() => {
    if (!typed.current) return undefined;
    const timer = setTimeout(() => attempt(() => refreshList(query, archived)), TYPED_MS);
    return () => clearTimeout(timer);
  }, [query, archived]);
  useEffect(() => {
    const look = () => document.hidden || refreshList(query, archived).catch(() => undefined);
    // The first time the server has just written the list.
    if (shown.current) look();
    shown.current = true;
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, [query, archived, known, state.about.value?.title, state.about.value?.archived, state.name.value]);

  const change = (set) => (value) => {
    typed.current = true;
    set(value);
  };
  return html`<h1 class="unseen narrow">Conversations</h1>
    <${Top} query=${query} onQuery=${change(setQuery)} />
    <div class="scroll">
      <${Items} query=${query} archived=${archived} />
    </div>
    <div class="foot">
      <span class="muted small" role="status">${count(query)}</span>
      <button
        class="button bare small"
        aria-pressed=${archived}
        onClick=${() => change(setArchived)(!archived)}
      >
        <${Icon} name="archive" />${archived ? "Show current" : "Show archived"}
      </button>
    </div>`;
}

function count(query) {
  const { conversations, total } = state.list.value;
  return query.trim()
    ? plural(conversations.length, "found", "found")
    : plural(total, "conversation", "conversations");
}

function Top({ query, onQuery }) {
  const begin = (event) => {
    if (!plain(event)) return;
    event.preventDefault();
    show(null);
  };
  return html`<div class="top">
    <a class="button" href="/" onClick=${begin}>
      <${Icon} name="message-square-plus" />New conversation
    </a>
    <form role="search" onSubmit=${(event) => event.preventDefault()}>
      <label class="unseen" for="search">Search conversations</label>
      <input
        id="search"
        class="field"
        type="search"
        placeholder="Search"
        maxlength="200"
        value=${query}
        onInput=${(event) => onQuery(event.target.value)}
      />
    </form>
  </div>`;
}

function Items({ query, archived }) {
  const { conversations, total } = state.list.value;
  if (!conversations.length) {
    const words = query.trim()
      ? "Nothing holds these words."
      : archived
        ? "Nothing is archived."
        : "No conversations yet. Write a message to begin one.";
    return html`<p class="muted small">${words}</p>`;
  }
  const more = !query.trim() && conversations.length < total;
  return html`<ul>
      ${conversations.map((row) => html`<${Item} key=${row.conversation} row=${row} query=${query} />`)}
    </ul>
    ${more &&
    html`<button class="button bare small" onClick=${() => attempt(() => moreOfList(archived))}>
      Show older
    </button>`}`;
}

function Item({ row, query }) {
  const open = (event) => {
    if (!plain(event)) return;
    event.preventDefault();
    show(row.conversation, { seq: row.hit?.seq });
  };
  const current = row.conversation === state.name.value;
  return html`<li>
    <a
      class="item"
      href=${place(row.conversation, row.hit?.seq)}
      aria-current=${current ? "page" : undefined}
      onClick=${open}
    >
      <span class="cut" dir="auto">${row.title || row.conversation}</span>
      ${row.busy
        ? html`<span class=${`busy ${row.busy}`}>
            ${row.busy === "running" && html`<span class="dot"></span>`}${BUSY[row.busy]}
          </span>`
        : html`<time datetime=${row.updated} title=${exact(row.updated)}>${brief(row.updated)}</time>`}
      ${row.hit && html`<span class="hit" dir="auto"><${Marked} text=${row.hit.excerpt} words=${query} /></span>`}
    </a>
  </li>`;
}

function Marked({ text, words }) {
  const line = text.replace(/\s+/g, " ");
  const at = line.toLowerCase().indexOf(words.trim().toLowerCase());
  if (at < 0 || !words.trim()) return line;
  const end = at + words.trim().length;
  return html`${line.slice(0, at)}<mark>${line.slice(at, end)}</mark>${line.slice(end)}`;
}
