// Keys that work everywhere, and the dialog that lists them.
import { dialog, h } from "./dom.js";
import { saveSetting, setting } from "./state.js";
import { t } from "./strings.js";

const GLOBAL = [["?", "keys.help"], ["n", "keys.new"], ["/", "keys.search"], ["c", "keys.composer"], ["j", "keys.next"], ["k", "keys.previous"], ["a", "keys.approvals"], ["x", "keys.compare"], ["f", "keys.figures"], ["t", "keys.tools"]];
const PLACES = { n: "#/", a: "#/approvals", x: "#/compare", f: "#/figures", t: "#/tools" };
const OTHERS = [["Enter", "keys.send"], ["Shift+Enter", "keys.line"], ["Esc", "keys.stop"], ["↑", "keys.last"], ["↑ ↓ Home End", "keys.list"]];

export function shortcutsDialog() {
  const rows = (list) => list.map(([key, text]) => h("tr", null, h("th", { scope: "row" }, h("kbd", null, key)), h("td", null, t(text))));
  return dialog(t("keys.title"), (close) => [
    h("table", { class: "keys" }, h("tbody", null, rows(GLOBAL), rows(OTHERS))),
    h("label", { class: "check" }, h("input", { type: "checkbox", checked: setting("keys", true), onchange: (event) => saveSetting("keys", event.target.checked) }), t("keys.single")),
    h("div", { class: "row end" }, h("button", { type: "button", class: "primary", autofocus: true, onclick: () => close() }, t("common.close")))]);
}

/// Listens for keys on the page. `search()` moves to the list of sessions.
export function listen(ctx, { search }) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const at = event.target;
    if (at.closest?.("input, textarea, select, [contenteditable], dialog, [role=menu]")) return;
    if (event.key === "?") { event.preventDefault(); shortcutsDialog(); return; }
    if (!setting("keys", true)) return;
    if (PLACES[event.key]) { event.preventDefault(); ctx.go(PLACES[event.key]); } else if (event.key === "/") { event.preventDefault(); search(); } else if (event.key === "c") {
      const text = document.querySelector(".composer-text");
      if (text) { event.preventDefault(); text.focus(); }
    } else if (event.key === "j" || event.key === "k") {
      const all = [...document.querySelectorAll("main .msg, main .inbox-card")];
      const here = all.indexOf(at.closest?.(".msg, .inbox-card"));
      const to = all[here < 0 ? (event.key === "k" ? all.length - 1 : 0) : here + (event.key === "j" ? 1 : -1)];
      if (to) { event.preventDefault(); to.focus(); to.scrollIntoView({ block: "nearest" }); }
    }
  });
}
