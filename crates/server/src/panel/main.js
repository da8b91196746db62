// Starts the panel: the frame around the views, the stream of events of the principal, the routes.
import { api } from "./api.js";
import { announce, button, h, icon, replace, toast } from "./dom.js";
import { go, start } from "./router.js";
import { createSessions } from "./sessions.js";
import { listen, shortcutsDialog } from "./shortcuts.js";
import { applyTheme, saveSetting, setting, status } from "./state.js";
import { language, loadTexts, setLanguage, t } from "./strings.js";
import { setTitle, setWaiting } from "./title.js";

/// Events of `GET /api/events` by type: `events.on("approval", fn)` returns the function that ends it.
/// "connected" is sent when the stream begins, and again after a lost connection: what came before is unknown.
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
const VIEWS = [["#/", "nav.chat", "chat"], ["#/approvals", "nav.approvals", "hand"], ["#/compare", "nav.compare", "columns"], ["#/figures", "nav.figures", "chart"], ["#/tools", "nav.tools", "wrench"]];
/// Views that a server may not have: `features` of `/api/status` says `false`.
const OPTIONAL = { "nav.compare": "comparisons", "nav.figures": "figures", "nav.tools": "tools" };
const THEMES = ["auto", "dark", "light"];
let sessions, links, badge, drawer, offline, show, waiting = 0, counted = 0, seen;

function drawerOpen(open) {
  document.body.classList.toggle("drawer-open", open);
  drawer.setAttribute("aria-expanded", String(open));
}

function frame() {
  const main = h("main", { id: "main", tabindex: "-1" });
  const side = h("aside", { class: "side", id: "side", "aria-label": t("frame.drawer") });
  badge = h("span", { class: "badge", hidden: true });
  links = new Map(VIEWS.map(([href, key, name]) => [key, h("a", { href, title: t(key) }, icon(name), h("span", { class: "nav-text" }, t(key)), key === "nav.approvals" && badge)]));
  drawer = button(t("frame.drawer"), { icon: "menu", iconOnly: true, class: "quiet drawer-button", "aria-controls": "side", "aria-expanded": "false", onclick: () => { const open = !document.body.classList.contains("drawer-open"); drawerOpen(open); if (open) side.querySelector("a, button, input")?.focus(); } });
  const theme = button("", { icon: "contrast", iconOnly: true, class: "quiet", onclick: () => { const next = THEMES[(THEMES.indexOf(setting("theme", "auto")) + 1) % 3]; saveSetting("theme", next); applyTheme(next); nameTheme(); announce(theme.title); } });
  const nameTheme = () => { const label = t(`frame.theme.${setting("theme", "auto")}`); theme.setAttribute("aria-label", label); theme.title = label; };
  nameTheme();
  offline = h("p", { class: "note warn offline", role: "status", hidden: true });
  replace(document.getElementById("app"),
    h("a", { class: "skip", href: "#main", onclick: (event) => { event.preventDefault(); main.focus(); } }, t("frame.skip")),
    h("header", { class: "top" }, drawer, h("span", { class: "brand" }, "converse"), h("nav", { "aria-label": t("frame.views") }, [...links.values()]), h("span", { class: "grow" }),
      theme, button(t("frame.language"), { icon: "globe", iconOnly: true, class: "quiet", lang: language() === "en" ? "ru" : "en", onclick: () => setLanguage(language() === "en" ? "ru" : "en").then(build) }),
      button(t("frame.keys"), { icon: "keyboard", iconOnly: true, class: "quiet keys-button", onclick: () => shortcutsDialog() })),
    side, h("div", { class: "backdrop", onclick: () => drawerOpen(false) }), main, offline);
  side.addEventListener("keydown", (event) => { if (event.key === "Escape" && !event.defaultPrevented && document.body.classList.contains("drawer-open")) { drawerOpen(false); drawer.focus(); } });
  status().then(({ features }) => { for (const [key, feature] of Object.entries(OPTIONAL)) links.get(key).hidden = features?.[feature] === false; }, () => {});
  sessions?.destroy();
  sessions = createSessions(side, ctx, { onPick: () => drawerOpen(false) });
  drawBadge();
  return main;
}

function drawBadge() {
  badge.hidden = waiting === 0;
  replace(badge, String(waiting), h("span", { class: "hidden" }, ` ${t("frame.waiting", { n: waiting })}`));
  setWaiting(waiting);
}

async function countApprovals() {
  const turn = ++counted;
  try {
    const { items } = await api.get("/api/approvals");
    // An earlier answer may arrive later.
    if (turn !== counted) return;
    waiting = items.length;
    drawBadge();
    const fresh = items.filter((item) => seen && !seen.has(item.id));
    seen = new Set(items.map((item) => item.id));
    for (const item of fresh) announceApproval(item);
  } catch { /* the stream of events tells when the server is back */ }
}

function announceApproval(item) {
  const text = t("frame.notify", { tool: `${item.ensemble}.${item.tool}`.slice(0, 120) });
  announce(text);
  if (!setting("notify", false) || !("Notification" in window) || Notification.permission !== "granted" || (document.visibilityState === "visible" && document.hasFocus())) return;
  try {
    const shown = new Notification(text, { body: (item.session_name || item.words || "").slice(0, 200), tag: item.id });
    shown.onclick = () => { window.focus(); go(`#/approvals/${encodeURIComponent(item.id)}`); shown.close(); };
  } catch { /* some phones only allow them from a service worker */ }
}

function build() {
  const main = frame();
  if (show) { show.into(main); return; }
  show = start(main, ctx, {
    onView(route, again) {
      if (!["/", "/s/:id", "/approvals", "/approvals/:id"].includes(route.path)) setTitle(t(route.title));
      for (const [key, link] of links) if (key === route.title) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
      sessions.current(route.path === "/s/:id" ? route.params.id : undefined);
      drawerOpen(false);
      if (again) document.getElementById("main").focus({ preventScroll: true });
    },
    onError(place, error, retry) {
      replace(place, h("div", { class: "problem", role: "alert" }, h("h1", null, t("common.error")), h("p", { dir: "auto" }, error.message), error.hint && h("p", { class: "dim" }, error.hint), button(t("common.retry"), { class: "primary", onclick: retry })));
    },
  });
}

applyTheme();
await loadTexts();
// Before the first reading: what happens after it is not missed.
followAll();
build();
listen(ctx, { search: () => { if (getComputedStyle(drawer).display !== "none") drawerOpen(true); sessions.focusSearch(); } });
countApprovals();
events.on("approval", countApprovals);
events.on("approval_resolved", countApprovals);
events.on("connected", countApprovals);
function onState(state, error) {
  offline.hidden = state === "open";
  if (state === "lost") offline.textContent = t("frame.offline");
  if (state === "open") events.emit({ type: "connected" });
  if (state === "gone") { offline.textContent = error.status === 401 ? t("frame.access") : error.message; toast(offline.textContent, { kind: "error", hint: error.hint }); }
}

/// Follows the events of the principal. Of several tabs one follows and tells the others, because a browser
/// opens six connections to a server at most.
function followAll() {
  const signal = new AbortController().signal;
  if (!navigator.locks || !window.BroadcastChannel) { api.follow("/api/events", { signal, onEvent: events.emit, onState }); return; }
  const channel = new BroadcastChannel("converse.events");
  channel.onmessage = ({ data }) => { if (data.event) events.emit(data.event); else onState(data.state, data.error); };
  navigator.locks.request("converse.events", () => api.follow("/api/events", { signal,
    onEvent(event) { events.emit(event); channel.postMessage({ event }); },
    onState(state, error) { onState(state, error); channel.postMessage({ state, error: error && { status: error.status, message: error.message, hint: error.hint } }); } }));
}
