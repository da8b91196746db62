// The expert panel: two to four models on one question over the same tool results, side by side.
import { name as bdi } from "./content.js";
import { button, debounce, h, replace, toast } from "./dom.js";
import { models } from "./state.js";
import { compact, duration, extend, money, t, when } from "./strings.js";
import { createThread } from "./thread.js";

extend({
  en: {
    "compare.question": "Question for all models", "compare.models": "Two to four models", "compare.ask": "Ask them", "compare.too_few": "Choose at least two models.", "compare.recent": "Earlier comparisons", "compare.new": "New comparison",
    "compare.running": "answering", "compare.waiting": "waits for approval", "compare.failed": "failed", "compare.stopped": "stopped", "compare.done": "done", "compare.tokens": "{n} tokens", "compare.unknown": "cost unknown", "compare.path": "Tool calls", "compare.no_path": "no tool call", "compare.shared": "same call as another model", "compare.alone": "only this model made this call",
    "compare.only": "Only in this answer", "compare.mark": "Mark differences", "compare.take": "Take this answer", "compare.taken": "Answer taken over", "compare.open": "Open", "compare.none": "This comparison does not exist.", "compare.stop": "Stop all",
  },
  ru: {
    "compare.question": "Вопрос ко всем моделям", "compare.models": "От двух до четырёх моделей", "compare.ask": "Спросить", "compare.too_few": "Выберите хотя бы две модели.", "compare.recent": "Прежние сравнения", "compare.new": "Новое сравнение",
    "compare.running": "отвечает", "compare.waiting": "ждёт разрешения", "compare.failed": "ошибка", "compare.stopped": "остановлено", "compare.done": "готово", "compare.tokens": "{n} токенов", "compare.unknown": "стоимость неизвестна", "compare.path": "Вызовы инструментов", "compare.no_path": "без инструментов", "compare.shared": "такой же вызов сделала и другая модель", "compare.alone": "этот вызов сделала только эта модель",
    "compare.only": "Только в этом ответе", "compare.mark": "Отмечать различия", "compare.take": "Взять этот ответ", "compare.taken": "Ответ взят", "compare.open": "Открыть", "compare.none": "Такого сравнения нет.", "compare.stop": "Остановить все",
  },
});

const MOST = 4;
const tagOf = (item) => item.tags?.find((tag) => /^compared?:/.test(tag));

export async function render(root, params, ctx) {
  replace(root, h("h1", null, t("nav.compare")));
  return params.id ? comparison(root, params.id, ctx) : start(root, params, ctx);
}

// --- the question

async function start(root, params, ctx) {
  const list = (await models()).filter((one) => one.kind === "model");
  const question = h("textarea", { rows: "3", dir: "auto", required: true, id: "compare-question", value: params.question });
  const problem = h("p", { class: "error", role: "alert", hidden: true });
  const wanted = params.models?.split(",") ?? list.slice(0, 2).map((one) => one.id);
  const boxes = list.map((one) => h("input", { type: "checkbox", value: one.id, checked: wanted.includes(one.id), onchange: limit }));
  const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
  function limit() {
    const isFull = chosen().length >= MOST;
    for (const box of boxes) box.disabled = isFull && !box.checked;
  }
  limit();
  const ask = button(t("compare.ask"), { class: "primary", type: "submit" });
  const fail = (text) => { problem.textContent = text; problem.hidden = false; };
  const earlier = h("section");
  root.append(h("form", { class: "card col ask", onsubmit: async (event) => {
    event.preventDefault();
    if (chosen().length < 2) { fail(t("compare.too_few")); return; }
    if (!question.value.trim()) { question.focus(); return; }
    ask.disabled = true;
    try {
      const made = await ctx.api.post("/api/comparisons", { question: question.value, models: chosen() }, { signal: ctx.signal });
      ctx.go(`#/compare/${encodeURIComponent(made.id)}`);
    } catch (error) {
      ask.disabled = false;
      fail([error.message, error.hint].filter(Boolean).join(" "));
    }
  } }, h("label", { for: "compare-question" }, t("compare.question")), question,
  h("fieldset", null, h("legend", null, t("compare.models")), h("div", { class: "checks" }, boxes.map((box, at) => h("label", { class: "check" }, box, bdi(list[at].name ?? list[at].id), list[at].name && bdi(list[at].id, "mono dim"))))),
  problem, h("div", { class: "row" }, ask)), earlier);
  question.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form.requestSubmit(); });
  const { items } = await ctx.api.get("/api/sessions", { limit: 100 }, { signal: ctx.signal });
  const known = new Map(items.filter(tagOf).reverse().map((one) => [tagOf(one).split(":")[1], one]));
  if (known.size) replace(earlier, h("h2", null, t("compare.recent")), h("ul", { class: "earlier" }, [...known].reverse().map(([id, one]) => h("li", null, h("a", { href: `#/compare/${encodeURIComponent(id)}` }, bdi(one.name || one.words)), " ", h("span", { class: "dim" }, when(one.created))))));
  return undefined;
}

// --- the answers

async function comparison(root, id, ctx) {
  const found = (await Promise.all(["compare", "compared"].map((tag) => ctx.api.get("/api/sessions", { tag: `${tag}:${id}` }, { signal: ctx.signal })))).flatMap((page) => page.items);
  if (!found.length) { root.append(h("p", { class: "dim" }, t("compare.none")), h("a", { href: "#/compare" }, t("compare.new"))); return undefined; }
  const list = await models().catch(() => []);
  // The ids are in the order of the models. Times as texts are not: their fractions end with the last digit that is not 0.
  found.sort((a, b) => (a.id < b.id ? -1 : 1));
  const mark = h("input", { type: "checkbox", checked: true, onchange: () => differences() });
  const stop = button(t("compare.stop"), { onclick: () => columns.forEach((one) => one.running && ctx.api.post(`/api/sessions/${one.item.id}/cancel`).catch(() => {})) });
  const columns = found.map((item) => column(item, list.find((one) => one.id === item.model)?.name, id, ctx, () => { differences(); stop.hidden = !columns.some((one) => one.running); }));
  const title = h("h2", { dir: "auto" });
  root.append(title, h("div", { class: "row wrap" }, h("label", { class: "check" }, mark, t("compare.mark")), stop, h("a", { href: "#/compare" }, t("compare.new"))),
    h("div", { class: "columns", dataset: { n: String(columns.length) } }, columns.map((one) => one.node)));
  function differences() {
    const ended = columns.filter((one) => !one.running);
    for (const one of columns) one.paths(columns.filter((other) => other !== one));
    highlight(ended, mark.checked && ended.length > 1);
  }
  await Promise.all(columns.map((one) => one.load()));
  replace(title, bdi(columns[0].question() || found[0].words));
  stop.hidden = !columns.some((one) => one.running);
  differences();
  return () => { columns.forEach((one) => one.destroy()); highlight([], false); };
}

const callKey = (call) => `${call.name} ${JSON.stringify(call.arguments, (_, value) => (value && typeof value === "object" && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value))}`;

/// One model: its state, figures and path above, its conversation below.
function column(item, title, id, ctx, onChange) {
  const state = h("span", { class: "chip" }), figures = h("span", { class: "dim" }), path = h("ol", { class: "path", "aria-label": t("compare.path") }), only = h("p", { class: "only" });
  const scroller = h("div", { class: "thread-place" });
  const take = button(t("compare.take"), { class: "primary", "aria-label": `${t("compare.take")}: ${title ?? item.model}`, onclick: async () => {
    try {
      await ctx.api.post(`/api/comparisons/${encodeURIComponent(id)}/take`, { session: item.id });
      toast(t("compare.taken"));
      ctx.go(`#/s/${item.id}`);
    } catch (error) { toast(error.message, { kind: "error", hint: error.hint }); }
  } });
  const thread = createThread(scroller, ctx, { session: item.id, compact: true });
  const me = { item, running: false, only, calls: [], tokens: 0, dollars: undefined, began: undefined, took: 0, question: () => question };
  let question = "", end = "done";
  const usage = (one) => {
    me.tokens += (one.input_tokens ?? 0) + (one.output_tokens ?? 0);
    if (one.cost) me.dollars = (me.dollars ?? 0) + Number(one.cost.dollars);
  };
  const show = () => {
    const kind = me.running ? "running" : end;
    state.className = `chip ${{ done: "ok", failed: "bad", waiting: "warn" }[kind] ?? ""}`;
    replace(state, kind === "waiting" ? h("a", { href: "#/approvals" }, t("compare.waiting")) : t(`compare.${kind}`));
    const took = me.took || (me.running && me.began ? Date.now() - me.began : 0);
    replace(figures, [took ? duration(took) : "", t("compare.tokens", { n: compact(me.tokens) }), me.dollars === undefined ? t("compare.unknown") : money({ dollars: String(me.dollars) })].filter(Boolean).join(" · "));
    take.disabled = me.running || end !== "done";
  };
  const clock = setInterval(() => { if (me.running) show(); }, 1000);
  me.node = h("section", { class: "column card", "aria-label": title ?? item.model }, h("header", null,
    h("div", { class: "row wrap" }, h("h3", null, bdi(title ?? item.model)), state), figures, path, only, h("div", { class: "row" }, take, h("a", { href: `#/s/${item.id}`, "aria-label": `${t("compare.open")}: ${title ?? item.model}` }, t("compare.open")))), scroller);
  me.answer = () => [...scroller.querySelectorAll(".md")].at(-1);
  me.paths = (others) => {
    const made = others.map((one) => new Set(one.calls.map(callKey)));
    replace(path, me.calls.length ? me.calls.map((call) => {
      const isShared = made.some((keys) => keys.has(callKey(call))), note = t(isShared ? "compare.shared" : "compare.alone");
      return h("li", { class: `chip ${isShared ? "" : "alone"} ${call.failed ? "bad" : ""}`, title: `${note}: ${JSON.stringify(call.arguments)}` }, bdi(call.name), h("span", { class: "hidden" }, `, ${note}`));
    }) : h("li", { class: "dim" }, t("compare.no_path")));
  };
  const apply = {
    RUN_STARTED: () => { me.running = true; me.began = Date.now(); me.took = 0; },
    RUN_FINISHED: ({ outcome }) => finish({ interrupt: "waiting", cancelled: "stopped" }[outcome?.type] ?? "done"),
    RUN_ERROR: () => finish("failed"),
    // A reply that is read and then followed brings its calls twice.
    TOOL_CALL_START: ({ toolCallId, toolCallName }) => { if (!me.calls.some((one) => one.id === toolCallId)) me.calls.push({ id: toolCallId, name: toolCallName, arguments: {} }); },
    TOOL_CALL_ARGS: ({ toolCallId, delta }) => { const call = me.calls.find((one) => one.id === toolCallId); try { if (call) call.arguments = JSON.parse(delta); } catch { /* shown as it is on its card */ } },
    "converse.result": ({ toolCallId, outcome }) => { const call = me.calls.find((one) => one.id === toolCallId); if (call) call.failed = outcome !== "success"; },
    "converse.usage": usage,
  };
  const finish = (kind) => {
    end = kind;
    me.running = false;
    me.took = me.began ? Date.now() - me.began : 0;
  };
  me.load = async () => {
    const full = await ctx.api.get(`/api/sessions/${item.id}`, undefined, { signal: ctx.signal });
    me.running = full.running;
    const asked = full.messages.find((one) => one.role === "user");
    question = (asked?.content ?? []).map((part) => part.text ?? "").join(" ");
    me.began = me.running && asked?.at ? Date.parse(asked.at) : undefined;
    for (const one of full.messages) {
      if (one.role === "assistant") {
        usage({ ...one.usage, cost: one.cost });
        for (const part of one.parts) if (part.type === "call") me.calls.push({ id: part.id, name: `${part.ensemble}.${part.tool}`, arguments: part.arguments });
      } else if (one.role === "tool") apply["converse.result"]({ toolCallId: one.id, outcome: one.outcome });
    }
    const last = full.messages.at(-1);
    if (!me.running) me.took = asked?.at && last?.at ? Math.max(0, Date.parse(last.at) - Date.parse(asked.at)) : 0;
    // Not as the list said: that is older.
    if (full.waiting) end = "waiting"; else if (!me.running && last?.role !== "assistant") end = "failed";
    thread.load(full.messages, { total: full.total });
    if (full.waiting) for (const one of (await ctx.api.get("/api/approvals", undefined, { signal: ctx.signal })).items) if (one.session === item.id) thread.ask(one);
    show();
    ctx.api.follow(`/api/sessions/${item.id}/events`, { after: `${full.total}.0.0${full.running || end === "failed" ? "" : "e"}`, signal: ctx.signal, onEvent: (event, position, before) => {
      thread.apply(event, position, before);
      const type = event.type === "CUSTOM" ? event.name : event.type;
      if (!apply[type]) return;
      apply[type](event.type === "CUSTOM" ? event.value : event);
      show();
      if (!/^converse/.test(type)) onChange();
    } });
  };
  // What is drawn anew has to be marked anew.
  const drawn = new MutationObserver(debounce(() => { if (!me.running && scroller.isConnected) onChange(); }, 120));
  drawn.observe(scroller, { childList: true, subtree: true });
  const answered = ctx.events.on("approval_resolved", (event) => thread.resolved(event.id));
  me.destroy = () => { clearInterval(clock); answered(); drawn.disconnect(); thread.destroy(); };
  return me;
}

// --- differences

const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}'’-]*(?:[.,:]\p{N}+)*/gu;
const isNumber = (word) => /^\p{N}/u.test(word);

/// Marks the words and numbers of each answer that no other answer has, and names the first of them above it.
function highlight(columns, isOn) {
  const marks = globalThis.CSS?.highlights;
  marks?.delete("only-number");
  marks?.delete("only-word");
  const answers = isOn ? columns.map((one) => one.answer()).map((node) => (node ? words(node) : [])) : [];
  const known = answers.map((list) => new Set(list.map(({ word }) => word)));
  const ranges = { number: [], word: [] };
  columns.forEach((one, at) => {
    const alone = (answers[at] ?? []).filter(({ word }) => known.some((set, other) => other !== at && set.size) && !known.some((set, other) => other !== at && set.has(word)));
    for (const { range, word } of alone) ranges[isNumber(word) ? "number" : "word"].push(range);
    const first = [...new Set(alone.sort((a, b) => isNumber(b.word) - isNumber(a.word)).map(({ word }) => word))].slice(0, 8);
    replace(one.only, first.length > 0 && [t("compare.only"), ": ", bdi(first.join(", "))]);
  });
  if (marks) for (const kind of ["number", "word"]) if (ranges[kind].length) marks.set(`only-${kind}`, new Highlight(...ranges[kind]));
}

function words(node) {
  const found = [], walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && found.length < 4000) {
    if (walker.currentNode.parentElement.closest(".code-head")) continue;
    for (const match of walker.currentNode.data.matchAll(WORD)) {
      if (match[0].length < 4 && !isNumber(match[0])) continue;
      const range = new Range();
      range.setStart(walker.currentNode, match.index);
      range.setEnd(walker.currentNode, match.index + match[0].length);
      found.push({ word: match[0].toLowerCase(), range });
    }
  }
  return found;
}
