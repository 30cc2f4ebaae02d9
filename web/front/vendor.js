// What the dashboard's own modules import, as one bundle.
export { h, render, Fragment } from "preact";
export { useEffect, useLayoutEffect, useMemo, useRef, useState, useCallback } from "preact/hooks";
export { signal, computed, effect, batch, untracked } from "@preact/signals";
export { Marked } from "marked";
export { tinykeys } from "tinykeys";
export { default as DOMPurify } from "dompurify";

import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);
