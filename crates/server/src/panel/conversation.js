// The conversation view: a thread, its heading and the composer.
import { button, h, replace, toast } from "./dom.js";
import { createComposer } from "./composer.js";
import { name, ownAddress } from "./content.js";
import { menuButton } from "./menu.js";
import { createThread } from "./thread.js";
import { setTitle } from "./title.js";
import { uuid } from "./state.js";
import { compact, money, number, t } from "./strings.js";

const PAGE = 100;

/// Starts a run and returns when the server took it.
function startRun(ctx, session, { text, attachments = [], kept = [], at, props = {} }) {
  const content = [...(text.trim() || !kept.length ? [{ type: "text", text }] : []), ...kept.filter((part) => ownAddress(part.url)).map((part) => ({ type: part.type === "file" ? "document" : part.type,
    source: { type: "url", value: part.url, mimeType: part.media_type }, ...(part.name ? { metadata: { name: part.name } } : {}) }))];
  const only = content.length === 1 && content[0].type === "text";
  return ctx.api.post("/api/runs", { threadId: session, runId: uuid(), messages: [{ id: uuid(), role: "user", content: only ? text : content }], tools: [], state: {}, context: [],
    forwardedProps: { ...props, ...(attachments.length ? { attachments: attachments.map((file) => file.id) } : {}), ...(at === undefined ? {} : { at }) } });
}

export async function render(root, params, ctx) {
  return params.id ? existing(root, params, ctx) : fresh(root, ctx);
}

function fresh(root, ctx) {
  setTitle(t("chat.new"));
  const composer = createComposer(ctx, { key: "new", fresh: true, dropTarget: root, onStop() {}, onSend: async (message) => {
    const id = uuid();
    await startRun(ctx, id, message);
    ctx.go(`#/s/${id}`, { replace: true });
  } });
  root.append(h("div", { class: "welcome" }, h("h1", null, t("chat.welcome"))), composer.node);
  composer.focus();
}

async function existing(root, params, ctx) {
  const { id } = params;
  const path = `/api/sessions/${encodeURIComponent(id)}`;
  const around = /^\d{1,9}$/.test(params.message ?? "") ? Number(params.message) : undefined;
  const item = await ctx.api.get(path, around === undefined ? { limit: PAGE } : { from: Math.max(0, around - PAGE / 2), limit: PAGE }, { signal: ctx.signal });
  const heading = h("h1", { class: "title" }), facts = h("p", { class: "dim facts" }), tags = h("span", { class: "row tags" }), banner = h("div", { class: "banner", hidden: true, role: "status" });
  const scroller = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": t("nav.chat") });
  let session = item, followed = true;
  const stream = {};

  const drawHead = () => {
    setTitle(session.name || session.words || t("nav.chat"));
    replace(heading, name(session.name || session.words || t("chat.new")));
    replace(tags, (session.tags ?? []).map((tag) => h("span", { class: "chip" }, name(tag))));
    const tokens = (session.usage?.input_tokens ?? 0) + (session.usage?.output_tokens ?? 0);
    replace(facts, [session.model && name(session.model.slice(0, 60)), t("chat.messages", { n: session.total ?? session.messages }).replace(/\d+/, (n) => number(Number(n))), tokens > 0 && t("chat.tokens", { n: compact(tokens) }), money(session.cost)]
      .filter(Boolean).flatMap((part, at) => (at ? [" · ", part] : [part])));
  };

  const run = async (message) => {
    const shown = thread.pending([...(message.text ? [{ type: "text", text: message.text }] : []), ...message.kept ?? [], ...(message.attachments ?? []).map((file) => ({ type: "file", name: file.name, media_type: file.media_type, bytes: file.bytes }))]);
    thread.setRunning(true);
    try { await thread.toLatest(); if (message.at !== undefined) stream.rewind?.(`${message.at}.0.0`); await startRun(ctx, id, message); } catch (error) { shown.remove(); thread.setRunning(false); throw error; }
  };
  const again = (asked, props) => {
    const parts = typeof asked.content === "string" ? [{ type: "text", text: asked.content }] : asked.content ?? [];
    return run({ text: parts.filter((part) => part.type === "text").map((part) => part.text).join("\n"), kept: parts.filter((part) => part.sha256), at: asked.index, props })
      .catch((error) => toast(error.message, { kind: "error", hint: error.hint }));
  };
  const thread = createThread(scroller, ctx, { session: id, model: item.model,
    actions: {
      edit: (message) => composer.edit(message),
      retry: (asked) => again(asked, composer.props()),
      retryWith: async (asked) => {
        const chosen = await (await import("./options.js")).modelDialog(ctx, composer.model() || session.model);
        if (chosen) { const { model, preset, ...rest } = composer.props(); await again(asked, { ...rest, ...chosen }); }
      },
      fork: async (at) => {
        try {
          const made = await ctx.api.post(`${path}/fork`, { at });
          toast(t("chat.forked"));
          ctx.events.emit({ type: "changed" });
          ctx.go(`#/s/${made.id}`);
        } catch (error) { toast(error.message, { kind: "error", hint: error.hint }); }
      },
    },
    onState: ({ running, session: stored }) => {
      composer?.setRunning(running);
      if (stored) { const { messages, ...rest } = stored; session = { ...session, ...rest }; drawHead(); }
    } });
  const composer = createComposer(ctx, { key: id, sessionModel: item.model, fresh: false, dropTarget: root,
    onSend: run, onStop: () => ctx.api.post(`${path}/cancel`).catch((error) => toast(error.message, { kind: "error" })) });
  composer.editLast = () => { const last = thread.lastUser(); if (last && last.index !== "") composer.edit(last); };
  const changed = (next) => { session = { ...session, ...next, total: session.total, usage: session.usage }; drawHead(); };
  root.append(h("header", { class: "view-head" }, h("div", { class: "grow" }, h("div", { class: "row" }, heading, tags), facts), menuButton(t("chat.menu"), async () => (await import("./commands.js")).sessionMenu(ctx, session, { changed, gone: () => ctx.go("#/") }))),
    item.problem ? h("p", { class: "note warn problem-line" }, t("chat.problem"), ": ", name(item.problem)) : "", banner, scroller, composer.node);
  drawHead();

  if (item.running) thread.setRunning(true);
  const total = item.total ?? item.messages.length;
  thread.load(item.messages, { total, ...(around === undefined ? {} : { scrollTo: around, first: Math.max(0, around - PAGE / 2), end: Math.min(total, Math.max(0, around - PAGE / 2) + PAGE) }) });
  if (item.waiting > 0) showApprovals();
  if (matchMedia("(pointer: fine)").matches && around === undefined) composer.focus();

  async function showApprovals() {
    try { for (const approval of (await ctx.api.get("/api/approvals", {}, { signal: ctx.signal })).items) if (approval.session === id) thread.ask(approval); } catch { /* the inbox shows them */ }
  }

  let lost = false;
  // Approvals that wait are shown already; any other end, such as an error, is no part of the messages.
  ctx.api.follow(`${path}/events`, { after: `${total}.0.0${item.waiting > 0 && !item.running ? "e" : ""}`, signal: ctx.signal, rest: true, control: stream, onEvent: thread.apply,
    onState: async (state, error) => {
      banner.hidden = state === "open";
      if (state === "lost") { lost = true; replace(banner, h("p", { class: "note warn" }, t("chat.lost"))); }
      if (state === "gone") thread.setRunning(false);
      if (state === "gone") replace(banner, h("p", { class: "note bad" }, t("chat.gone", { reason: error.message })), button(t("common.retry"), { onclick: () => ctx.go(`#/s/${id}`) }));
      if (state === "open" && lost) {
        lost = false;
        // What happened in between arrives now. A run that ended with its server has no end in the stream.
        setTimeout(async () => {
          try {
            const now = await ctx.api.get(path, { limit: 1 }, { signal: ctx.signal });
            if (!now.running && thread.running()) ctx.go(`#/s/${id}`, { replace: true });
            else if (now.waiting > 0) showApprovals();
          } catch { /* the next event tells */ }
        }, 1500);
      }
    } });
  const off = [ctx.events.on("session", (event) => {
    if (event.id !== id || !followed) return;
    if (event.deleted) { followed = false; toast(t("chat.deleted")); ctx.go("#/"); } else if (!event.running && event.messages !== undefined && event.messages < thread.total()) ctx.go(`#/s/${id}`, { replace: true });
  }), ctx.events.on("approval_resolved", (event) => setTimeout(() => thread.resolved(event.id), 500))];
  return () => { thread.destroy(); for (const end of off) end(); };
}

