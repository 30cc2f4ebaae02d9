// Tool calls as cards of one line; long runs of them fold.

import { html, signal, useEffect, useState } from "./vendor.js";
import { get } from "./api.js";
import { Icon } from "./icons.js";
import { attempt } from "./notes.js";
import { plural, seconds, span } from "./words.js";

const FOLD_ABOVE = 3;
const ICONS = {
  exec: "terminal",
  read_file: "file-text",
  read_output: "file-text",
  write_file: "file-pen",
  edit_file: "file-pen",
  list_dir: "folder-open",
  fetch_url: "globe",
};
const TELLING = ["command", "path", "url", "query", "question", "name"];

// What a person opened or closed stays so.
const chosen = signal(new Map());

function useOpen(id, byItself) {
  const open = chosen.value.get(id) ?? byItself;
  const toggle = (event) => {
    event.preventDefault();
    chosen.value = new Map(chosen.peek()).set(id, !open);
  };
  return [open, toggle];
}

function telling(call) {
  const input = call.input;
  if (!input) return call.input_text ?? "";
  const key = TELLING.find((one) => typeof input[one] === "string");
  const value = key ? input[key] : Object.values(input).find((one) => typeof one === "string");
  return value ?? "";
}

function shownInput(call) {
  const input = call.input;
  if (!input) return call.input_text ?? "";
  const entries = Object.entries(input);
  if (!entries.length) return "";
  if (entries.length === 1 && typeof entries[0][1] === "string") return entries[0][1];
  return JSON.stringify(input, null, 2);
}

function Elapsed({ from }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return html`${span(seconds(from))}`;
}

function took(call) {
  if (call.state === "running") return html`<${Elapsed} from=${call.started} />`;
  // One that was denied has ended and never began.
  return call.started && call.finished ? span(seconds(call.started, call.finished)) : "";
}

const WORDS = { running: "running", waiting: "waits for you" };

function Card({ call, turn }) {
  const [open, toggle] = useOpen(call.id, call.state === "running" || Boolean(call.error));
  const word = call.error ? "failed" : (WORDS[call.state] ?? "");
  const kind = call.error ? "failed" : call.state;
  return html`<details class=${`card ${kind}`} open=${open} data-call=${call.id}>
    <summary onClick=${toggle}>
      <${Icon} name="chevron-right" class="chevron" />
      <${Icon} name=${ICONS[call.name] ?? "wrench"} />
      <span class="name">${call.name}</span>
      <span class="telling cut grow" dir="ltr">${telling(call).slice(0, 300)}</span>
      ${word && html`<span class=${call.error ? "err" : "muted"}>${word}</span>`}
      <span class="muted">${took(call)}</span>
    </summary>
    ${open && html`<${Inside} call=${call} turn=${turn} />`}
  </details>`;
}

function Inside({ call, turn }) {
  const [whole, setWhole] = useState(null);
  const result = whole?.result ?? call.result ?? "";
  const more = !whole && call.length > (call.result ?? "").length;
  const ask = async () => {
    const path = `/api/turns/${encodeURIComponent(turn)}/call?call=${encodeURIComponent(call.id)}`;
    const found = await attempt(() => get(path));
    if (found) setWhole(found);
  };
  const given = shownInput(whole ? { ...call, input: whole.input } : call);
  return html`<div class="inside">
    ${given && html`<pre class="plain" tabindex="0" aria-label="What was asked">${given}</pre>`}
    ${result &&
    html`<pre class="plain" tabindex="0" dir="auto" aria-label="What it gave">${result}</pre>`}
    ${more &&
    html`<div>
      <button type="button" class="button small" onClick=${ask}>Show all of it</button>
    </div>`}
  </div>`;
}

function whole(calls) {
  const began = calls.find((call) => call.started)?.started;
  const ended = calls.findLast((call) => call.started && call.finished)?.finished;
  return began && ended ? span(seconds(began, ended)) : null;
}

function Fold({ calls, turn }) {
  const active = calls.some((call) => call.state !== "done");
  const failed = calls.filter((call) => call.error).length;
  const [open, toggle] = useOpen(`fold-${calls[0].id}`, active || failed > 0);
  const total = active ? null : whole(calls);
  return html`<details class="folded" open=${open}>
    <summary onClick=${toggle}>
      <${Icon} name="chevron-right" class="chevron" />
      <${Icon} name="list-checks" />
      <span>${plural(calls.length, "step", "steps")}${total && `, ${total}`}</span>
      ${failed > 0 && html`<span class="err">${failed} failed</span>`}
    </summary>
    ${open &&
    html`<div class="steps">
      ${calls.map((call) => html`<${Card} key=${call.id} call=${call} turn=${turn} />`)}
    </div>`}
  </details>`;
}

export function Calls({ calls, turn }) {
  if (calls.length > FOLD_ABOVE) return html`<${Fold} calls=${calls} turn=${turn} />`;
  return html`<div class="steps">
    ${calls.map((call) => html`<${Card} key=${call.id} call=${call} turn=${turn} />`)}
  </div>`;
}

// Steps to what is shown: runs of calls that no words stand between are one.
export function runs(steps) {
  const found = [];
  for (const step of steps) {
    if (step.thinking) found.push({ kind: "thinking", key: `h${step.step}`, growing: step.thinking });
    if (step.text) found.push({ kind: "text", key: `t${step.step}`, text: step.text });
    if (!step.calls.length) continue;
    const last = found.at(-1);
    if (last?.kind === "calls") last.calls = [...last.calls, ...step.calls];
    else found.push({ kind: "calls", key: `c${step.step}`, calls: step.calls });
  }
  return found;
}
