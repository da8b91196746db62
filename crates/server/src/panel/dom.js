// Builds DOM nodes. Text enters the page through text nodes only; no function here takes HTML.

const SVG = "http://www.w3.org/2000/svg";

/// Creates an element. `props`: `class`, `dataset`, `onclick` and other listeners, properties of inputs
/// (`value`, `checked`, `disabled`, …) and attributes. `null`, `undefined` and `false` are left out.
export function h(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props ?? {})) set(node, key, value);
  append(node, children);
  return node;
}

const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "open", "indeterminate", "hidden"]);

function set(node, key, value) {
  if (value === null || value === undefined || value === false) return;
  if (key.startsWith("on") && typeof value === "function") node.addEventListener(key.slice(2), value);
  else if (key === "class") node.className = value;
  else if (key === "dataset") Object.assign(node.dataset, value);
  else if (PROPERTIES.has(key)) node[key] = value;
  else if (key === "style" || key.startsWith("on") || key === "srcdoc") throw new Error(`dom: ${key} is refused`);
  else node.setAttribute(key, value === true ? "" : String(value));
}

/// Appends nodes, strings, numbers and nested arrays of them.
export function append(node, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/// Replaces all children of `node`.
export function replace(node, ...children) {
  node.replaceChildren();
  return append(node, children);
}

/// Makes `wanted` the children of `node`. Those that are there already stay, with what is open in them and the focus.
export function arrange(node, wanted) {
  const kept = new Set(wanted);
  for (const child of [...node.childNodes]) if (!kept.has(child)) child.remove();
  let at = node.firstChild;
  for (const child of wanted) if (child === at) at = at.nextSibling; else node.insertBefore(child, at);
}

/// An icon of icons.svg. It is decoration: the control around it carries the label.
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `/panel/icons.svg#${name}`);
  svg.append(use);
  return svg;
}

/// An SVG element, for plots. Same rules as `h`.
export function s(tag, props, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on") && typeof value === "function") node.addEventListener(key.slice(2), value);
    else if (key.startsWith("on") || key === "style") throw new Error(`dom: ${key} is refused`);
    else node.setAttribute(key, String(value));
  }
  return append(node, children);
}

/// A button with an icon and a label. With `iconOnly` the label is read aloud and shown as a tooltip.
export function button(label, { icon: name, iconOnly, class: cls, ...props } = {}) {
  return h("button", { type: "button", class: [cls, iconOnly && "icon-only"].filter(Boolean).join(" ") || null,
    "aria-label": iconOnly ? label : null, title: iconOnly ? label : null, ...props },
  name && icon(name), !iconOnly && h("span", null, label));
}

/// Says something to a screen reader without moving the focus.
export function announce(text) {
  const status = document.getElementById("status");
  if (!status) return;
  status.textContent = "";
  requestAnimationFrame(() => { status.textContent = text; });
}

/// Shows a short message at the edge of the page. Errors stay until they are closed.
export function toast(text, { kind = "info", hint, closeLabel = "Close" } = {}) {
  const node = h("div", { class: `toast ${kind}` }, h("div", { dir: "auto" }, text, hint && h("p", { class: "dim" }, hint)),
    button(closeLabel, { icon: "close", iconOnly: true, onclick: () => node.remove() }));
  document.getElementById("toasts").append(node);
  if (kind !== "error") setTimeout(() => node.remove(), 6000);
  return node;
}

/// Opens a modal dialog. `build(close)` returns its content; resolves to what `close` was given,
/// or to `undefined` on Escape. The focus returns to where it was.
export function dialog(title, build, { class: cls } = {}) {
  const back = document.activeElement;
  return new Promise((resolve) => {
    let result;
    const id = `dialog-${Math.random().toString(36).slice(2)}`;
    const node = h("dialog", { class: cls, "aria-labelledby": id });
    const close = (value) => { result = value; node.close(); };
    append(node, [h("h2", { id, dir: "auto" }, title), build(close)]);
    node.addEventListener("close", () => {
      node.remove();
      if (back?.isConnected) back.focus();
      resolve(result);
    });
    node.addEventListener("click", (event) => { if (event.target === node) close(); });
    document.body.append(node);
    node.showModal();
  });
}

/// Asks a question with two buttons; resolves to true or false.
export function confirm(title, text, { yes, no, danger = false }) {
  return dialog(title, (close) => [h("p", { dir: "auto" }, text), h("div", { class: "row end" },
    button(no, { onclick: () => close(false), autofocus: true }),
    button(yes, { class: danger ? "danger" : "primary", onclick: () => close(true) }))]).then(Boolean);
}

/// Makes a list one stop of the Tab key: arrow keys, Home and End move among the elements that match `selector`.
export function roving(container, selector) {
  const items = () => [...container.querySelectorAll(selector)].filter((item) => item.offsetParent !== null);
  const refresh = () => {
    const all = items();
    const current = all.find((item) => item.tabIndex === 0 && item.dataset.roving) ?? all[0];
    for (const item of all) { item.dataset.roving = "1"; item.tabIndex = item === current ? 0 : -1; }
  };
  container.addEventListener("focusin", (event) => {
    const item = event.target.closest?.(selector);
    if (!item) return;
    for (const other of items()) other.tabIndex = other === item ? 0 : -1;
  });
  container.addEventListener("keydown", (event) => {
    const all = items();
    const at = all.indexOf(event.target.closest?.(selector));
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || !all[to]) return;
    event.preventDefault();
    all[to].focus();
  });
  refresh();
  return refresh;
}

/// Calls `fn` once, `ms` after the last call.
export function debounce(fn, ms) {
  let timer;
  return (...args) => { clearTimeout(timer); timer = setTimeout(() => fn(...args), ms); };
}
