// Where messages are written; Stop stands where Send was while an answer runs.

import { html, useEffect, useRef, useState } from "./vendor.js";
import { pause, resume, send, steer, stop } from "./actions.js";
import { Choice } from "./choice.js";
import { Attach, Held, taken } from "./files.js";
import { Icon } from "./icons.js";
import { Queue, queued } from "./queue.js";
import { questions, sends } from "./shell.js";
import * as state from "./state.js";

const draftKey = (name) => `draft:${name ?? ""}`;

export function Composer({ agents, most }) {
  const box = useRef();
  const [text, setText] = useState("");
  const [editing, setEditing] = useState(null);
  const [agent, setAgent] = useState(agents[0]);
  const [files, setFiles] = useState([]);
  const [over, setOver] = useState(false);
  const name = state.name.value;
  const alive = state.open.value.length > 0;
  const begun = Boolean(state.running.value);
  // What is written next is the answer then.
  const asked = questions.value.some(({ turn }) => state.open.value.some(({ id }) => id === turn));
  const held = state.paused.value || state.pauses.value;
  // Not with files, which a call cannot take: that waits until the question is answered.
  const answers = asked && !files.length;
  const invites = answers ? "Write your answer" : alive ? "Write; it waits for its turn" : "Write a message";

  useEffect(() => {
    setText(sessionStorage.getItem(draftKey(name)) ?? "");
    setEditing(null);
    setFiles([]);
    if (matchMedia("(width >= 900px)").matches) box.current.focus();
  }, [name]);

  const write = (value) => {
    setText(value);
    if (value) sessionStorage.setItem(draftKey(name), value);
    else sessionStorage.removeItem(draftKey(name));
  };
  const empty = !text.trim() && !files.length;
  const add = async (more) => setFiles(await taken(more, files, most));
  const paste = (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    add(event.clipboardData.files);
  };
  const drag = (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setOver(true);
  };
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    add(event.dataTransfer.files);
  };
  const submit = (event) => {
    event?.preventDefault();
    if (empty) return;
    send(text, !name && agents.length > 1 ? agent : undefined, files);
    write("");
    setFiles([]);
    box.current.focus();
  };
  const guide = async () => {
    if (await steer(text.trim())) write("");
    box.current.focus();
  };
  const key = (event) => {
    if (event.isComposing) return;
    if (sends(event)) {
      submit(event);
    } else if (event.key === "ArrowUp" && !text) {
      const last = queued().at(-1);
      if (!last) return;
      event.preventDefault();
      setEditing(last.seq);
    }
  };
  return html`<div class="bottom">
    <div class="column">
      <${Queue} editing=${editing} onEdit=${setEditing} />
      <${Held} files=${files} onRemove=${(at) => setFiles(files.filter((_, n) => n !== at))} />
      <form
        class=${["composer", over && "over", begun && "working"].filter(Boolean).join(" ")}
        onSubmit=${submit}
        onDragOver=${drag}
        onDragLeave=${() => setOver(false)}
        onDrop=${drop}
      >
        <${Attach} onFiles=${add} />
        <label class="unseen" for="message">Message</label>
        <textarea
          id="message"
          ref=${box}
          rows="1"
          dir="auto"
          placeholder=${invites}
          value=${text}
          onInput=${(event) => write(event.target.value)}
          onKeyDown=${key}
          onPaste=${paste}
        ></textarea>
        ${begun && !asked && !empty && !files.length &&
        html`<button type="button" class="button touch" onClick=${guide} title="The agent reads it with its next step">
          <${Icon} name="arrow-up" />Steer
        </button>`}
        ${begun && (held
          ? html`<button type="button" class="button touch" onClick=${resume}>
              <${Icon} name="circle-play" />Resume
            </button>`
          : !asked && html`<button type="button" class="button touch" onClick=${pause}>
              <${Icon} name="circle-pause" />Pause
            </button>`)}
        ${alive &&
        html`<button type="button" class="button touch" onClick=${stop}>
          <${Icon} name="square" />Stop
        </button>`}
        ${(!alive || !empty) &&
        html`<button class="button main touch" disabled=${empty}>
          <${Icon} name="send-horizontal" />${answers ? "Answer" : alive ? "Queue" : "Send"}
        </button>`}
      </form>
      <div class="under-composer">
        ${!name && agents.length > 1
          ? html`<label>
              Agent${" "}
              <select value=${agent} onChange=${(event) => setAgent(event.target.value)}>
                ${agents.map((one) => html`<option value=${one}>${one}</option>`)}
              </select>
            </label>`
          : html`<${Choice} />`}
        <span class="keyboard">${alive ? "Esc stops" : "Enter sends"}</span>
      </div>
    </div>
  </div>`;
}
