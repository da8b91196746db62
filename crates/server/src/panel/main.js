// Starts the panel: the frame around the views, the stream of events of the principal, the routes.
import { api } from "./api.js";
import { button, h, replace, toast } from "./dom.js";
import { go, start } from "./router.js";
import { language, t } from "./strings.js";

/// Events of `GET /api/events` by type: `events.on("approval", fn)` returns the function that ends it.
function eventHub() {
  const listeners = new Map();
  return {
    on(type, fn) {
      if (!listeners.has(type)) listeners.set(type, new Set());
      listeners.get(type).add(fn);
      return () => listeners.get(type).delete(fn);
    },
    emit(event) { for (const fn of [...(listeners.get(event.type) ?? [])]) fn(event); },
  };
}

const events = eventHub();
const ctx = { api, t, go, events };

function frame() {
  const links = [["#/", "nav.chat"], ["#/approvals", "nav.approvals"], ["#/compare", "nav.compare"], ["#/figures", "nav.figures"], ["#/tools", "nav.tools"]];
  const main = h("main", { id: "main", tabindex: "-1" });
  replace(document.getElementById("app"),
    h("header", { class: "top" }, h("nav", null, links.map(([href, key]) => h("a", { href }, t(key))))), main);
  return main;
}

document.documentElement.lang = language();
start(frame(), ctx, {
  onView: (route) => { document.title = `${t(route.title)} · converse`; },
  onError: (place, error, again) => replace(place, h("div", { class: "error" }, h("p", null, error.message), error.hint && h("p", null, error.hint),
    button(t("common.retry"), { onclick: again }))),
});
api.follow("/api/events", { signal: new AbortController().signal, onEvent: (event) => events.emit(event),
  onState: (state, error) => { if (state === "gone") toast(error.message, { kind: "error" }); } });
