// Text that is being written: at most one parse a frame, finished blocks are never touched again.

import { lex, nodes } from "./markdown.js";

// Words that change nothing of what stands before them, appended as they are: the usual case.
const PLAIN = /^(?:[\p{L}\p{N} ,'"-]|[.:!?](?= ))*$/u;
const MID_LINE = /\p{L}[^\n]{11,}$/u;
const BLOCKS = new Set(["P", "LI", "H2", "H3", "H4", "H5", "H6"]);
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

// The text of one step as it comes. Pieces say where they begin.
export class Growing {
  constructor() {
    this.text = "";
    this.watchers = new Set();
  }

  add(piece, at = this.text.length) {
    this.text = (at < this.text.length ? this.text.slice(0, at) : this.text) + piece;
    this.watchers.forEach((watch) => watch());
  }
}

// Shows a Growing in an element.
export class Writer {
  constructor(element, growing) {
    this.element = element;
    this.growing = growing;
    this.restart();
    this.wake = () => {
      this.frame ??= requestAnimationFrame(() => this.draw());
    };
    growing.watchers.add(this.wake);
    this.draw();
  }

  stop() {
    this.growing.watchers.delete(this.wake);
    if (this.frame) cancelAnimationFrame(this.frame);
  }

  restart() {
    this.frozen = "";
    this.shown = "";
    this.open = null;
    this.tail = this.piece();
    this.element.replaceChildren(this.tail);
  }

  piece() {
    const piece = document.createElement("div");
    piece.className = "piece";
    return piece;
  }

  draw() {
    this.frame = null;
    const text = this.growing.text;
    if (text === this.shown) return;
    const known = this.shown;
    if (!text.startsWith(this.frozen)) this.restart();
    this.shown = text;
    const rest = text.slice(this.frozen.length);
    if (!this.continueCode(rest) && !this.continueWords(known, text)) this.parse(rest);
  }

  // While a fence is open its code is plain text that only grows.
  continueCode(rest) {
    if (!this.open) return false;
    const { fence, start, body } = this.open;
    const inside = rest.slice(start);
    if (closes(inside, fence)) return false;
    if (inside.startsWith(body.data)) body.appendData(inside.slice(body.data.length));
    else body.data = inside;
    return true;
  }

  continueWords(known, text) {
    if (!text.startsWith(known) || !MID_LINE.test(known.slice(-200))) return false;
    const more = text.slice(known.length);
    const last = lastText(this.tail);
    if (!last || !PLAIN.test(more) || !known.endsWith(last.data.slice(-20))) return false;
    last.appendData(more);
    return true;
  }

  parse(rest) {
    this.open = null;
    const tokens = lex(rest);
    const last = tokens.findLastIndex((token) => token.type !== "space");
    const fence = last >= 0 ? openFence(tokens[last]) : null;
    // A fence that is closed is finished, though nothing stands after it yet.
    const closed = last >= 0 && !fence && FENCE.test(tokens[last].raw);
    const done = tokens.slice(0, Math.max(closed ? last + 1 : last, 0));
    const length = done.reduce((sum, token) => sum + token.raw.length, 0);
    if (length && rest.startsWith(done.map((token) => token.raw).join(""))) {
      this.tail.replaceChildren(nodes(done));
      this.tail = this.piece();
      this.element.append(this.tail);
      this.frozen += rest.slice(0, length);
    }
    if (fence) this.openCode(rest.slice(length), fence);
    else this.tail.replaceChildren(nodes(tokens.slice(done.length)));
  }

  openCode(raw, fence) {
    const lineEnd = raw.indexOf("\n");
    const start = lineEnd < 0 ? raw.length : lineEnd + 1;
    const body = document.createTextNode(raw.slice(start));
    const code = document.createElement("div");
    code.className = "code";
    const pre = document.createElement("pre");
    pre.append(body);
    code.append(pre);
    this.tail.replaceChildren(code);
    if (lineEnd >= 0) this.open = { fence, start, body };
  }
}

// The text that ends a piece, when it stands in a block and not in a link or in code.
function lastText(piece) {
  let node = piece.lastChild;
  while (node && node.nodeType !== Node.TEXT_NODE) node = node.lastChild;
  return node && BLOCKS.has(node.parentNode.nodeName) ? node : null;
}

function openFence(token) {
  if (token.type !== "code") return null;
  const fence = FENCE.exec(token.raw)?.[1];
  if (!fence) return null;
  const lineEnd = token.raw.indexOf("\n");
  return lineEnd >= 0 && closes(token.raw.slice(lineEnd + 1), fence) ? null : fence;
}

function closes(inside, fence) {
  return new RegExp(`^ {0,3}\\${fence[0]}{${fence.length},}[ \\t]*$`, "m").test(inside);
}
