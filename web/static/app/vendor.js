// Made by scripts/vendor: where the bundles are.
export * from "/static/vendor/vendor.Y4LNXFRB.js";
export const HIGHLIGHT = "/static/vendor/highlight.YVNLNYBX.js";
