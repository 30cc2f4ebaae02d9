// Messages that wait for their turn: each can be changed or taken back.

import { html, useState } from "./vendor.js";
import { edit, withdraw } from "./actions.js";
import { Icon } from "./icons.js";
import { sends } from "./shell.js";
import * as state from "./state.js";
import { plural } from "./words.js";

export function queued() {
  return state.rows.value.filter((row) => state.isQueued(row));
}

export function Queue({ editing, onEdit }) {
  const waiting = queued();
  if (!waiting.length) return null;
  return html`<section class="queue" aria-label="Queue">
    <span class="muted small">${plural(waiting.length, "message waits", "messages wait")}</span>
    <ol>
      ${waiting.map(
        (row) => html`<li key=${row.seq}>
          ${editing === row.seq
            ? html`<${Editor} row=${row} onDone=${() => onEdit(null)} />`
            : html`<span class="cut grow" dir="auto">${row.text || plural(row.data.files?.length ?? 0, "file", "files")}</span>
                <button class="button bare small" onClick=${() => onEdit(row.seq)}>
                  <${Icon} name="pencil" />Edit
                </button>
                <button class="button bare small" onClick=${() => withdraw(row)}>
                  <${Icon} name="x" />Withdraw
                </button>`}
        </li>`,
      )}
    </ol>
  </section>`;
}

function Editor({ row, onDone }) {
  const [text, setText] = useState(row.text);
  const save = async (event) => {
    event.preventDefault();
    if (text.trim() && (await edit(row, text))) onDone();
  };
  const key = (event) => {
    if (event.isComposing) return;
    if (sends(event)) save(event);
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onDone();
  };
  const begin = (field) => {
    if (!field || document.activeElement === field) return;
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  };
  return html`<form onSubmit=${save}>
    <label class="unseen" for="queued-text">Edit the queued message</label>
    <textarea
      id="queued-text"
      class="field"
      rows="1"
      dir="auto"
      value=${text}
      ref=${begin}
      onInput=${(event) => setText(event.target.value)}
      onKeyDown=${key}
    ></textarea>
    <button class="button small">Save</button>
    <button type="button" class="button bare small" onClick=${onDone}>Cancel</button>
  </form>`;
}
