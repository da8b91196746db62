// What the views share: settings of this browser, drafts of this tab, and answers that rarely change.
import { api } from "./api.js";

function storage(kind) {
  try { return window[kind]; } catch { return undefined; }
}

function read(kind, key, otherwise) {
  try { return JSON.parse(storage(kind)?.getItem(`converse.${key}`) ?? "null") ?? otherwise; } catch { return otherwise; }
}

function write(kind, key, value) {
  try {
    if (value === undefined || value === null) storage(kind)?.removeItem(`converse.${key}`);
    else storage(kind)?.setItem(`converse.${key}`, JSON.stringify(value));
  } catch { /* private mode or full */ }
}

/// Settings that outlive the tab: `theme`, `keys`, `notify`, `model`.
export const setting = (key, otherwise) => read("localStorage", key, otherwise);
export const saveSetting = (key, value) => write("localStorage", key, value);

/// What is written but not sent yet in the conversation `id` ("new" for the next one): `{text, attachments, options}`.
export const draft = (id) => read("sessionStorage", `draft.${id}`, {});
export const saveDraft = (id, value) => write("sessionStorage", `draft.${id}`, value);

/// Applies the theme "auto", "dark" or "light" to the page.
export function applyTheme(theme = setting("theme", "auto")) {
  document.documentElement.dataset.theme = theme;
}

const cache = new Map();

async function once(path) {
  const known = cache.get(path);
  if (known && Date.now() - known.at < 60_000) return known.value;
  const value = api.get(path);
  cache.set(path, { at: Date.now(), value });
  value.catch(() => cache.delete(path));
  return value;
}

export const models = async () => (await once("/api/models")).items;
export const ensembles = async () => (await once("/api/ensembles")).items;
export const status = () => once("/api/status");

/// A version 4 UUID; works on pages without a secure context too.
export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
