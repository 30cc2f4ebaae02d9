// A question of an agent, in the flow: what would run, exactly, and the answers.

import { html, useEffect, useState } from "./vendor.js";
import { post } from "./api.js";
import { Icon } from "./icons.js";
import { attempt } from "./notes.js";
import { lookForApprovals } from "./shell.js";
import { clock } from "./words.js";

function left(expires) {
  const seconds = Math.max(0, Math.round((new Date(expires) - Date.now()) / 1000));
  if (seconds >= 5400) return `until ${clock(expires)}`;
  if (seconds >= 60) return `${Math.ceil(seconds / 60)} min left`;
  return `${seconds} s left`;
}

export function Left({ expires }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return html`<span class="muted small">${left(expires)}</span>`;
}

function exactly(input) {
  const keys = Object.keys(input);
  if (typeof input.command === "string" && keys.length === 1) return input.command;
  return JSON.stringify(input, null, 2);
}

export function Approval({ item }) {
  const [denying, setDenying] = useState(false);
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const answer = async (word, why) => {
    setBusy(true);
    const body = why ? { answer: word, reason: why } : { answer: word };
    await attempt(() => post(`/api/approvals/${encodeURIComponent(item.id)}`, body));
    await lookForApprovals();
    setBusy(false);
  };
  const id = `approval-${item.id}`;
  return html`<section class="approval" aria-labelledby=${id}>
    <h2 id=${id}>
      <${Icon} name="shield-question" />
      <span class="grow">${item.agent} wants to use ${item.tool}</span>
      ${item.expires_at && html`<${Left} expires=${item.expires_at} />`}
    </h2>
    <pre class="plain" tabindex="0" aria-label="What would run">${exactly(item.input)}</pre>
    <dl>
      <dt>Folder</dt>
      <dd><code>${item.folder}</code></dd>
      <dt>Why</dt>
      <dd dir="auto">${item.why}</dd>
    </dl>
    ${denying
      ? html`<${Denial}
          reason=${reason}
          busy=${busy}
          onReason=${setReason}
          onDeny=${() => answer("deny", reason.trim())}
          onBack=${() => setDenying(false)}
        />`
      : html`<div class="row">
          <button class="button main touch" disabled=${busy} onClick=${() => answer("once")}>
            <${Icon} name="check" /> Allow once
          </button>
          ${item.may_repeat &&
          html`<button class="button touch" disabled=${busy} onClick=${() => answer("session")}>
            Allow for this session
          </button>`}
          <button class="button danger touch" disabled=${busy} onClick=${() => setDenying(true)}>
            <${Icon} name="x" /> Deny
          </button>
        </div>`}
  </section>`;
}

function Denial({ reason, busy, onReason, onDeny, onBack }) {
  const submit = (event) => {
    event.preventDefault();
    onDeny();
  };
  return html`<form class="row" onSubmit=${submit}>
    <label class="unseen" for="deny-reason">Why not (the agent reads it)</label>
    <input
      id="deny-reason"
      class="field grow"
      placeholder="Why not? The agent reads it"
      value=${reason}
      maxlength="2000"
      ref=${(element) => element && !element.value && element.focus()}
      onInput=${(event) => onReason(event.target.value)}
    />
    <button class="button danger touch" disabled=${busy}>Deny</button>
    <button type="button" class="button touch" onClick=${onBack}>Back</button>
  </form>`;
}
