// Keys that work everywhere.
import { setting } from "./state.js";

const PLACES = { n: "#/", a: "#/approvals", x: "#/compare", f: "#/figures", t: "#/tools" };

/// Lists the keys in a dialog.
export const shortcutsDialog = async () => (await import("./keys.js")).keysDialog();

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
