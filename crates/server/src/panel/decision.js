// An approval: what will run, which rule asks, and the answers once, this session, always, no.
import { append, button, h, replace, toast } from "./dom.js";
import { argumentsView } from "./card.js";
import { name, visible } from "./content.js";
import { extend, t } from "./strings.js";

extend({
  en: {
    "decision.ask": "Allow this invocation?", "decision.rule": "Rule that asks", "decision.effects": "Effects", "decision.reaches": "File", "decision.labels": "Data in this conversation", "decision.sandbox": "Sandbox",
    "decision.once": "Allow once", "decision.session": "Allow for this session", "decision.always": "Always allow", "decision.deny": "Deny", "decision.pattern": "“Always” covers", "decision.sessionReach": "This tool with any arguments, in this conversation, until the server ends",
    "decision.comment": "Reason, which the model reads", "decision.edit": "Edit parameters", "decision.editing": "Parameters as JSON", "decision.badJson": "The parameters are not a JSON object: {reason}",
    "decision.sent": "Answered", "decision.already": "This approval was answered elsewhere.", "decision.exact": "only this exact invocation",
    "decision.done.once": "Allowed once", "decision.done.session": "Allowed for this session", "decision.done.always": "Always allowed", "decision.done.deny": "Denied", "decision.by": "by {by}",
  },
  ru: {
    "decision.ask": "Разрешить этот вызов?", "decision.rule": "Правило, которое спрашивает", "decision.effects": "Действие", "decision.reaches": "Файл", "decision.labels": "Данные в беседе", "decision.sandbox": "Песочница",
    "decision.once": "Разрешить один раз", "decision.session": "Разрешить в этой беседе", "decision.always": "Разрешать всегда", "decision.deny": "Запретить", "decision.pattern": "«Всегда» распространяется на", "decision.sessionReach": "Этот инструмент с любыми параметрами, в этой беседе, пока работает сервер",
    "decision.comment": "Причина, её прочтёт модель", "decision.edit": "Изменить параметры", "decision.editing": "Параметры в JSON", "decision.badJson": "Параметры — не объект JSON: {reason}",
    "decision.sent": "Отвечено", "decision.already": "На этот запрос уже ответили в другом месте.", "decision.exact": "только этот самый вызов",
    "decision.done.once": "Разрешено один раз", "decision.done.session": "Разрешено в этой беседе", "decision.done.always": "Разрешено всегда", "decision.done.deny": "Запрещено", "decision.by": "ответил: {by}",
  },
});

/// What an answer "always" covers, written out. A pattern of the server is `tool`, `arguments` or `NAME=PATTERN`.
function covered({ ensemble, tool, arguments: args }, pattern) {
  const part = { tool: "", arguments: JSON.stringify(args ?? {}) }[pattern] ?? pattern;
  return `${ensemble}.${tool} ${part.length > 400 ? `${part.slice(0, 400)}…` : part}`.trimEnd();
}

/// The form of one approval of the contract. `onDecide({decision, pattern?, comment?, arguments?})` sends the answer;
/// if it fails the form can be used again. `only` lists the decisions that are offered; `titled` puts the question on top.
export function decisionForm(approval, onDecide, { titled = false, only } = {}) {
  const patterns = approval.patterns ?? [];
  const id = `d${Math.random().toString(36).slice(2)}`;
  const pattern = h("select", { id: `${id}-p` }, patterns.map((item) => h("option", { value: item.pattern }, item.text || item.pattern)));
  const exact = h("code", { class: "pattern" });
  const showPattern = () => replace(exact, visible(covered(approval, pattern.value)));
  pattern.addEventListener("change", showPattern);
  showPattern();
  const comment = h("input", { id: `${id}-c`, type: "text", maxlength: "2000", dir: "auto", autocomplete: "off" });
  const problem = h("p", { class: "error", role: "alert", hidden: true });
  const args = h("div", null, argumentsView(approval.arguments));
  let edited;
  const node = h("form", { class: "decision", role: "group", "aria-label": `${t("decision.ask")} ${approval.ensemble}.${approval.tool}` });
  const controls = () => node.querySelectorAll("button, input, select, textarea");
  const decide = async (decision) => {
    const answer = { decision };
    problem.hidden = true;
    if (edited) {
      try {
        answer.arguments = JSON.parse(edited.value);
        if (!answer.arguments || typeof answer.arguments !== "object" || Array.isArray(answer.arguments)) throw new Error("{ } expected");
      } catch (error) { problem.textContent = t("decision.badJson", { reason: error.message }); problem.hidden = false; edited.focus(); return; }
    }
    if (decision === "always" && pattern.value) answer.pattern = pattern.value;
    if (comment.value.trim()) answer.comment = comment.value.trim();
    for (const control of controls()) control.disabled = true;
    try {
      await onDecide(answer);
      replace(node, decisionNote(decision));
    } catch (error) {
      if (error.status === 409 || error.status === 404) { replace(node, h("p", { class: "dim" }, t("decision.already"))); return; }
      for (const control of controls()) control.disabled = false;
      toast(error.message, { kind: "error", hint: error.hint });
    }
  };
  const edit = button(t("decision.edit"), { class: "quiet", icon: "pencil", onclick: () => {
    edited = h("textarea", { class: "mono", rows: "6", spellcheck: "false", "aria-label": t("decision.editing"), value: JSON.stringify(approval.arguments ?? {}, null, 2) });
    replace(args, edited);
    edit.remove();
    edited.focus();
  } });
  node.addEventListener("submit", (event) => event.preventDefault());
  const offer = (decision) => (!only || only.includes(decision)) && (!approval.decisions || approval.decisions.includes(decision));
  append(node, [
    titled && h("p", { class: "decision-title" }, t("decision.ask")),
    approval.reason && approval.reason !== "approval" && h("p", { dir: "auto" }, visible(approval.reason)),
    args,
    h("dl", { class: "pairs" },
      (approval.rule || approval.place) && [h("dt", null, t("decision.rule")), h("dd", null, h("code", null, visible(approval.rule ?? "")), approval.place && !approval.rule?.includes(`${approval.place.file}:${approval.place.line}`) && h("span", { class: "dim place" }, " ", name(`${approval.place.file}:${approval.place.line}`)))],
      approval.reaches && [h("dt", null, t("decision.reaches")), h("dd", null, h("code", null, visible(approval.reaches)))],
      approval.effects && [h("dt", null, t("decision.effects")), h("dd", null, visible([approval.effects].flat().join(", ")))],
      approval.labels?.length > 0 && [h("dt", null, t("decision.labels")), h("dd", null, approval.labels.map((label) => h("span", { class: "chip warn" }, name(label))))],
      approval.sandbox && [h("dt", null, t("decision.sandbox")), h("dd", null, visible(typeof approval.sandbox === "string" ? approval.sandbox : JSON.stringify(approval.sandbox)))],
      patterns.length > 0 && offer("always") && [h("dt", null, h("label", { for: `${id}-p` }, t("decision.pattern"))), h("dd", { class: "col" }, patterns.length > 1 ? pattern : [visible(patterns[0].text ?? "")], exact)]),
    h("div", { class: "row" },
      offer("once") && button(t("decision.once"), { class: "primary", icon: "check", onclick: () => decide("once") }),
      offer("session") && button(t("decision.session"), { title: t("decision.sessionReach"), onclick: () => decide("session") }),
      offer("always") && patterns.length > 0 && button(t("decision.always"), { onclick: () => decide("always") }),
      edit),
    h("div", { class: "row deny" }, h("label", { for: `${id}-c`, class: "hidden" }, t("decision.comment")), comment, offer("deny") && button(t("decision.deny"), { class: "danger", icon: "cross", onclick: () => decide("deny") })),
    problem,
  ]);
  comment.placeholder = t("decision.comment");
  comment.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); if (comment.value.trim()) decide("deny"); } });
  return node;
}

/// What became of an approval, in one line.
export function decisionNote(decision, by) {
  return h("p", { class: "dim small" }, t(`decision.done.${decision}`), by && [" ", t("decision.by", { by })]);
}
