// An agent's text: finished, or still growing.

import { html, useEffect, useLayoutEffect, useRef } from "./vendor.js";
import { nodes } from "./markdown.js";
import { Writer } from "./streaming.js";

export function Prose({ text }) {
  const place = useRef();
  useLayoutEffect(() => {
    place.current.replaceChildren(nodes(text));
  }, [text]);
  return html`<div class="prose" ref=${place}></div>`;
}

export function Growth({ growing }) {
  const place = useRef();
  useEffect(() => {
    const writer = new Writer(place.current, growing);
    return () => writer.stop();
  }, [growing]);
  return html`<div class="prose growing" ref=${place}></div>`;
}

// Thinking, as plain text in a folded box.
export function Thinking({ growing }) {
  const place = useRef();
  useEffect(() => {
    let frame = null;
    const draw = () => {
      frame = null;
      if (place.current) place.current.textContent = growing.text;
    };
    const wake = () => (frame ??= requestAnimationFrame(draw));
    growing.watchers.add(wake);
    draw();
    return () => {
      growing.watchers.delete(wake);
      if (frame) cancelAnimationFrame(frame);
    };
  }, [growing]);
  return html`<details class="card">
    <summary><span class="muted">Thinking</span></summary>
    <div class="inside"><pre class="plain" tabindex="0" dir="auto" ref=${place}></pre></div>
  </details>`;
}
