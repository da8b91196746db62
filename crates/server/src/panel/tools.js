// Ensembles and their tools: what is offered, from where, pinned or not, what is wrong; and calls by hand.
import { codeBlock, diffView, name as bdi, renderParts, visible } from "./content.js";
import { decisionForm } from "./decision.js";
import { button, debounce, h, replace } from "./dom.js";
import { schemaForm } from "./form.js";
import { duration, extend, t } from "./strings.js";

extend({
  en: {
    "tools.search": "Search tools", "tools.count": { one: "{n} tool", other: "{n} tools" }, "tools.nothing": "No tool matches.", "tools.choose": "Choose an ensemble to see its tools.", "tools.none": "This ensemble offers no tools.", "tools.back": "All ensembles",
    "tools.s_shipped": "built in", "tools.s_user": "yours", "tools.s_project": "project", "tools.s_own": "from a directory", "tools.disabled": "disabled", "tools.offline": "not connected", "tools.untrusted": "not trusted",
    "tools.l_pinned": "pinned", "tools.l_drifted": "changed", "tools.l_unpinned": "not pinned", "tools.findings": "Findings", "tools.error": "error", "tools.warning": "warning", "tools.note": "note",
    "tools.drift": "Changes since the lock file", "tools.drift_note": "Changed tools are hidden from models until you accept them.", "tools.no_drift": "No line differs.",
    "tools.allow": "allowed", "tools.ask": "asks", "tools.deny": "denied", "tools.held": "held back: {why}", "tools.effects": "effects: {what}", "tools.rule": "Rule", "tools.schema": "Schema", "tools.call": "Call {name}", "tools.call_it": "Call", "tools.calling": "Running…", "tools.result": "Result",
    "tools.approve_title": "This call needs your approval", "tools.trust": "Nothing of this project runs until you trust it: `converse ensembles trust`.",
  },
  ru: {
    "tools.search": "Поиск инструментов", "tools.count": { one: "{n} инструмент", few: "{n} инструмента", many: "{n} инструментов", other: "{n} инструмента" }, "tools.nothing": "Ничего не найдено.", "tools.choose": "Выберите ансамбль, чтобы увидеть его инструменты.", "tools.none": "В этом ансамбле нет инструментов.", "tools.back": "Все ансамбли",
    "tools.s_shipped": "встроенный", "tools.s_user": "ваш", "tools.s_project": "проект", "tools.s_own": "из каталога", "tools.disabled": "выключен", "tools.offline": "нет связи", "tools.untrusted": "нет доверия",
    "tools.l_pinned": "закреплён", "tools.l_drifted": "изменился", "tools.l_unpinned": "не закреплён", "tools.findings": "Замечания", "tools.error": "ошибка", "tools.warning": "предупреждение", "tools.note": "примечание",
    "tools.drift": "Изменения относительно файла блокировки", "tools.drift_note": "Изменённые инструменты скрыты от моделей, пока вы их не примете.", "tools.no_drift": "Различий нет.",
    "tools.allow": "разрешён", "tools.ask": "спрашивает", "tools.deny": "запрещён", "tools.held": "задержан: {why}", "tools.effects": "действие: {what}", "tools.rule": "Правило", "tools.schema": "Схема", "tools.call": "Вызвать {name}", "tools.call_it": "Вызвать", "tools.calling": "Выполняется…", "tools.result": "Результат",
    "tools.approve_title": "Этот вызов нужно разрешить", "tools.trust": "Инструменты проекта не запускаются, пока вы ему не доверяете: `converse ensembles trust`.",
  },
});

const chip = (label, kind) => h("span", { class: `chip ${kind ?? ""}` }, label);
const LOCKS = { pinned: "ok", drifted: "bad", unpinned: "warn" };
const PERMISSIONS = { allow: "ok", ask: "warn", deny: "bad" };
const SEVERITIES = { error: "bad", warning: "warn" };
const href = (ensemble, tool) => `#/tools/${encodeURIComponent(ensemble)}${tool ? `?tool=${encodeURIComponent(tool)}` : ""}`;

export async function render(root, params, ctx) {
  const { items } = await ctx.api.get("/api/ensembles", undefined, { signal: ctx.signal });
  const chosen = items.find((one) => one.name === params.name);
  const list = h("ul", { class: "ensembles" });
  const search = h("input", { type: "search", "aria-label": t("tools.search"), placeholder: t("tools.search"), value: params.text });
  const show = () => replace(list, rows(items, search.value.trim().toLowerCase(), params.name));
  search.addEventListener("input", debounce(show, 80));
  show();
  replace(root, h("h1", null, t("nav.tools")),
    h("div", { class: `split ${chosen ? "chosen" : ""}` },
      h("nav", { class: "picker", "aria-label": t("nav.tools") }, search, list),
      h("section", { class: "detail" }, chosen ? detail(chosen, params.tool, ctx) : h("p", { class: "dim" }, t("tools.choose")))));
  if (params.tool) root.querySelector("details.tool[open] > summary")?.scrollIntoView({ block: "nearest" });
}

/// The list beside the details; while a text is searched, the tools that match it too.
function rows(items, text, current) {
  const matches = (one) => [one.name, one.title, one.description].some((part) => part?.toLowerCase().includes(text));
  const found = items.flatMap((one) => {
    const tools = text ? one.tools.filter(matches) : [];
    if (text && !tools.length && !matches(one)) return [];
    return [h("li", null,
      h("a", { href: href(one.name), class: "entry", "aria-current": one.name === current ? "page" : null }, h("span", { class: "row" }, bdi(one.name, "mono strong"), states(one)), h("span", { class: "dim" }, t("tools.count", { n: one.tools.length }), one.description && " · ", one.description && bdi(one.description))),
      tools.length > 0 && h("ul", null, tools.map((tool) => h("li", null, h("a", { href: href(one.name, tool.name) }, bdi(tool.name, "mono"), " ", h("span", { class: "dim" }, bdi(tool.description)))))))];
  });
  return found.length ? found : h("li", { class: "dim" }, t("tools.nothing"));
}

/// What is worth a mark in the list: an ensemble in order has none.
const states = (one) => [one.enabled || chip(t("tools.disabled")), one.trusted || chip(t("tools.untrusted"), "warn"), one.enabled && one.trusted && !one.connected && chip(t("tools.offline"), "bad"),
  LOCKS[one.lock] && one.lock !== "pinned" && chip(t(`tools.l_${one.lock}`), LOCKS[one.lock]), one.findings.length > 0 && chip(String(one.findings.length), SEVERITIES[worst(one.findings)])].filter((mark) => mark !== true);
const worst = (findings) => ["error", "warning"].find((kind) => findings.some(({ severity }) => severity === kind));

function detail(one, open, ctx) {
  return [
    h("a", { href: "#/tools", class: "back" }, "← ", t("tools.back")),
    h("h2", null, bdi(one.title ?? one.name), one.title && [" ", bdi(one.name, "mono dim")]),
    one.description && h("p", { dir: "auto" }, visible(one.description)),
    h("p", { class: "row wrap" }, chip(t(`tools.s_${one.origin.scope}`)), chip(one.transport), LOCKS[one.lock] && chip(t(`tools.l_${one.lock}`), LOCKS[one.lock]), states({ ...one, lock: "off", findings: [] }), one.origin.file && bdi(one.origin.file, "mono dim")),
    one.error && h("p", { class: "error" }, bdi(one.error)),
    !one.trusted && h("p", { class: "warning" }, t("tools.trust")),
    one.findings.length > 0 && h("section", null, h("h3", null, t("tools.findings")), h("ul", { class: "findings" }, one.findings.map(finding))),
    one.lock === "drifted" && one.drift !== false && drift(one, ctx),
    one.tools.length ? one.tools.map((tool) => toolRow(one, tool, tool.name === open, ctx)) : h("p", { class: "dim" }, t("tools.none")),
  ];
}

const finding = (one) => h("li", null, chip(t(`tools.${one.severity}`), SEVERITIES[one.severity]), " ", h("code", null, bdi(one.code)), " ", visible(one.message),
  one.file && h("div", { class: "mono dim" }, bdi(one.file), one.line && `:${one.line}`), one.hint && codeBlock(one.hint));

function drift(one, ctx) {
  const place = h("div", null, t("common.loading"));
  ctx.api.get(`/api/ensembles/${encodeURIComponent(one.name)}/drift`, undefined, { signal: ctx.signal })
    .then(({ lines }) => replace(place, lines.length ? diffView(lines) : t("tools.no_drift")), (error) => replace(place, failure(error)));
  return h("section", null, h("h3", null, t("tools.drift")), h("p", { class: "dim" }, t("tools.drift_note")), place);
}

const failure = (error) => (error.name === "AbortError" ? null : h("p", { class: "error", role: "alert" }, bdi(error.message), error.hint && [" ", bdi(error.hint)]));

function toolRow(ensemble, tool, isOpen, ctx) {
  const body = h("div", { class: "body" });
  const node = h("details", { class: "tool card", open: isOpen },
    h("summary", null, h("span", { class: "row wrap" }, bdi(tool.name, "mono strong"), tool.title && bdi(tool.title), chip(t(`tools.${tool.permission}`), PERMISSIONS[tool.permission]), tool.held && chip(t("tools.held", { why: "" }).replace(/[:\s]+$/, ""), "bad")), h("span", { class: "dim line" }, bdi(tool.description))), body);
  const fill = () => { if (node.open && !body.hasChildNodes()) replace(body, toolBody(ensemble, tool, ctx)); };
  node.addEventListener("toggle", fill);
  fill();
  return node;
}

function toolBody(ensemble, tool, ctx) {
  const label = `${ensemble.name}.${tool.name}`, form = schemaForm(tool.schema), out = h("div", { class: "out" });
  const run = button(t("tools.call_it"), { class: "primary", type: "submit", "aria-label": t("tools.call", { name: label }) });
  const path = `/api/tools/${encodeURIComponent(ensemble.name)}/${encodeURIComponent(tool.name)}`;
  async function call(values, approve) {
    run.disabled = true;
    replace(out, h("p", { class: "dim", role: "status" }, t("tools.calling")));
    try {
      const done = await ctx.api.post(path, { arguments: values, ...(approve && { approve }) }, { signal: ctx.signal });
      replace(out, result(done));
    } catch (error) {
      if (error.code === "needs-approval" && error.body?.approval) replace(out, approval(error.body.approval, (changed) => call(changed ?? values, error.body.approval.digest), () => { replace(out); run.focus(); }));
      else replace(out, failure(error));
    } finally {
      run.disabled = false;
    }
    out.querySelector("[data-focus]")?.focus();
  }
  return [
    h("p", { dir: "auto" }, visible(tool.description)), tool.held && h("p", { class: "error" }, t("tools.held", { why: tool.held })),
    h("p", { class: "dim" }, t("tools.effects", { what: tool.effects }), tool.rule && [" · ", t("tools.rule"), ": ", bdi(tool.rule)]),
    ensemble.calls !== false && h("form", { novalidate: true, onsubmit: (event) => {
      event.preventDefault();
      const values = form.read();
      if (values) call(values);
    } }, form.node, h("div", { class: "row" }, run)),
    out, h("details", null, h("summary", null, t("tools.schema")), codeBlock(JSON.stringify(tool.schema, null, 2), "json")),
  ];
}

const result = (done) => h("section", { tabindex: "-1", dataset: { focus: "" }, "aria-label": t("tools.result") },
  h("p", { class: "row wrap" }, chip(done.outcome, done.outcome === "success" ? "ok" : "bad"), h("span", { class: "dim" }, duration(done.elapsed_ms)), done.decision?.rule && h("span", { class: "dim" }, t("tools.rule"), ": ", bdi(done.decision.rule))), renderParts(done.content));

/// A call by hand is allowed once or not at all: rules are for models.
const approval = (asked, yes, no) => h("section", { class: "card asks", tabindex: "-1", dataset: { focus: "" }, "aria-label": t("tools.approve_title") },
  h("h3", null, t("tools.approve_title")), decisionForm(asked, (answer) => (answer.decision === "deny" ? no() : yes(answer.arguments)), { only: ["once", "deny"] }));
