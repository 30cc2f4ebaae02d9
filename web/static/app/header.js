// The head of a conversation: its title, and what can be done with the whole of it.

import { html, useEffect, useRef, useState } from "./vendor.js";
import { archive, remove, rename } from "./actions.js";
import { conversation } from "./api.js";
import { Chosen } from "./choice.js";
import { Icon } from "./icons.js";
import * as state from "./state.js";

export function Header() {
  const [renaming, setRenaming] = useState(false);
  const about = state.about.value;
  const known = state.list.value.conversations.find((row) => row.conversation === state.name.value);
  const title = about?.title ?? known?.title ?? "New conversation";
  useEffect(() => setRenaming(false), [state.name.value]);
  useEffect(() => {
    document.title = `${title} · Habakkuk`;
  }, [title]);
  const stored = state.rows.value.length > 0;
  return html`<header>
    <a class="button bare touch narrow" href="/?list" aria-label="Conversations">
      <${Icon} name="arrow-left" />
    </a>
    ${renaming
      ? html`<${Renaming} title=${title} onDone=${() => setRenaming(false)} />`
      : html`<h1 class="cut grow" dir="auto">${title}</h1>`}
    ${!renaming && html`<${Chosen} />`}
    ${about?.archived && html`<span class="muted small">archived</span>`}
    ${stored && !renaming && html`<${Menu} about=${about} onRename=${() => setRenaming(true)} />`}
  </header>`;
}

function Renaming({ title, onDone }) {
  const [value, setValue] = useState(title);
  const save = async (event) => {
    event.preventDefault();
    if (await rename(value)) onDone();
  };
  const key = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onDone();
  };
  return html`<form onSubmit=${save}>
    <label class="unseen" for="title">Title (empty: from the first message)</label>
    <input
      id="title"
      class="field"
      dir="auto"
      maxlength="200"
      value=${value}
      ref=${(element) => element && document.activeElement !== element && element.focus()}
      onInput=${(event) => setValue(event.target.value)}
      onKeyDown=${key}
    />
    <button class="button main">Save</button>
    <button type="button" class="button" onClick=${onDone}>Cancel</button>
  </form>`;
}

function Menu({ about, onRename }) {
  const menu = useRef();
  const [sure, setSure] = useState(false);
  const close = () => {
    menu.current.open = false;
    setSure(false);
  };
  useEffect(() => {
    const outside = (event) => menu.current && !menu.current.contains(event.target) && close();
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, []);
  const key = (event) => {
    if (event.key !== "Escape" || !menu.current.open) return;
    event.stopPropagation();
    close();
    menu.current.querySelector("summary").focus();
  };
  const pick = (act) => () => {
    close();
    act();
  };
  return html`<details class="menu" ref=${menu} onKeyDown=${key}>
    <summary class="button bare touch"><${Icon} name="ellipsis" />More</summary>
    <div class="items">
      <button class="button bare" onClick=${pick(onRename)}><${Icon} name="pencil" />Rename</button>
      <button class="button bare" onClick=${pick(() => archive(!about?.archived))}>
        <${Icon} name=${about?.archived ? "archive-restore" : "archive"} />
        ${about?.archived ? "Take back" : "Archive"}
      </button>
      <a class="button bare" href=${`${conversation(state.name.value)}/export`} onClick=${close}>
        <${Icon} name="download" />Export as Markdown
      </a>
      ${sure
        ? html`<button class="button danger" onClick=${pick(remove)}>
              <${Icon} name="trash-2" />Remove for good
            </button>
            <button class="button bare" onClick=${() => setSure(false)}>Keep it</button>`
        : html`<button class="button bare danger" onClick=${() => setSure(true)}>
            <${Icon} name="trash-2" />Remove
          </button>`}
    </div>
  </details>`;
}
