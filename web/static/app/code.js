// Blocks of code: a bar with the language and a button to copy, colours once they are finished.

import { DOMPurify, HIGHLIGHT } from "./vendor.js";
import { copyButton } from "./copy.js";

const LONGEST = 50_000;
const COLOURED = { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true };
let highlighter;
let loading;

export function dressCode(pre) {
  const code = pre.querySelector("code") ?? pre;
  const language = /language-([\w+#.-]+)/.exec(code.className)?.[1] ?? "";
  const box = document.createElement("div");
  box.className = "code";
  const bar = document.createElement("div");
  bar.className = "bar";
  const name = document.createElement("span");
  name.textContent = language || "text";
  bar.append(name, copyButton(() => code.textContent, "Copy code"));
  pre.tabIndex = 0;
  pre.setAttribute("aria-label", language ? `Code, ${language}` : "Code");
  pre.setAttribute("role", "region");
  pre.replaceWith(box);
  box.append(bar, pre);
  if (language && code.textContent.length <= LONGEST) colour(code, language);
}

function colour(code, language) {
  if (highlighter) {
    paint(code, language);
    return;
  }
  loading ??= import(HIGHLIGHT).then((module) => (highlighter = module.default));
  loading.then(
    () => paint(code, language),
    () => (loading = undefined),
  );
}

function paint(code, language) {
  if (!highlighter.getLanguage(language)) return;
  const { value } = highlighter.highlight(code.textContent, { language, ignoreIllegals: true });
  code.replaceChildren(DOMPurify.sanitize(value, COLOURED));
}
