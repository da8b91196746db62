// Draws content: code with a copy button, JSON as a table or a tree, differences, pictures, answers in Markdown.
import { append, button, h, replace, toast } from "./dom.js";
import { marked, OVERRIDES, sanitise } from "./sanitise.js";
import { number, t } from "./strings.js";

const FIRST = 6_000, STEP = 200_000, ROWS = 50, DIFF_LINES = 300, HUGE = 100_000;
// Controls, zero-width and bidirectional characters: they can make a text look like another one. Joiners
// between letters or emoji belong to the text.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0001}]|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])/gu;

/// `text` as nodes in which characters that cannot be seen are shown as `U+202E`.
export const visible = (text) => marked(String(text ?? ""), HIDDEN);

/// One line for a name or a title, isolated from the text around it.
export const name = (text, cls) => h("bdi", { class: cls }, visible(String(text ?? "").slice(0, 400)));

/// A number of bytes or characters as text.
export function size(bytes) {
  if (bytes < 1000) return `${number(bytes)} B`;
  const units = ["kB", "MB", "GB"];
  let value = bytes / 1000, at = 0;
  while (value >= 1000 && at < 2) { value /= 1000; at += 1; }
  return `${number(Math.round(value * 10) / 10)} ${units[at]}`;
}

/// Puts `text` on the clipboard, also where the page is not a secure context.
export async function copy(text) {
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else {
      const area = h("textarea", { class: "hidden", value: text });
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      if (!done) throw new Error("refused");
    }
    return true;
  } catch {
    toast(t("content.copyFailed"), { kind: "warn" });
    return false;
  }
}

/// A button that copies what `text()` returns and says so.
export function copyButton(text, { label = t("content.copy"), ...props } = {}) {
  const node = button(label, { icon: "copy", iconOnly: true, ...props, onclick: async () => {
    if (!await copy(text())) return;
    node.classList.add("done");
    node.setAttribute("aria-label", t("content.copied"));
    setTimeout(() => { node.classList.remove("done"); node.setAttribute("aria-label", label); }, 1500);
  } });
  return node;
}

/// Fills `node` with the beginning of `text`, and a button after `node` for what is left.
export function clipped(node, text, { first = FIRST, show = visible } = {}) {
  const box = h("div", { class: "clip" }, node);
  let shown = 0;
  const more = (upTo) => {
    append(node, show(text.slice(shown, upTo)));
    shown = Math.min(upTo, text.length);
    box.querySelector(":scope > button")?.remove();
    if (shown < text.length) box.append(button(t("content.showMore", { size: size(text.length - shown) }), { class: "quiet", onclick: () => more(shown + STEP) }));
  };
  more(text.length > first * 1.2 ? first : text.length);
  return box;
}

/// Text in a fixed-width block with a copy button. `label` names it (a language, a field).
export function codeBlock(text, label, { first } = {}) {
  const pre = h("pre", { tabindex: "0", dir: "auto", role: "group", "aria-label": label ?? t("content.code") });
  return h("div", { class: "code" }, label ? h("div", { class: "code-head" }, h("span", null, visible(label)), copyButton(() => text)) : copyButton(() => text, { class: "over" }), clipped(pre, text, { first }));
}

/// Text of a person or a model that is not Markdown.
export const plainText = (text) => clipped(h("div", { class: "plain", dir: "auto" }), text, { show: (piece) => marked(piece, OVERRIDES) });

const scalar = (value) => value === null || typeof value !== "object";
const cell = (value) => (typeof value === "boolean" ? t(value ? "content.yes" : "content.no") : scalar(value) ? visible(String(value ?? "").slice(0, 2000)) : visible(JSON.stringify(value).slice(0, 2000)));

/// A JSON value: rows of objects as a table, an object of plain values as pairs, everything else as indented text.
export function jsonView(value, label) {
  if (typeof value === "string") return textView(value, label);
  if (Array.isArray(value) && value.length && value.every((row) => row && typeof row === "object" && !Array.isArray(row))) {
    const columns = [...new Set(value.slice(0, 200).flatMap((row) => Object.keys(row)))];
    if (columns.length && columns.length <= 12) return table(columns, value.map((row) => columns.map((column) => row[column])));
  }
  if (value && !Array.isArray(value) && typeof value === "object") {
    const entries = Object.entries(value);
    if (entries.length && entries.length <= 30 && entries.every(([, inner]) => scalar(inner) && String(inner ?? "").length <= 400))
      return h("dl", { class: "pairs" }, entries.map(([key, inner]) => [h("dt", null, visible(key)), h("dd", { dir: "auto" }, cell(inner))]));
  }
  return codeBlock(JSON.stringify(value, null, 2) ?? "", label ?? "json");
}

/// Rows with a header; long ones are cut with a button for the rest.
export function table(columns, rows) {
  const body = h("tbody");
  const box = h("div", { class: "scroll-x", tabindex: "0", role: "group", "aria-label": t("content.table") }, h("table", { class: "grid" }, h("thead", null, h("tr", null, columns.map((column) => h("th", { scope: "col" }, visible(column))))), body));
  let shown = 0;
  const more = () => {
    append(body, rows.slice(shown, shown + ROWS).map((row) => h("tr", null, row.map((value) => h("td", { dir: "auto", class: typeof value === "number" ? "num" : null }, cell(value))))));
    shown += ROWS;
    box.querySelector(":scope > button")?.remove();
    if (shown < rows.length) box.append(button(t("content.rows", { n: number(rows.length - shown) }), { class: "quiet", onclick: more }));
  };
  more();
  return box;
}

const DIFF = /^(?:diff --git |--- [^\n]*\n\+\+\+ )/m;
const SIGNS = { added: "+", removed: "-", same: " " };

/// A difference: a unified text, or lines `{kind: "same" | "added" | "removed", text}`.
export function diffView(input) {
  const lines = typeof input === "string" ? input.split("\n").map(unified) : input.map((line) => [line.kind, `${SIGNS[line.kind] ?? " "}${line.text}`]);
  if (lines.length && lines.at(-1)[1] === "") lines.pop();
  const pre = h("pre", { class: "diff", tabindex: "0", role: "group", "aria-label": t("card.diff") });
  const box = h("div", { class: "clip" }, pre);
  let shown = 0;
  const more = () => {
    append(pre, lines.slice(shown, shown + DIFF_LINES).map(([kind, text]) => h("span", { class: `line ${kind}` }, visible(text.slice(0, 4000)), "\n")));
    shown += DIFF_LINES;
    box.querySelector(":scope > button")?.remove();
    if (shown < lines.length) box.append(button(t("content.rows", { n: number(lines.length - shown) }), { class: "quiet", onclick: more }));
  };
  more();
  return h("div", { class: "code" }, box);
}

function unified(line) {
  if (/^(?:diff --git |index |--- |\+\+\+ |new file|deleted file|rename |similarity )/.test(line)) return ["file", line];
  if (line.startsWith("@@")) return ["hunk", line];
  return [line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same", line];
}

/// A text of a tool: a difference, JSON or plain.
export function textView(text, label) {
  if (DIFF.test(text.slice(0, 2000))) return diffView(text);
  if (/^\s*[[{]/.test(text) && text.length < 200_000) {
    try { return jsonView(JSON.parse(text), label); } catch { /* not JSON */ }
  }
  return codeBlock(text, label);
}

/// Addresses of the server only: nothing in a message can make the browser load from elsewhere.
export const ownAddress = (url) => (typeof url === "string" && /^\/api\/sessions\/[\w-]+\/content\/[0-9a-f]{64}$/i.test(url) ? url : undefined);

/// A picture, sound or file of a message.
export function attachment(part) {
  const url = ownAddress(part.url);
  const title = part.name || part.media_type || part.type;
  if (url && part.type === "image" && /^image\/(?:png|jpeg|gif|webp)$/.test(part.media_type ?? "")) {
    const image = h("img", { src: url, alt: part.name || t("content.image"), loading: "lazy", onerror: () => image.replaceWith(h("span", { class: "dim" }, t("content.unavailable"))) });
    return h("a", { class: "picture", href: url, target: "_blank", rel: "noopener" }, image);
  }
  const label = [name(title), part.bytes ? h("span", { class: "dim" }, size(part.bytes)) : null];
  return url ? h("a", { class: "chip file", href: url, download: part.name || "", rel: "noopener" }, label) : h("span", { class: "chip file" }, label);
}

/// The parts of a message as nodes. `own` is text that a person wrote: it is not looked through for JSON.
export function renderParts(parts, { own = false } = {}) {
  if (!parts?.length) return [h("p", { class: "dim" }, t("content.empty"))];
  return parts.map((part) => {
    if (part.type === "text") return own ? plainText(part.text ?? "") : textView(part.text ?? "");
    if (part.type === "json") return jsonView(part.value);
    return attachment(part);
  });
}

/// An answer: the server's HTML through the sanitiser, with plain text after it while it streams.
/// Nodes that did not change keep their place, so a selection in the text survives.
export function markdown() {
  const node = h("div", { class: "md", dir: "auto" });
  const body = h("div", { class: "md-body" }), tail = h("span", { class: "plain tail" });
  append(node, [body, tail]);
  let text = "", covered = 0, html, drawn = [], due = false;
  const draw = () => {
    due = false;
    if (text.length > HUGE) {
      // Formatting a huge text at each step would block the page: its end is shown until it is whole.
      if (drawn.length) { drawn = []; body.replaceChildren(); }
      replace(tail, `…${text.slice(-2_000)}`);
      return;
    }
    if (html !== undefined) { drawn = update(body, drawn, html); html = undefined; }
    const [place, rest] = unformatted();
    replace(tail, marked(rest, OVERRIDES));
    if (tail.parentNode !== place) place.append(tail);
  };
  /// Where text that is not formatted yet goes on, and that text: an open block of code, the last paragraph or item, or behind everything.
  const unformatted = () => {
    const last = drawn.at(-1)?.node, rest = text.slice(covered);
    if (!rest || last?.nodeType !== Node.ELEMENT_NODE) return [node, rest];
    const fences = [...text.slice(0, covered).matchAll(/^ {0,3}(?:```|~~~)/gm)], code = last.querySelector("pre code");
    if (fences.length % 2) {
      // The formatted code has neither the line of the fence nor the line breaks at its end.
      const line = text.indexOf("\n", fences.at(-1).index), begin = line < 0 ? text.length : line + 1;
      return code ? [code, text.slice(begin + text.slice(begin, covered).replace(/\n+$/, "").length)] : [node, rest];
    }
    let inner = last;
    while (inner.lastElementChild?.matches("p, li, ul, ol, blockquote")) inner = inner.lastElementChild;
    return [inner.matches("p, li") ? inner : node, rest];
  };
  const later = () => { if (!due) { due = true; requestAnimationFrame(draw); } };
  return {
    node,
    text: () => text,
    add(delta) { text += delta; later(); },
    html(value) { html = value; covered = text.length; later(); },
    /// Draws what has arrived now, not with the next frame.
    flush() { if (due) draw(); },
    /// The whole text at once.
    set(whole, value) {
      text = whole; covered = whole.length;
      if (value === undefined || whole.length > HUGE) { drawn = []; body.replaceChildren(plainText(whole)); tail.textContent = ""; return; }
      html = value; draw();
    },
    clear() { text = ""; covered = 0; html = undefined; drawn = []; body.replaceChildren(); tail.textContent = ""; },
  };
}

function update(body, drawn, html) {
  const fresh = [...sanitise(html).childNodes].filter((node) => node.nodeType !== Node.TEXT_NODE || node.data.trim());
  let same = 0;
  while (same < fresh.length && same < drawn.length && fresh[same].isEqualNode(drawn[same].raw)) same += 1;
  for (const { node } of drawn.slice(same)) node.remove();
  const kept = drawn.slice(0, same);
  for (const raw of fresh.slice(same)) {
    const node = dress(raw.cloneNode(true));
    body.append(node);
    kept.push({ raw, node });
  }
  return kept;
}

function dress(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return node;
  const box = h("div", null, node);
  // `div.code`: the language in a `span`, if there is one, and the code.
  for (const frame of box.querySelectorAll("div.code")) {
    const pre = frame.querySelector(":scope > pre"), language = frame.querySelector(":scope > span");
    if (!pre) continue;
    pre.tabIndex = 0;
    pre.setAttribute("role", "group");
    pre.setAttribute("aria-label", language?.textContent || t("content.code"));
    const copied = () => pre.textContent;
    replace(frame, language ? h("div", { class: "code-head" }, language, copyButton(copied)) : copyButton(copied, { class: "over" }), pre);
  }
  for (const grid of box.querySelectorAll("table")) {
    const frame = h("div", { class: "scroll-x", tabindex: "0", role: "group", "aria-label": t("content.table") });
    grid.replaceWith(frame);
    grid.classList.add("grid");
    frame.append(grid);
  }
  return box.childNodes.length === 1 ? box.firstChild : box;
}
