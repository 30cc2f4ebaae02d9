// What every page can do: the theme, the keys, the count of approvals.

import { signal, effect, tinykeys } from "./vendor.js";
import { get, post } from "./api.js";

const THEMES = ["system", "light", "dark"];
const ICONS = { system: "monitor", light: "sun", dark: "moon" };
const LOOK_SECONDS = 15;

// Keys work wherever the focus is; each says itself when it is not meant.
export const EVERYWHERE = { ignore: () => false };

export const approvals = signal([]);
export const questions = signal([]);

// Whether a key was meant for what has the focus.
export function writing(event) {
  return Boolean(event.target.closest("input, textarea, select, [contenteditable], dialog"));
}

// Enter sends what is written, Shift Enter begins a line. On a phone Enter always does.
export const sends = (event) =>
  event.key === "Enter" && !event.shiftKey && !matchMedia("(pointer: coarse)").matches;

async function look(at, key, shown) {
  try {
    const found = (await get(at))[key];
    if (JSON.stringify(found) !== JSON.stringify(shown.peek())) shown.value = found;
  } catch {
    // The next look comes by itself; what is shown stays.
  }
}

// What waits for a person: a yes or no, or words.
export const lookForApprovals = () =>
  Promise.all([
    look("/api/approvals", "approvals", approvals),
    look("/api/questions", "questions", questions),
  ]);

function watchApprovals() {
  const badge = document.getElementById("approvals");
  const title = document.title;
  effect(() => {
    const count = approvals.value.length + questions.value.length;
    badge.hidden = count === 0;
    badge.textContent = String(count);
    badge.setAttribute("aria-label", count === 1 ? "1 question waits" : `${count} questions wait`);
    if (!document.body.dataset.titled) document.title = count ? `(${count}) ${title}` : title;
  });
  lookForApprovals();
  setInterval(() => document.hidden || lookForApprovals(), LOOK_SECONDS * 1000);
  document.addEventListener("visibilitychange", () => document.hidden || lookForApprovals());
}

function addTheme() {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const show = (theme) => {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
    const use = button.querySelector("use");
    use.setAttribute("href", use.getAttribute("href").replace(/#.*/, `#${ICONS[theme]}`));
    button.title = `Theme: ${theme}`;
    button.setAttribute("aria-label", `Theme: ${theme}`);
  };
  let theme = root.dataset.theme ?? "system";
  show(theme);
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    const age = theme === "system" ? 0 : 31536000;
    document.cookie = `theme=${theme}; Path=/; Max-Age=${age}; SameSite=Lax`;
    show(theme);
  });
}

function addHelp() {
  const dialog = document.getElementById("help");
  const button = document.getElementById("keys");
  button.hidden = false;
  button.addEventListener("click", () => dialog.showModal());
  const help = (event) => writing(event) || dialog.open || dialog.showModal();
  tinykeys(window, { "[Shift]+?": help }, EVERYWHERE);
}

function addSignOut() {
  document.getElementById("sign-out")?.addEventListener("click", async () => {
    await post("/api/logout", {}).catch(() => undefined);
    location.assign("/login");
  });
}

export function shell({ onNew } = {}) {
  addTheme();
  addHelp();
  addSignOut();
  watchApprovals();
  const begin = (event) => {
    event.preventDefault();
    if (onNew) onNew();
    else location.assign("/");
  };
  tinykeys(window, { "$mod+k": begin }, EVERYWHERE);
}
