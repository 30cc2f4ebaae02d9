// A question of an agent in the flow: likely answers as buttons, and any words.

import { html, useState } from "./vendor.js";
import { post } from "./api.js";
import { Left } from "./approval.js";
import { Icon } from "./icons.js";
import { attempt } from "./notes.js";
import { lookForApprovals } from "./shell.js";

const letter = (place) => String.fromCharCode(65 + place);

// What was asked, as it stays in the chat.
export function Asked({ questions }) {
  return html`<ol class="asked">
    ${questions.map(
      ({ question, choices }) => html`<li>
        <span dir="auto">${question}</span>
        ${choices.length > 0 &&
        html`<ul>
          ${choices.map((text, place) => html`<li><bdi>${letter(place)}. ${text}</bdi></li>`)}
        </ul>`}
      </li>`,
    )}
  </ol>`;
}

export function Question({ item }) {
  const [words, setWords] = useState("");
  const [busy, setBusy] = useState(false);
  const single = item.questions.length === 1 ? item.questions[0] : null;
  const answer = async (text) => {
    setBusy(true);
    await attempt(() => post(`/api/questions/${encodeURIComponent(item.id)}`, { text }));
    await lookForApprovals();
    setBusy(false);
  };
  const submit = (event) => {
    event.preventDefault();
    if (words.trim()) answer(words.trim());
  };
  const id = `question-${item.id}`;
  return html`<section class="approval" aria-labelledby=${id}>
    <h2 id=${id}>
      <${Icon} name="message-circle-question-mark" />
      <span class="grow"><bdi>${item.agent}</bdi> asks</span>
      ${item.expires_at && html`<${Left} expires=${item.expires_at} />`}
    </h2>
    ${single ? html`<p dir="auto">${single.question}</p>` : html`<${Asked} questions=${item.questions} />`}
    ${single?.choices.length > 0 &&
    html`<div class="row choices">
      ${single.choices.map(
        (text, place) =>
          html`<button class="button touch" dir="auto" disabled=${busy} onClick=${() => answer(text)}>
            <span aria-hidden="true">${letter(place)}.</span> <bdi>${text}</bdi>
          </button>`,
      )}
    </div>`}
    <form class="row" onSubmit=${submit}>
      <label class="unseen" for=${`${id}-words`}>Your answer</label>
      <input
        id=${`${id}-words`}
        class="field grow"
        dir="auto"
        placeholder="Your answer"
        value=${words}
        onInput=${(event) => setWords(event.target.value)}
      />
      <button class="button main touch" disabled=${busy || !words.trim()}>Answer</button>
    </form>
  </section>`;
}
