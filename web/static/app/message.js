// One message with what belongs to it.

import { html, useState } from "./vendor.js";
import { retry } from "./actions.js";
import { copy } from "./copy.js";
import { Files } from "./files.js";
import { Icon } from "./icons.js";
import { Inspect } from "./inspector.js";
import { Prose } from "./prose.js";
import { Asked } from "./question.js";
import * as state from "./state.js";
import { Calls, runs } from "./tools.js";
import { clock, exact, seconds, span } from "./words.js";

function Copy({ text }) {
  const [done, setDone] = useState(false);
  const press = async () => {
    if (!(await copy(text))) return;
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button class="button bare small" onClick=${press}>
    <${Icon} name=${done ? "check" : "copy"} />${done ? "Copied" : "Copy"}
  </button>`;
}

function Retry() {
  const [busy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    await retry();
    setBusy(false);
  };
  return html`<button class="button bare small" disabled=${busy} onClick=${press}>
    <${Icon} name="rotate-ccw" />Retry
  </button>`;
}

function Moment({ moment }) {
  return html`<time datetime=${moment} title=${exact(moment)}>${clock(moment)}</time>`;
}

export function Steps({ steps, turn }) {
  return runs(steps).map((run) =>
    run.kind === "text"
      ? html`<${Prose} key=${run.key} text=${run.text} />`
      : run.kind === "calls" &&
        html`<${Calls} key=${run.key} calls=${run.calls} turn=${turn} />`,
  );
}

const anchor = (row) => `m${row.seq}`;

export function UserMessage({ row }) {
  if (row.kind === "command") {
    return html`<article class="message user command" aria-label="You">${row.text}</article>`;
  }
  return html`<article id=${anchor(row)} class="message user" aria-label="You">
    <${Files} files=${row.data.files} name=${state.name.value} seq=${row.seq} />
    ${row.text && html`<div class="said" dir="auto">${row.text}</div>`}
    <div class="under">
      <span class="tools"><${Copy} text=${row.text} /></span><${Moment} moment=${row.created} />
    </div>
  </article>`;
}

function Notice({ text, error, again, turn }) {
  return html`<div class=${error ? "aside error" : "aside"}>
    <${Icon} name=${error ? "circle-alert" : "circle-pause"} />
    <span class="grow" dir="auto">${text}</span>
    ${error && turn && html`<${Inspect} turn=${turn} />`}
    ${again && html`<${Retry} />`}
  </div>`;
}

export function Answer({ row, turn, last }) {
  if (row.kind === "command") {
    return html`<article class="message command" dir="auto">${row.text}</article>`;
  }
  if (row.kind === "approval") {
    return html`<article id=${anchor(row)} class="message command row" dir="auto">
      <${Icon} name="shield-question" />${row.text}
    </article>`;
  }
  if (row.kind === "question") {
    return html`<article id=${anchor(row)} class="message command" dir="auto">
      ${row.text}
      <${Asked} questions=${row.data.questions ?? []} />
    </article>`;
  }
  if (row.kind === "event") {
    return html`<article id=${anchor(row)} class="message command row" dir="auto">
      <${Icon} name=${row.data.paused ? "circle-pause" : "terminal"} />${row.text}
    </article>`;
  }
  if (row.kind === "file" || row.kind === "poll") {
    return html`<article id=${anchor(row)} class="message agent" aria-label="Sent by the agent">
      <${Files} files=${row.data.files} name=${state.name.value} seq=${row.seq} />
      ${row.text && html`<${Prose} text=${row.text} />`}
    </article>`;
  }
  const steps = turn?.steps ?? [];
  const said = row.author === "agent";
  const again = last && (row.data.retry || row.kind === "error");
  const kind = `message agent ${last ? "last" : ""}`;
  return html`<article id=${anchor(row)} class=${kind} aria-label="Answer">
    <div class="steps">
      <${Steps} steps=${steps} turn=${row.turn} />
      ${said && html`<${Prose} text=${row.text} />`}
      ${said && row.data.notice && html`<${Notice} text=${row.data.notice} again=${again} />`}
      ${!said &&
      html`<${Notice}
        text=${row.text}
        error=${row.kind === "error"}
        again=${again}
        turn=${row.turn}
      />`}
    </div>
    ${said && html`<${Under} row=${row} turn=${turn} last=${last} again=${again} />`}
  </article>`;
}

function Under({ row, turn, last, again }) {
  const took = turn?.began && turn?.ended ? span(seconds(turn.began, turn.ended)) : null;
  return html`<div class="under">
    ${row.data.model && html`<span>${row.data.model}</span>`}
    ${took && html`<span>${took}</span>`}
    <${Moment} moment=${row.created} />
    <span class="tools">
      <${Copy} text=${row.text} />
      ${row.turn && html`<${Inspect} turn=${row.turn} />`}
      ${last && !again && html`<${Retry} />`}
    </span>
  </div>`;
}
