// Files that go with a message: chosen, pasted or dropped, and shown where it stands.

import { html, useRef } from "./vendor.js";
import { conversation } from "./api.js";
import { Icon } from "./icons.js";
import { tell } from "./notes.js";

const MOST = 20;
const MOST_BYTES = 25_000_000;
// A request's text is a third longer than the bytes in it, and holds the message, too.
const GROWS = 4 / 3;
const ROOM = 100_000;

// What a browser shows by itself; anything else stands as its name, and is to be saved.
const SHOWN = /^image\/(png|jpeg|gif|webp|avif)$/;

const isImage = (file) => SHOWN.test(file.mime ?? "");
const megabytes = (bytes) => Math.floor(bytes / 1_000_000);
const are = (files) => `${files.map(({ name }) => name).join(", ")} ${files.length === 1 ? "is" : "are"}`;

function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () =>
      resolve({ name: file.name, mime: file.type, size: file.size, data: reader.result });
    reader.onerror = () => reject(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

// What of these files can be sent beside `held`, in a request of `most` bytes; the others are named.
export async function taken(files, held, most) {
  const room = (most - ROOM) / GROWS;
  const fitting = [];
  const large = [];
  const many = [];
  const over = [];
  let left = room - held.reduce((sum, { size }) => sum + size, 0);
  for (const file of files) {
    if (file.size > MOST_BYTES) large.push(file);
    else if (held.length + fitting.length === MOST) many.push(file);
    else if (file.size > left) over.push(file);
    else {
      left -= file.size;
      fitting.push(file);
    }
  }
  const said = [];
  if (large.length) said.push(`${are(large)} too large; a file may have 25 MB.`);
  if (many.length) said.push(`${are(many)} left out; at most ${MOST} files go with one message.`);
  if (over.length) said.push(`${are(over)} left out; the files of one message may have ${megabytes(room)} MB together.`);
  if (said.length) tell(said.join(" "));
  try {
    return [...held, ...(await Promise.all(fitting.map(read)))];
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
      title="Attach files"
      onClick=${() => input.current.click()}
    >
      <${Icon} name="paperclip" /><span class="unseen">Attach files</span>
    </button>
    <input
      ref=${input}
      class="unseen"
      type="file"
      multiple
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
