// Buttons that copy, and say that they did.

import { icon } from "./icons.js";
import { tell } from "./notes.js";

const SAID_SECONDS = 1.5;

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    tell("The browser did not allow copying. Select the text and copy it by hand.");
    return false;
  }
}

export function copyButton(text, label) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button bare small";
  const word = document.createElement("span");
  const rest = () => {
    word.textContent = "Copy";
    button.setAttribute("aria-label", label);
  };
  rest();
  button.append(icon("copy"), word);
  button.addEventListener("click", async () => {
    if (!(await copy(text()))) return;
    word.textContent = "Copied";
    button.setAttribute("aria-label", "Copied");
    setTimeout(rest, SAID_SECONDS * 1000);
  });
  return button;
}
