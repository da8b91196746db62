// A conversation on the page: a window of stored messages, and behind it what arrives by events of a run.
import { append, announce, button, h, icon, replace } from "./dom.js";
import { createCard } from "./card.js";
import { attachment, copyButton, markdown, name, plainText, renderParts, visible } from "./content.js";
import { marked, OVERRIDES } from "./sanitise.js";
import { compact as short, duration, money, number, t, when } from "./strings.js";

const clear = (text) => marked(text, OVERRIDES);
const CHUNK = 100, MOST = 400, NEAR = 600, OVERLAP = 40, SETTLED = 200;

/// Draws the session `session` into `root`, which scrolls. `actions`: `{edit(message), retry(message), retryWith(message, button), fork(index)}`.
/// `onState({running, waiting, usage?})` learns of the run. With `compact` there are no actions and no headers.
export function createThread(root, ctx, { session, model, compact = false, actions = {}, onState = () => {} } = {}) {
  const list = h("div", { class: "messages" }), live = h("div", { class: "messages live" });
  const top = h("div", { class: "sentinel dim", role: "status" }), bottom = h("div", { class: "run-state" });
  const latest = button(t("thread.latest"), { icon: "down", class: "latest", hidden: true, onclick: () => toLatest() });
  root.classList.add("thread");
  append(root, [top, list, live, bottom, latest]);

  const cards = new Map(), forms = new Map();
  let first = 0, end = 0, total = 0, loading = false, pinned = true, running = false, destroyed = false;
  let current, reasoning, liveFrom, ended, settling = 0;
  const texts = new Map();

  // Stored messages are drawn in `list`: `first..end`. What a run adds is drawn in `live`, from `liveFrom` on.
  const goal = () => liveFrom ?? total;

  // ---- stored messages -------------------------------------------------------------------------

  function article(message) {
    if (message.role === "tool") return toolMessage(message);
    const body = h("div", { class: "body" });
    const node = h("article", { class: `msg ${message.role}`, dataset: { index: message.index }, tabindex: "-1" }, head(message), body);
    node.message = message;
    if (message.role === "user") append(body, userContent(message.content));
    else if (message.role === "system") append(body, h("details", null, h("summary", null, t("thread.system")), plainText(message.text ?? "")));
    else if (message.role === "document") append(body, h("details", null, h("summary", null, icon("file"), name(message.name ?? t("thread.document"))), renderParts(message.content)));
    else {
      for (const part of message.parts ?? []) {
        if (part.type === "text") { const block = markdown(); block.set(part.text ?? "", part.html); body.append(block.node); } else if (part.type === "reasoning") body.append(reasoningBlock(part.text ?? "").node);
        else if (part.type === "call") place(body, callCard(part));
      }
      if (message.incomplete) body.append(h("p", { class: "note warn" }, t("thread.incomplete")));
    }
    if (!compact) node.append(h("footer", { class: "actions" }));
    return node;
  }

  function head(message) {
    if (compact || message.role === "system" || message.role === "document") return null;
    const label = message.role === "user" ? t("thread.you") : message.role === "assistant" ? message.model || t("thread.assistant") : t(`thread.${message.role}`);
    return h("header", null, h("h2", null, name(label)), message.at && h("time", { class: "dim", datetime: message.at, title: when(message.at, { dateStyle: "full", timeStyle: "medium" }) }, when(message.at)));
  }

  function userContent(content) {
    const parts = (typeof content === "string" ? [{ type: "text", text: content }] : content) ?? [];
    const files = parts.filter((part) => part.type !== "text" && part.type !== "json");
    return [renderParts(parts.filter((part) => part.type === "text" || part.type === "json"), { own: true }).filter(() => parts.length > files.length), files.length > 0 && h("div", { class: "row files" }, files.map(attachment))];
  }

  function reasoningBlock(text) {
    const content = h("div", { class: "plain dim", dir: "auto" }, clear(text.slice(0, 100_000)));
    return { node: h("details", { class: "reasoning" }, h("summary", null, icon("thought"), t("thread.reasoning")), content), content };
  }

  function callCard(part) {
    const known = cards.get(part.id);
    if (known?.orphan) { known.orphan.remove(); known.orphan = undefined; known.setCall({ ...part }); return known; }
    const card = createCard({ ...part });
    if (known) card.inherit(known);
    cards.set(part.id, card);
    if (!running) card.setState("none");
    else card.setState("running");
    return card;
  }

  /// Cards that follow each other share a row.
  function place(body, card) {
    let group = body.lastElementChild;
    if (!group?.classList.contains("cards")) body.append(group = h("div", { class: "cards" }));
    group.append(card.node);
  }

  function toolMessage(message) {
    let card = cards.get(message.id);
    let node;
    if (!card) {
      card = createCard({ id: message.id });
      cards.set(message.id, card);
      node = card.orphan = h("article", { class: "msg assistant orphan", dataset: { index: message.index } }, h("div", { class: "body" }, h("div", { class: "cards" }, card.node)));
    }
    const seen = card.diff();
    card.finish({ ...message, diff: message.diff ?? seen });
    return node;
  }

  const sayText = (message) => (message.role === "user" ? (typeof message.content === "string" ? message.content : (message.content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n"))
    : (message.parts ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n\n"));

  /// The line below each message: what can be done with it, and below the last of an answer what it took.
  function footers() {
    if (compact) return;
    const nodes = [...list.querySelectorAll(":scope > .msg:not(.orphan)")];
    const goesOn = running && !live.querySelector(":scope > .user");
    let turn = [];
    nodes.forEach((node, at) => {
      const message = node.message, footer = node.querySelector(":scope > .actions");
      if (message.role === "assistant") turn.push(message); else turn = [];
      const last = message.role !== "assistant" || (nodes[at + 1] ? nodes[at + 1].message.role !== "assistant" : !goesOn);
      if (footer.dataset.last === String(last) && footer.childNodes.length) return;
      footer.dataset.last = String(last);
      if (!last) { footer.replaceChildren(); return; }
      const next = Number(nodes[at + 1]?.dataset.index ?? end);
      replace(footer, h("div", { class: "row", role: "group", "aria-label": t("thread.actions") },
        copyButton(() => sayText(message), { label: t("thread.copy"), class: "quiet" }),
        message.role === "user" && actions.edit && button(t("thread.edit"), { icon: "pencil", iconOnly: true, class: "quiet", onclick: () => actions.edit(message) }),
        message.role === "assistant" && actions.retry && [button(t("thread.retry"), { icon: "again", iconOnly: true, class: "quiet", onclick: () => retry(node, actions.retry) }),
          button(t("thread.retryWith"), { icon: "swap", iconOnly: true, class: "quiet", onclick: () => retry(node, actions.retryWith) })],
        actions.fork && button(t("thread.fork"), { icon: "fork", iconOnly: true, class: "quiet", onclick: () => actions.fork(next) })),
      message.role === "assistant" && usageLine(turn));
    });
  }

  function retry(node, then) {
    let asked = node;
    while (asked && asked.message?.role !== "user") asked = asked.previousElementSibling;
    if (asked) then(asked.message);
  }

  function usageLine(turn) {
    const sum = (key) => turn.reduce((all, message) => all + (message.usage?.[key] ?? 0), 0);
    const dollars = turn.reduce((all, message) => all + Number(message.cost?.dollars ?? 0), 0);
    const elapsed = turn.reduce((all, message) => all + (message.elapsed_ms ?? 0), 0);
    const known = turn.some((message) => message.usage);
    const said = [known && t("thread.tokens", { input: short(sum("input_tokens")), output: short(sum("output_tokens")) }), turn.some((message) => message.cost) && money({ dollars: String(dollars) }), elapsed > 0 && duration(elapsed)].filter(Boolean);
    return said.length > 0 && h("span", { class: "usage dim", title: known ? t("thread.tokensTitle", { input: number(sum("input_tokens")), cached: number(sum("cached_input_tokens")), output: number(sum("output_tokens")), reasoning: number(sum("reasoning_tokens")) }) : null }, said.join(" · "));
  }

  function nodesOf(messages) {
    // Calls first: a result may only find its card if the call was drawn.
    return messages.map(article).filter(Boolean);
  }

  /// Shows `messages`, which are those from `first` to `end`: the last ones of `total`, or those around one that is looked
  /// for. Indexes have gaps: a call is a message of its own on the server and a part of the reply here.
  function load(messages, { total: count, first: from = messages[0]?.index ?? 0, end: upTo, scrollTo } = {}) {
    cards.clear();
    total = count ?? (messages.at(-1)?.index ?? -1) + 1;
    first = from;
    end = upTo ?? total;
    replace(list, nodesOf(messages));
    live.replaceChildren();
    footers();
    showWindow();
    const target = scrollTo !== undefined && [...list.children].findLast((node) => Number(node.dataset.index) <= scrollTo);
    if (target) { pinned = false; target.classList.add("found"); target.scrollIntoView({ block: "center" }); target.focus({ preventScroll: true }); } else { pinned = true; stick(); }
  }

  function showWindow() {
    top.hidden = first === 0;
    live.hidden = end < goal();
    latest.hidden = pinned && end >= goal();
    replace(top, first > 0 && (loading ? t("thread.older") : h("span", null, t("thread.count", { n: number(first + 1) }))));
  }

  /// Keeps what is on the screen where it is while `change` alters what is above it.
  function anchored(change) {
    const edge = root.getBoundingClientRect().top;
    const kept = [...list.children].find((node) => node.getBoundingClientRect().bottom > edge);
    const before = kept?.getBoundingClientRect().top;
    change();
    if (kept?.isConnected) root.scrollTop += kept.getBoundingClientRect().top - before;
  }

  async function page(from, limit) {
    return (await ctx.api.get(`/api/sessions/${encodeURIComponent(session)}`, { from, limit }, { signal: ctx.signal })).messages;
  }

  async function loadOlder() {
    if (loading || first === 0 || destroyed) return;
    loading = true; showWindow();
    try {
      const from = Math.max(0, first - CHUNK);
      // Some more, because the calls of the last reply may reach beyond.
      const messages = (await page(from, first - from + OVERLAP)).filter((message) => message.index < first);
      if (destroyed) return;
      anchored(() => {
        list.prepend(...nodesOf(messages));
        first = from;
        const kids = [...list.children];
        if (kids.length > MOST) {
          for (const node of kids.slice(MOST)) node.remove();
          end = Number(list.lastElementChild.dataset.index) + 1;
          forget();
        }
        footers();
      });
    } catch (error) {
      if (error.name !== "AbortError") replace(top, button(t("thread.loadFailed"), { class: "quiet", onclick: () => { loading = false; loadOlder(); } }));
    } finally { loading = false; if (!destroyed) showWindow(); }
  }

  async function loadNewer() {
    if (loading || end >= goal() || destroyed) return;
    loading = true;
    try {
      const upTo = Math.min(end + CHUNK, goal());
      const messages = (await page(end, upTo - end + OVERLAP)).filter((message) => message.index < upTo);
      if (destroyed) return;
      anchored(() => {
        list.append(...nodesOf(messages));
        end = upTo;
        const kids = [...list.children];
        if (kids.length > MOST) {
          for (const node of kids.slice(0, kids.length - MOST)) node.remove();
          first = Number(list.firstElementChild.dataset.index);
          forget();
        }
        footers();
      });
    } catch { /* scrolling again tries again */ } finally { loading = false; if (!destroyed) showWindow(); }
  }

  /// Drops the cards whose message left the page.
  function forget() {
    for (const [id, card] of cards) if (!card.node.isConnected) cards.delete(id);
  }

  async function toLatest() {
    pinned = true;
    if (end < goal()) {
      const from = Math.max(0, goal() - CHUNK);
      const messages = await page(from, goal() - from);
      const kept = [...live.childNodes];
      const liveCards = new Map([...cards].filter(([, card]) => live.contains(card.node)));
      load(messages, { total, first: from, end: goal() });
      live.append(...kept);
      for (const [id, card] of liveCards) cards.set(id, card);
    }
    stick();
    showWindow();
  }

  let frame = 0;
  function stick() {
    if (!pinned || frame) return;
    frame = requestAnimationFrame(() => { frame = 0; if (pinned) root.scrollTop = root.scrollHeight; });
  }

  let lastTop = 0;
  const onScroll = () => {
    const gap = root.scrollHeight - root.scrollTop - root.clientHeight;
    if (root.scrollTop < lastTop - 2 && gap > 40) pinned = false;
    if (gap < 40 && end >= goal()) pinned = true;
    lastTop = root.scrollTop;
    if (root.scrollTop < NEAR && !pinned) loadOlder();
    if (gap < NEAR) loadNewer();
    showWindow();
  };
  root.addEventListener("scroll", onScroll, { passive: true });
  const grown = new ResizeObserver(() => { if (pinned) stick(); });
  grown.observe(list);
  grown.observe(live);
  grown.observe(root);

  // ---- events of a run -------------------------------------------------------------------------

  function setRunning(to, more = {}) {
    running = to;
    if (!to) for (const block of texts.values()) block.flush();
    footers();
    replace(bottom, to && h("p", { class: "working dim" }, icon("spinner"), t("thread.working")));
    onState({ running, ...more });
  }

  function reply(id) {
    if (!current) {
      const index = position(id);
      const node = h("article", { class: "msg assistant", dataset: { index: index ?? "" }, tabindex: "-1" }, head({ role: "assistant", model: modelName }), h("div", { class: "body" }));
      node.message = { role: "assistant", index, parts: [] };
      if (!live.lastElementChild && list.lastElementChild?.matches(".assistant")) node.classList.add("continued");
      current = { node, body: node.querySelector(".body") };
      live.append(node);
      if (liveFrom === undefined) liveFrom = index ?? total;
    }
    return current;
  }

  let modelName = model, tally;
  const position = (id) => { const at = parseInt(id, 10); return Number.isNaN(at) ? undefined : at; };

  function liveCard(callId, id) {
    let card = cards.get(callId);
    if (!card) {
      card = createCard({ id: callId });
      cards.set(callId, card);
      place(reply(id).body, card);
    }
    return card;
  }

  function textOf(messageId, id) {
    let block = texts.get(messageId);
    if (!block) {
      block = markdown();
      texts.set(messageId, block);
      reply(id).body.append(block.node);
    }
    return block;
  }

  function note(kind, text, hint) {
    const node = h("p", { class: `note ${kind}`, dir: "auto" }, visible(text), hint && h("span", { class: "dim" }, " ", hint));
    (live.hidden ? bottom : live).append(node);
    return node;
  }

  const handlers = {
    RUN_STARTED() { tally = { usage: {}, began: performance.now() }; current = undefined; reasoning = undefined; ended = undefined; live.querySelectorAll(":scope > .note").forEach((node) => node.remove()); setRunning(true); },
    TEXT_MESSAGE_START(event, id) { textOf(event.messageId, id); },
    TEXT_MESSAGE_CONTENT(event, id) { textOf(event.messageId, id).add(event.delta ?? ""); },
    TEXT_MESSAGE_END(event, id) { const said = textOf(event.messageId, id).text(); if (!compact && said) announce(said.slice(0, 1500)); },
    REASONING_START() { reasoning = undefined; },
    REASONING_MESSAGE_START(event, id) { if (!reasoning) { reasoning = reasoningBlock(""); reply(id).body.append(reasoning.node); } },
    REASONING_MESSAGE_CONTENT(event, id) {
      handlers.REASONING_MESSAGE_START(event, id);
      if (reasoning.content.textContent.length < 100_000) append(reasoning.content, clear(event.delta ?? ""));
    },
    REASONING_END() { reasoning = undefined; },
    TOOL_CALL_START(event, id) {
      const dot = event.toolCallName.indexOf(".");
      const call = { id: event.toolCallId, ensemble: dot < 0 ? "" : event.toolCallName.slice(0, dot), tool: dot < 0 ? event.toolCallName : event.toolCallName.slice(dot + 1) };
      liveCard(event.toolCallId, id).setCall(call);
    },
    TOOL_CALL_ARGS(event, id) {
      const card = liveCard(event.toolCallId, id);
      let args;
      try { args = JSON.parse(event.delta); } catch { args = event.delta; }
      card.setCall({ arguments: args });
    },
    TOOL_CALL_RESULT(event, id) {
      const card = liveCard(event.toolCallId, id);
      if (["pending", "running", "waiting", "none"].includes(card.state())) card.finish({ outcome: "success", content: [{ type: "text", text: event.content ?? "" }] });
      current = undefined;
    },
    RUN_FINISHED(event) {
      const outcome = event.outcome?.type ?? "success", wasRunning = running;
      const interrupts = event.outcome?.interrupts ?? [];
      ended = { outcome };
      setRunning(false, { waiting: interrupts.length });
      for (const interrupt of interrupts) ask({ ...interrupt.metadata, id: interrupt.id, reason: interrupt.metadata?.reason ?? interrupt.message, tool_call_id: interrupt.toolCallId });
      if (!compact && wasRunning) announce(t(outcome === "interrupt" ? "thread.waiting" : outcome === "cancelled" ? "thread.cancelled" : "thread.done"));
      settle(() => outcome === "cancelled" && note("", t("thread.cancelled")));
    },
    RUN_ERROR(event) {
      ended = { outcome: "error" };
      setRunning(false, { error: event });
      settle(() => { const node = note("bad", `${event.message ?? t("thread.failed")}`, event.code && `(${event.code})`); node.setAttribute("role", "alert"); });
    },
    "converse.user"({ index, content }) {
      if (index < total) cut(index);
      list.querySelector(".pending")?.remove();
      live.querySelectorAll(":scope > .pending").forEach((node) => node.remove());
      current = undefined;
      const node = article({ role: "user", index, content, at: new Date().toISOString() });
      live.append(node);
      if (liveFrom === undefined) liveFrom = index;
      total = Math.max(total, index + 1);
      footers();
    },
    "converse.html"({ messageId, html }, id) { textOf(messageId, id).html(html); },
    "converse.decision"({ toolCallId, ...decision }, id) { liveCard(toolCallId, id).decided(decision); },
    "converse.started"({ toolCallId, arguments: args }, id) { liveCard(toolCallId, id).started(args); },
    "converse.progress"({ toolCallId, ...progress }, id) { liveCard(toolCallId, id).progress(progress); },
    "converse.result"({ toolCallId, ...result }, id) { liveCard(toolCallId, id).finish(result); },
    "converse.usage"({ model, fallback, ...usage }) {
      modelName = model;
      if (tally) {
        for (const [key, value] of Object.entries(usage)) if (typeof value === "number") tally.usage[key] = (tally.usage[key] ?? 0) + value;
        if (usage.cost) tally.cost = { dollars: String(Number(tally.cost?.dollars ?? 0) + Number(usage.cost.dollars)) };
        tally.elapsed_ms = performance.now() - tally.began;
      }
      if (fallback) note("warn", t("thread.fallback"), model);
      onState({ running, usage: { model, ...usage } });
    },
    "converse.retry"({ reason, discard }) {
      if (discard && current) { current.node.remove(); current = undefined; texts.clear(); reasoning = undefined; }
      note("warn", t("thread.retrying", { reason }));
    },
    "converse.warning"({ text }) { note("warn", text); },
    "converse.resolved"({ interruptId, decision, by }) { resolved(interruptId, decision, by); },
  };

  /// Takes one event of the session's stream; `id` is the position after it, `before` the one before it.
  function apply(event, id, before = id) {
    if (destroyed) return;
    const at = position(id);
    if (at > total && event.name !== "converse.user") {
      if (liveFrom === undefined && end >= total) end = at;
      total = at;
    }
    const key = event.type === "CUSTOM" ? event.name : event.type;
    handlers[key]?.(event.type === "CUSTOM" ? event.value ?? {} : event, before);
    stick();
  }

  /// The conversation was set back to `index` messages.
  function cut(index) {
    for (const box of [list, live]) for (const node of [...box.children]) if (Number(node.dataset.index) >= index || (box === live && node.dataset.index === "")) node.remove();
    total = index; end = Math.min(end, index); first = Math.min(first, index);
    if (liveFrom !== undefined && liveFrom >= index) liveFrom = undefined;
    texts.clear(); current = undefined; reasoning = undefined;
    forget();
    footers();
  }

  /// Replaces what was drawn from events by the stored messages: they know the indexes, the usage and the cost.
  async function settle(then = () => {}) {
    const from = liveFrom, turn = ++settling;
    texts.clear(); current = undefined; reasoning = undefined;
    try {
      if (from !== undefined && end >= from) {
        // A reply that was on the page already may have got calls and results since: it is drawn again.
        const last = live.querySelector(":scope > .user") ? undefined : [...list.children].findLast((node) => !node.classList.contains("orphan"));
        const start = Math.min(from, last ? Number(last.dataset.index) + (last.classList.contains("assistant") ? 0 : 1) : from);
        const answer = await ctx.api.get(`/api/sessions/${encodeURIComponent(session)}`, { from: start, limit: SETTLED }, { signal: ctx.signal });
        if (destroyed || turn !== settling || running) return;
        const waiting = [...forms.values()], focused = document.activeElement;
        for (const node of [...list.children]) if (Number(node.dataset.index) >= start) node.remove();
        live.replaceChildren();
        liveFrom = undefined;
        const replies = answer.messages.filter((message) => message.role === "assistant");
        if (tally && replies.length && !replies.some((message) => message.usage)) Object.assign(replies.at(-1), tally);
        tally = undefined;
        list.append(...nodesOf(answer.messages));
        total = answer.total ?? start + answer.messages.length;
        end = Math.min(total, start + SETTLED);
        for (const { approval } of waiting) ask(approval);
        if (focused !== document.activeElement && root.contains(focused)) focused.focus({ preventScroll: true });
        footers();
        onState({ running, session: answer });
      } else if (from !== undefined) {
        // The end of the conversation is not on the page: its messages come when it is scrolled to.
        live.replaceChildren();
        liveFrom = undefined;
      }
      then();
      if (pinned && end < total) await toLatest();
    } catch (error) {
      if (error.name !== "AbortError") then();
    }
    stick();
    showWindow();
  }

  // ---- approvals -------------------------------------------------------------------------------

  /// Shows the form of an approval in the card of its call, or behind the messages.
  async function ask(approval) {
    const callId = approval.tool_call_id ?? (approval.id.startsWith(`${session}.`) ? approval.id.slice(session.length + 1) : undefined) ?? [...cards.values()].find((card) => ["none", "pending", "running"].includes(card.state()) && card.call.ensemble === approval.ensemble && card.call.tool === approval.tool && JSON.stringify(card.call.arguments) === JSON.stringify(approval.arguments))?.call.id;
    let card = cards.get(callId);
    if (!card) {
      card = createCard({ id: callId ?? approval.id, ensemble: approval.ensemble, tool: approval.tool, arguments: approval.arguments });
      cards.set(card.call.id, card);
      live.append(h("article", { class: "msg assistant", dataset: { index: "" } }, h("div", { class: "body" }, h("div", { class: "cards" }, card.node))));
    }
    const known = forms.get(approval.id);
    if (known?.card === card && card.asking()) return;
    const asked = { approval, card, form: known?.form };
    forms.set(approval.id, asked);
    card.setState("waiting");
    // A card that is drawn again keeps the form, with what was written into it.
    if (!asked.form) {
      const { decisionForm } = await import("./decision.js");
      if (destroyed || forms.get(approval.id) !== asked) return;
      asked.form = decisionForm(approval, (answer) => ctx.api.post(`/api/approvals/${encodeURIComponent(approval.id)}`, answer), { titled: true });
    }
    card.ask(asked.form);
    stick();
  }

  async function resolved(id, decision, by) {
    const known = forms.get(id);
    if (!known) return;
    forms.delete(id);
    const { decisionNote } = await import("./decision.js");
    if (!["waiting", "pending", "none"].includes(known.card.state())) return;
    if (decision || known.card.asking()) known.card.ask(decision ? decisionNote(decision, by) : undefined);
    known.card.setState("pending");
  }

  return {
    load, apply, ask, resolved, toLatest,
    /// Shows a question that is being sent.
    pending(content) {
      const node = article({ role: "user", index: "", content });
      node.classList.add("pending");
      live.append(node);
      pinned = true;
      stick();
      return node;
    },
    cut,
    setRunning,
    running: () => running,
    total: () => total,
    /// The messages on the page, for keys that move among them.
    articles: () => [...root.querySelectorAll(".msg")],
    lastUser: () => [...root.querySelectorAll(".msg.user")].at(-1)?.message,
    destroy() { destroyed = true; grown.disconnect(); root.removeEventListener("scroll", onScroll); },
  };
}
