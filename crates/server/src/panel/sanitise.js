// The second wall before the page: the server's HTML of an answer, rebuilt node by node from an allow-list.

const TAGS = new Set("p div h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del hr br table thead tbody tr th td a span".split(" "));
const CLASSES = /^(?:code|wide|plain|to|image|raw|task|right|centre|keyword|type|string|number|comment|added|removed|strong|dim)$/;
const LINK = /^(?:https?:|mailto:)/i;
const DROPPED = new Set("script style template iframe object embed svg math noscript title textarea select head".split(" "));

// Characters that reorder the text after them.
export const OVERRIDES = /[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/gu;

/// `text` as nodes in which what `pattern` matches is shown as its code point.
export function marked(text, pattern) {
  const nodes = [];
  let last = 0;
  for (const found of text.matchAll(pattern)) {
    if (found.index > last) nodes.push(document.createTextNode(text.slice(last, found.index)));
    const mark = document.createElement("span");
    mark.className = "hidden-char";
    mark.textContent = `U+${found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
    nodes.push(mark);
    last = found.index + found[0].length;
    if (nodes.length > 2000) break;
  }
  const rest = text.slice(last);
  nodes.push(document.createTextNode(nodes.length > 2000 ? rest.replace(pattern, "") : rest));
  return nodes;
}

/// Parses `html` in a document that runs and loads nothing, and returns a fragment of allowed elements only.
/// Elements that are not allowed are replaced by their content, or dropped with it where the content is not text.
export function sanitise(html) {
  const source = new DOMParser().parseFromString(html, "text/html");
  const fragment = document.createDocumentFragment();
  copy(source.body, fragment, 0);
  return fragment;
}

function copy(from, to, depth) {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) { to.append(...marked(node.data, OVERRIDES)); continue; }
    if (node.nodeType !== Node.ELEMENT_NODE) continue;
    const tag = node.localName;
    if (DROPPED.has(tag) || node.namespaceURI !== "http://www.w3.org/1999/xhtml") continue;
    if (!TAGS.has(tag) || depth > 100) { if (depth <= 100) copy(node, to, depth + 1); else to.append(...marked(node.textContent, OVERRIDES)); continue; }
    const made = document.createElement(tag);
    if (tag === "a") link(node, made);
    if (["span", "div", "th", "td"].includes(tag)) {
      const classes = [...node.classList].filter((name) => CLASSES.test(name));
      if (classes.length) made.className = classes.join(" ");
    }
    if (tag === "ol" && /^\d{1,9}$/.test(node.getAttribute("start") ?? "")) made.setAttribute("start", node.getAttribute("start"));
    copy(node, made, depth + 1);
    to.append(made);
  }
}

function link(from, to) {
  const href = (from.getAttribute("href") ?? "").trim();
  if (!LINK.test(href)) return;
  let url;
  try { url = new URL(href); } catch { return; }
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return;
  to.setAttribute("href", url.href);
  to.setAttribute("rel", "noopener noreferrer nofollow");
  to.setAttribute("target", "_blank");
  to.setAttribute("title", url.href);
}
