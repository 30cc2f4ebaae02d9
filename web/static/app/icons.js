// Icons from the one sprite; decoration, so a word or a label always stands beside them.

import { html } from "./vendor.js";

const sprite = document.querySelector('meta[name="icons"]').content;

export function Icon({ name, class: more = "" }) {
  return html`<svg class=${`icon ${more}`} aria-hidden="true">
    <use href=${`${sprite}#${name}`} />
  </svg>`;
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `${sprite}#${name}`);
  svg.append(use);
  return svg;
}
