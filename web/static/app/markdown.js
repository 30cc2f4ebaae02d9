// Markdown of an agent to harmless nodes: no raw HTML, no images from elsewhere, no odd links.

import { DOMPurify, Marked } from "./vendor.js";
import { dressCode } from "./code.js";

const SAFE = {
  ALLOWED_TAGS: [
    "p", "br", "strong", "em", "del", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "a",
    "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td",
  ],
  ALLOWED_ATTR: ["href", "title", "class", "start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};
const DIRECTED = "p, h2, h3, h4, h5, h6, th, td";
// These hold parts that have a direction of their own, which dir="auto" does not look into.
const HOLDING = "ul, ol, blockquote, table";
const RIGHT_TO_LEFT =
  /^\P{L}*[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const SCHEMES = ["http:", "https:", "mailto:"];

const escape = (text) =>
  text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escape(text),
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    heading({ tokens, depth }) {
      const level = Math.min(depth + 1, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    // A picture from elsewhere would tell its server what was read here.
    image({ href, text }) {
      return `<a href="${escape(href ?? "")}">${escape(text ? `image: ${text}` : "image")}</a>`;
    },
    code({ text, lang }) {
      const language = /^[\w+#.-]{1,30}/.exec(lang ?? "")?.[0] ?? "";
      const name = language ? ` class="language-${escape(language)}"` : "";
      return `<pre><code${name}>${escape(text)}</code></pre>`;
    },
  },
});

export const lex = (text) => marked.lexer(text);

// Nodes for a text, or for tokens of it.
export function nodes(source) {
  const tokens = typeof source === "string" ? lex(source) : source;
  const fragment = DOMPurify.sanitize(marked.parser(tokens), SAFE);
  fragment.querySelectorAll(DIRECTED).forEach((element) => element.setAttribute("dir", "auto"));
  fragment.querySelectorAll(HOLDING).forEach((element) => {
    element.dir = RIGHT_TO_LEFT.test(element.textContent) ? "rtl" : "ltr";
  });
  fragment.querySelectorAll("a").forEach(dressLink);
  fragment.querySelectorAll("table").forEach(dressTable);
  fragment.querySelectorAll("pre").forEach(dressCode);
  return fragment;
}

function dressLink(link) {
  const address = URL.parse?.(link.getAttribute("href") ?? "") ?? parsed(link);
  if (!address || !SCHEMES.includes(address.protocol)) {
    link.replaceWith(...link.childNodes);
    return;
  }
  link.rel = "noopener noreferrer";
  link.target = "_blank";
}

function parsed(link) {
  try {
    return new URL(link.getAttribute("href") ?? "");
  } catch {
    return null;
  }
}

function dressTable(table) {
  const wide = document.createElement("div");
  wide.className = "wide";
  wide.tabIndex = 0;
  table.replaceWith(wide);
  wide.append(table);
}
