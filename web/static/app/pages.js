// Pages that the server writes: they refresh themselves, and their buttons call the server.

import { call } from "./api.js";
import { attempt } from "./notes.js";
import { lookForApprovals, shell } from "./shell.js";

const OLD = "The server does not answer; what is shown here may be old. It comes back by itself.";

// What is old must not look as if it were new.
function mark(region, old) {
  const line = region.parentNode.querySelector(".line");
  if (old && !line) {
    const fresh = document.createElement("div");
    fresh.className = "line";
    fresh.role = "status";
    fresh.textContent = OLD;
    region.before(fresh);
  } else if (!old) line?.remove();
}

async function refresh(region) {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  mark(region, !answer?.ok);
  // Signed out: the server leads to the login, and back here from there.
  if (answer?.redirected) location.reload();
  if (!answer?.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const next = fresh.querySelector("[data-live]");
  // What a person has the focus on, or reads in a selection, does not move under them.
  const held = region.contains(document.activeElement) || !getSelection().isCollapsed;
  if (!next || held || next.innerHTML === region.dataset.last) return;
  region.dataset.last = next.innerHTML;
  const written = [...region.querySelectorAll("input[id]")].filter((field) => field.value);
  region.replaceChildren(...document.adoptNode(next).childNodes);
  // What a person has begun to write stays, as long as its place does.
  for (const { id, value } of written) {
    const place = document.getElementById(id);
    if (place) place.value = value;
  }
}

async function send(pressed, path, body, region) {
  pressed.disabled = true;
  const done = await attempt(() => call("POST", path, body));
  pressed.disabled = false;
  // Or what was answered elsewhere meanwhile would stay under the focus.
  document.activeElement?.blur();
  if (done !== undefined) {
    await refresh(region).catch(() => undefined);
    document.getElementById("work").focus();
  }
  lookForApprovals();
}

function live(region) {
  const every = Number(region.dataset.live) * 1000;
  region.dataset.last = region.innerHTML;
  setInterval(() => document.hidden || refresh(region).catch(() => undefined), every);
  region.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-post]");
    if (!button) return;
    const { post, body } = button.dataset;
    send(button, post, body ? JSON.parse(body) : undefined, region);
  });
  region.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.dataset.post) return;
    event.preventDefault();
    const written = Object.fromEntries(new FormData(form));
    send(event.submitter ?? form.querySelector("button"), form.dataset.post, written, region);
  });
}

shell();
const region = document.querySelector("[data-live]");
if (region) live(region);
