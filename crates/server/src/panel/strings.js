// The texts of the panel in English and Russian. `{name}` is a place for a value; a value never becomes HTML.

const texts = { en: {}, ru: {} };

/// Adds texts: `{en: {key: text}, ru: {key: text}}`. A view that has texts of its own calls this at its top.
/// A text may be an object of plural forms, chosen by `values.n`: `{one, few?, many?, other}`.
export function extend(more) {
  for (const language of Object.keys(texts)) Object.assign(texts[language], more[language]);
}

function stored() {
  try { return localStorage.getItem("converse.language"); } catch { return null; }
}

let current = stored() ?? ((navigator.languages ?? [navigator.language]).find((tag) => /^(en|ru)\b/i.test(tag)) ?? "en").slice(0, 2).toLowerCase();
if (!texts[current]) current = "en";

export const language = () => current;

/// Loads the texts of the language in use; called before anything is drawn.
export async function loadTexts() {
  const module = current === "ru" ? await import("./ru.js") : await import("./en.js");
  extend({ [current]: module.default });
  document.documentElement.lang = current;
}

/// Switches the language; the caller renders the page anew.
export function setLanguage(to) {
  current = texts[to] ? to : "en";
  try { localStorage.setItem("converse.language", current); } catch { /* private mode */ }
  return loadTexts();
}

/// The text of `key` with its places filled.
export function t(key, values = {}) {
  let text = texts[current][key] ?? texts.en[key] ?? key;
  if (typeof text === "object") text = text[new Intl.PluralRules(current).select(values.n)] ?? text.other;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

export const number = (value) => new Intl.NumberFormat(current).format(value);
export const compact = (value) => new Intl.NumberFormat(current, { notation: "compact", maximumFractionDigits: 1 }).format(value);

/// `{dollars: "0.0123"}` as text, "" if unknown.
export function money(cost) {
  if (!cost?.dollars) return "";
  const value = Number(cost.dollars);
  return new Intl.NumberFormat(current, { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol",
    minimumFractionDigits: 2, maximumFractionDigits: value < 0.1 ? 4 : 2 }).format(value);
}

/// Milliseconds as text: "340 ms", "2.4 s", "3 min 05 s".
export function duration(ms) {
  if (ms === undefined || ms === null) return "";
  const unit = (value, name, digits = 0) => new Intl.NumberFormat(current, { style: "unit", unit: name, unitDisplay: "short", maximumFractionDigits: digits }).format(value);
  if (ms < 1000) return unit(Math.round(ms), "millisecond");
  if (ms < 60000) return unit(ms / 1000, "second", 1);
  return `${unit(Math.floor(ms / 60000), "minute")} ${unit(Math.round((ms % 60000) / 1000), "second")}`;
}

/// A time of the contract as local text.
export function when(time, options = { dateStyle: "medium", timeStyle: "short" }) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time ?? "") : new Intl.DateTimeFormat(current, options).format(date);
}
