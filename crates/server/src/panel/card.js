// The card of an invocation: what ran with which arguments, how far it is, what came of it.
import { h, icon, replace } from "./dom.js";
import { codeBlock, diffView, jsonView, name, renderParts, visible } from "./content.js";
import { duration, money, number, t } from "./strings.js";

const KINDS = [[/shell|command|exec|bash|terminal|process/i, "terminal"], [/git|diff|branch|commit|patch/i, "branch"], [/fetch|web|http|browser|url|weather|search/i, "globe"],
  [/file|edit|read|write|dir|path|text/i, "file"], [/memory|sql|data|db|table|store/i, "database"], [/time|date|calendar|clock|cron/i, "clock"]];
const STATES = { pending: "spinner", running: "spinner", waiting: "hand", success: "check", none: "minus", cancelled: "minus" };
const TONES = { success: "ok", running: "run", pending: "run", waiting: "warn", none: "", cancelled: "", refused: "warn" };

/// The icon for a tool, by its name.
export const toolIcon = (ensemble, tool) => (KINDS.find(([pattern]) => pattern.test(tool) ) ?? KINDS.find(([pattern]) => pattern.test(ensemble)) ?? [null, "wrench"])[1];

/// Arguments as one short line.
export function summary(args) {
  if (args === undefined || args === null) return "";
  if (typeof args !== "object") return String(args).slice(0, 160);
  const values = Object.entries(args).map(([key, value]) => `${key}: ${typeof value === "string" ? value.slice(0, 160) : JSON.stringify(value)?.slice(0, 160)}`);
  return values.join("  ").slice(0, 240);
}

/// Arguments in full.
export function argumentsView(args) {
  if (args === undefined || args === null || (typeof args === "object" && !Object.keys(args).length)) return h("p", { class: "dim" }, t("card.noArguments"));
  if (typeof args !== "object") return codeBlock(String(args), t("card.arguments"));
  const isLong = ([, value]) => typeof value === "string" && (value.length > 400 || value.includes("\n"));
  const long = Object.entries(args).filter(isLong), short = Object.entries(args).filter((one) => !isLong(one));
  if (long.length) return h("div", { class: "col" }, short.length > 0 && jsonView(Object.fromEntries(short), t("card.arguments")), long.map(([key, value]) => codeBlock(value, key)));
  return jsonView(args, t("card.arguments"));
}

/// Makes a card. `call`: `{id, ensemble, tool, arguments, edited?}`; the functions change it as events arrive.
export function createCard(call) {
  const status = h("span", { class: "card-status" }), title = h("span", { class: "card-title" }), line = h("span", { class: "card-line dim" }), meta = h("span", { class: "card-meta dim" });
  const body = h("div", { class: "card-body" }), progress = h("div", { class: "card-progress", hidden: true }), decision = h("div", { class: "card-decision" });
  const details = h("details", null, h("summary", null, status, title, line, meta), body);
  const node = h("article", { class: "card" }, details, progress, decision);
  let state = "pending", result, rule, stale = true, by = false, started;

  const draw = () => {
    replace(status, icon(STATES[state] ?? "cross"), h("span", { class: "card-state" }, stateName(state)));
    node.dataset.tone = TONES[state] ?? "bad";
    replace(title, icon(toolIcon(call.ensemble ?? "", call.tool ?? "")), call.tool ? [name(call.ensemble, "dim"), h("span", { class: "dim" }, " · "), name(call.tool, "tool")] : t("card.unknown"));
    replace(line, h("bdi", null, visible(summary(call.arguments))));
    replace(meta, [result?.elapsed_ms !== undefined && duration(result.elapsed_ms), money(result?.cost)].filter(Boolean).join(" · "));
    details.setAttribute("aria-label", `${call.ensemble ?? ""} ${call.tool ?? ""}: ${stateName(state)}`);
    stale = true;
    if (details.open) fill();
  };
  const fill = () => {
    if (!stale) return;
    stale = false;
    const judged = result?.decision ?? rule;
    replace(body, h("h3", null, t("card.arguments"), call.edited && h("span", { class: "chip warn" }, t("card.edited"))), argumentsView(call.arguments),
      judged?.rule && h("p", { class: "small" }, h("span", { class: "dim" }, t("card.rule"), " "), h("code", null, visible(judged.rule)), judged.by && h("span", { class: "dim" }, " ", name(judged.by))),
      judged?.comment && h("p", { class: "small", dir: "auto" }, h("span", { class: "dim" }, t("card.comment"), " "), visible(judged.comment)),
      result?.diff && [h("h3", null, t("card.diff")), diffView(result.diff)],
      result && [h("h3", null, t("card.result")), renderParts(result.content)]);
  };
  details.addEventListener("toggle", () => { node.classList.toggle("open", details.open); if (details.open) fill(); });
  details.firstChild.addEventListener("click", () => { by = true; });
  const open = () => { if (!by) { details.open = true; node.classList.add("open"); } };
  draw();

  return {
    node, call,
    state: () => state,
    setCall(to) { Object.assign(call, to); draw(); },
    setState(to) { if (!result || to === "none") { state = to; draw(); } },
    started(args) { if (args !== undefined) call.arguments = args; state = "running"; started = performance.now(); decision.replaceChildren(); draw(); },
    progress({ message, progress: value, total }) {
      progress.hidden = false;
      replace(progress, h("progress", { value: total ? Math.min(value ?? 0, total) : null, max: total || null, "aria-label": call.tool }),
        h("span", { class: "dim", dir: "auto" }, visible((message ?? "").slice(0, 500)), value !== undefined && ` ${number(value)}${total ? ` / ${number(total)}` : ""}`));
      if (state === "pending") { state = "running"; draw(); }
    },
    decided(to) { rule = to; decision.replaceChildren(); draw(); },
    /// Shows a form in the card, or a note, or nothing.
    ask(form) { replace(decision, form); },
    asking: () => Boolean(decision.querySelector("button")),
    finish(to) {
      result = to;
      if (result.elapsed_ms === undefined && started !== undefined) result.elapsed_ms = Math.round(performance.now() - started);
      state = to.outcome ?? "success";
      progress.hidden = true;
      decision.replaceChildren();
      draw();
      if (result.diff || result.content?.some((part) => part.type === "image")) open();
    },
    /// Takes what was seen live into a card made from the stored messages.
    inherit(other) { if (other.opened()) { details.open = true; by = true; node.classList.add("open"); } const diff = other.diff(); if (diff && result && !result.diff) { result.diff = diff; draw(); } },
    opened: () => details.open,
    diff: () => result?.diff,
  };
}

function stateName(state) {
  const key = `card.state.${state}`, text = t(key);
  return text === key ? state : text;
}

