// Images and PDFs that go with a message: chosen, pasted or dropped, and shown where it stands.

import { html, useRef } from "./vendor.js";
import { conversation } from "./api.js";
import { Icon } from "./icons.js";
import { tell } from "./notes.js";

const MOST = 20;
const MOST_BYTES = 25_000_000;
const TYPES = "image/*,application/pdf";

const fits = (file) => file.type.startsWith("image/") || file.type === "application/pdf";
const isImage = (file) => (file.mime ?? "").startsWith("image/");

function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name, mime: file.type, data: reader.result });
    reader.onerror = () => reject(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

// What of these files can be sent beside `held`; the others are named.
export async function taken(files, held) {
  const wrong = [...files].find((file) => !fits(file));
  if (wrong) tell(`${wrong.name} is neither an image nor a PDF.`);
  const large = [...files].find((file) => file.size > MOST_BYTES);
  if (large) tell(`${large.name} is too large; at most 25 MB can be sent.`);
  const good = [...files].filter((file) => fits(file) && file.size <= MOST_BYTES);
  if (held.length + good.length > MOST) tell(`At most ${MOST} files go with one message.`);
  try {
    return [...held, ...(await Promise.all(good.slice(0, MOST - held.length).map(read)))];
  } catch (error) {
    tell(error.message);
    return held;
  }
}

export function Attach({ onFiles }) {
  const input = useRef();
  const chosen = () => {
    onFiles(input.current.files);
    input.current.value = "";
  };
  return html`<button
      type="button"
      class="button bare touch"
      title="Attach images or PDFs"
      onClick=${() => input.current.click()}
    >
      <${Icon} name="paperclip" /><span class="unseen">Attach files</span>
    </button>
    <input
      ref=${input}
      class="unseen"
      type="file"
      multiple
      accept=${TYPES}
      tabindex="-1"
      aria-label="Files to attach"
      onChange=${chosen}
    />`;
}

// The files of a message that is being written; each can be taken away again.
export function Held({ files, onRemove }) {
  if (!files.length) return null;
  return html`<ul class="files" aria-label="Attached files">
    ${files.map(
      (file, place) => html`<li key=${`${place}:${file.name}`}>
        <${Shown} file=${file} url=${file.data} />
        <button type="button" class="button bare small" onClick=${() => onRemove(place)}>
          <${Icon} name="x" /><span class="unseen">Remove ${file.name}</span>
        </button>
      </li>`,
    )}
  </ul>`;
}

const address = (name, seq, place) => `${conversation(name)}/messages/${seq}/files/${place}`;

// The files of a message that is stored, or of one on its way.
export function Files({ files, name, seq }) {
  if (!files?.length) return null;
  return html`<ul class="files">
    ${files.map((file, place) => {
      const shown = html`<${Shown} file=${file} url=${file.data ?? address(name, seq, place)} />`;
      return html`<li key=${place}>
        ${file.data
          ? shown
          : html`<a href=${address(name, seq, place)} target="_blank" rel="noopener">${shown}</a>`}
      </li>`;
    })}
  </ul>`;
}

function Shown({ file, url }) {
  const called = file.name ?? "file";
  if (isImage(file)) return html`<img src=${url} alt=${called} loading="lazy" />`;
  return html`<span class="file"><${Icon} name="file-text" />${called}</span>`;
}
