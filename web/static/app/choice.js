// Which model answers in this session, and how hard it thinks.

import { html, signal, useEffect } from "./vendor.js";
import { choose } from "./actions.js";
import { get } from "./api.js";
import { attempt } from "./notes.js";
import * as state from "./state.js";

const DEFAULT = "default";
const offered = signal(null);
const short = (model) => model.slice(model.indexOf("/") + 1);

async function look() {
  if (!offered.peek()) offered.value = (await attempt(() => get("/api/models"))) ?? null;
}

export function Choice() {
  const choice = state.choice.value;
  useEffect(() => {
    if (choice) look();
  }, [Boolean(choice)]);
  if (!choice || !offered.value) return html`<span></span>`;
  const { models, efforts } = offered.value;
  const named = models.map((one) => one.model);
  const known = choice.model && !named.includes(choice.model) ? [choice.model, ...named] : named;
  const current = models.find((one) => one.model === (choice.model ?? choice.own));
  const levels = current?.efforts.length ? current.efforts : efforts;
  const kept = choice.effort && !levels.includes(choice.effort) ? [choice.effort] : [];
  return html`<span class="choice">
    <label>
      <span class="unseen">Model</span>
      <select
        value=${choice.model ?? DEFAULT}
        onChange=${(event) => choose({ model: event.target.value })}
      >
        <option value=${DEFAULT}>${choice.own ? short(choice.own) : "No model"}</option>
        ${known
          .filter((model) => model !== choice.own || model === choice.model)
          .map((model) => html`<option value=${model}>${model}</option>`)}
      </select>
    </label>
    <label>
      <span class="unseen">Effort</span>
      <select
        value=${choice.effort ?? DEFAULT}
        onChange=${(event) => choose({ effort: event.target.value })}
      >
        <option value=${DEFAULT}>Its own effort</option>
        ${[...kept, ...levels].map((level) => html`<option value=${level}>Effort: ${level}</option>`)}
      </select>
    </label>
  </span>`;
}

// Beside the title: only what differs from the agent's own.
export function Chosen() {
  const choice = state.choice.value;
  const words = [choice?.model && short(choice.model), choice?.effort && `effort ${choice.effort}`];
  const said = words.filter(Boolean).join(", ");
  return said ? html`<span class="muted small cut chosen" title=${choice.model ?? ""}>${said}</span>` : null;
}
