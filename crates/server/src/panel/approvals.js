// The inbox of approvals: everything that waits for a person, whichever session it is in.
import { announce, button, h, icon, replace, toast } from "./dom.js";
import { toolIcon } from "./card.js";
import { name } from "./content.js";
import { decisionForm } from "./decision.js";
import { saveSetting, setting } from "./state.js";
import { extend, t, when } from "./strings.js";
import { setTitle } from "./title.js";

extend({
  en: {
    "approvals.title": "Approvals", "approvals.none": "Nothing waits for you.", "approvals.session": "Conversation", "approvals.notify": "Notify me in this browser", "approvals.notifying": "Notifications are on", "approvals.blocked": "The browser blocks notifications for this page.",
    "approvals.count": { one: "{n} invocation waits", other: "{n} invocations wait" }, "approvals.left": { one: "{n} more approval of this run is open", other: "{n} more approvals of this run are open" }, "approvals.goes": "The run goes on", "approvals.gone": "Answered elsewhere", "approvals.asked": "asked {time}",
  },
  ru: {
    "approvals.title": "Разрешения", "approvals.none": "Ничто не ждёт вашего ответа.", "approvals.session": "Беседа", "approvals.notify": "Уведомлять в этом браузере", "approvals.notifying": "Уведомления включены", "approvals.blocked": "Браузер не разрешает уведомления для этой страницы.",
    "approvals.count": { one: "Ждёт {n} вызов", few: "Ждут {n} вызова", many: "Ждут {n} вызовов", other: "Ждут {n} вызова" }, "approvals.left": { one: "В этом запуске открыт ещё {n} запрос", few: "В этом запуске открыто ещё {n} запроса", many: "В этом запуске открыто ещё {n} запросов", other: "В этом запуске открыто ещё {n} запроса" }, "approvals.goes": "Выполнение продолжается", "approvals.gone": "Ответ дан в другом месте", "approvals.asked": "запрошено {time}",
  },
});

export async function render(root, params, ctx) {
  setTitle(t("approvals.title"));
  const list = h("div", { class: "inbox" }), count = h("p", { class: "dim", role: "status" });
  const notify = h("div");
  root.append(h("header", { class: "view-head" }, h("div", { class: "grow" }, h("h1", null, t("approvals.title")), count), notify), h("div", { class: "scroller pad", tabindex: "0", role: "region", "aria-label": t("approvals.title") }, list));
  const shown = new Map();
  let asked = 0;

  const drawNotify = () => {
    if (!("Notification" in window)) return;
    if (Notification.permission === "denied") replace(notify, h("p", { class: "dim small" }, t("approvals.blocked")));
    else if (Notification.permission === "granted" && setting("notify", false)) replace(notify, button(t("approvals.notifying"), { icon: "bell", class: "quiet on", "aria-pressed": "true", onclick: () => { saveSetting("notify", false); drawNotify(); } }));
    else replace(notify, button(t("approvals.notify"), { icon: "bell", class: "quiet", "aria-pressed": "false", onclick: async () => { saveSetting("notify", (await Notification.requestPermission()) === "granted"); drawNotify(); } }));
  };
  drawNotify();

  const counted = () => {
    const open = [...shown.values()].filter((node) => !node.classList.contains("answered")).length;
    count.textContent = open ? t("approvals.count", { n: open }) : t("approvals.none");
  };

  const entry = (approval) => {
    const node = h("article", { class: "card inbox-card", dataset: { id: approval.id }, tabindex: "-1" });
    const form = decisionForm(approval, async (answer) => {
      const { left } = await ctx.api.post(`/api/approvals/${encodeURIComponent(approval.id)}`, answer);
      const said = left > 0 ? t("approvals.left", { n: left }) : t("approvals.goes");
      announce(said);
      node.classList.add("answered");
      node.append(h("p", { class: "dim small" }, said));
      counted();
      (list.querySelector(".inbox-card:not(.answered) button") ?? root.querySelector(".scroller")).focus();
    });
    const label = approval.session_name || approval.words || approval.session;
    replace(node, h("header", { class: "row" }, icon(toolIcon(approval.ensemble, approval.tool)), h("h2", null, name(approval.ensemble, "dim"), h("span", { class: "dim" }, " · "), name(approval.tool)), h("span", { class: "grow" }),
      h("time", { class: "dim small", datetime: approval.at }, t("approvals.asked", { time: when(approval.at) }))),
    h("p", { class: "small" }, h("span", { class: "dim" }, t("approvals.session"), ": "), h("a", { href: `#/s/${encodeURIComponent(approval.session)}` }, name(label.slice(0, 160)))), form);
    return node;
  };

  let wanted = params.id;
  const load = async () => {
    const turn = ++asked;
    const { items } = await ctx.api.get("/api/approvals", {}, { signal: ctx.signal });
    // An earlier answer may arrive later.
    if (turn !== asked) return;
    const ids = new Set(items.map((item) => item.id));
    for (const [id, node] of shown) if (!ids.has(id) && !node.classList.contains("answered")) gone(node);
    for (const item of items) if (!shown.has(item.id)) { const node = entry(item); shown.set(item.id, node); list.append(node); }
    counted();
    const node = shown.get(wanted);
    if (node) { wanted = undefined; node.scrollIntoView({ block: "center" }); node.focus(); }
  };
  const gone = (node) => {
    node.classList.add("answered");
    node.querySelector("form")?.replaceWith(h("p", { class: "dim" }, t("approvals.gone")));
    counted();
  };
  const again = () => load().catch((error) => { if (error.name !== "AbortError") toast(error.message, { kind: "error" }); });
  // Before the list is read: what comes meanwhile may be missing in it.
  const offs = [ctx.events.on("approval", again), ctx.events.on("connected", again),
    ctx.events.on("approval_resolved", ({ id }) => {
      if (!shown.has(id)) { again(); return; }
      setTimeout(() => { const node = shown.get(id); if (node && !node.classList.contains("answered")) gone(node); }, 300);
    })];
  const close = () => { for (const off of offs) off(); };
  try { await load(); } catch (error) { close(); throw error; }
  return close;
}
