// What the model saw in a turn: the server's own page of it, in a dialog beside the chat.

import { html, useEffect, useRef, useState } from "./vendor.js";
import { Icon } from "./icons.js";
import * as state from "./state.js";

const PARAMETER = "inspect";
const AWAY = "The server does not answer. Try again when the connection is back.";
const UNREAD = "The answer of the server cannot be read. Load the page again.";

const pageOf = (turn) => `/inspect/${encodeURIComponent(turn)}`;

// The turn that the address asks for: what is open can be linked and survives a reload.
export const inspectedIn = (search) => new URLSearchParams(search).get(PARAMETER);

export function inspect(turn) {
  state.inspected.value = turn;
  const here = new URL(location.href);
  if (turn) here.searchParams.set(PARAMETER, turn);
  else here.searchParams.delete(PARAMETER);
  history.replaceState(history.state, "", here);
}

export function Inspect({ turn }) {
  const open = (event) => {
    // Who asks for a tab of its own gets the page.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    inspect(turn);
  };
  return html`<a
    class="button bare small"
    href=${pageOf(turn)}
    aria-haspopup="dialog"
    onClick=${open}
  >
    <${Icon} name="search" />What did it see
  </a>`;
}

async function look(turn) {
  const answer = await fetch(pageOf(turn), { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer) throw new Error(AWAY);
  // Signed out: the server leads to the login, and back here from there.
  if (answer.redirected) location.reload();
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const seen = page.querySelector("[data-seen]");
  if (!seen) throw new Error(page.querySelector(".empty p")?.textContent ?? UNREAD);
  return document.adoptNode(seen);
}

export function Inspector() {
  const dialog = useRef();
  const turn = state.inspected.value;
  // It is closed before it is emptied, so that the focus goes back to where it came from.
  useEffect(() => {
    if (turn) dialog.current.showModal();
    else dialog.current.close();
  }, [turn]);
  return html`<dialog
    class="inspector"
    ref=${dialog}
    aria-labelledby="inspector-title"
    closedby="any"
    onClose=${() => inspect(null)}
  >
    ${turn &&
    html`<header>
        <h1 id="inspector-title" class="cut grow">What did the model see</h1>
        <a class="button bare touch" href=${pageOf(turn)}>As a page</a>
        <button class="button touch" autofocus onClick=${() => dialog.current.close()}>
          <${Icon} name="x" />Close
        </button>
      </header>
      <${Seen} key=${turn} turn=${turn} />`}
  </dialog>`;
}

function Seen({ turn }) {
  const place = useRef();
  const [tries, setTries] = useState(1);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(true);
  useEffect(() => {
    let gone = false;
    setBusy(true);
    look(turn)
      .then((seen) => gone || (place.current.replaceChildren(seen), setError(null)))
      .catch((failure) => gone || setError(failure.message))
      .finally(() => gone || setBusy(false));
    return () => {
      gone = true;
    };
  }, [tries]);
  return html`<div class="inside" aria-busy=${busy}>
    <div class="muted" role="status">${busy && "Looking it up …"}</div>
    ${!busy &&
    error &&
    html`<div class="aside error" role="alert">
      <${Icon} name="circle-alert" />
      <span class="grow">${error}</span>
      <button class="button small" onClick=${() => setTries(tries + 1)}>Try again</button>
    </div>`}
    <div ref=${place}></div>
  </div>`;
}
