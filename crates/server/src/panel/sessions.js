// The list of sessions: search, filters, and what can be done with each.
import { arrange, button, debounce, h, icon, replace, roving, toast } from "./dom.js";
import { name, visible } from "./content.js";
import { menuButton } from "./menu.js";
import { status } from "./state.js";
import { language, t, when } from "./strings.js";

export const titleOf = (item) => item.name || item.words || t("sessions.untitled");

function group(time) {
  const day = new Date(time), now = new Date();
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  if (day.getTime() >= midnight) return t("sessions.today");
  if (day.getTime() >= midnight - 86_400_000) return t("sessions.yesterday");
  if (day.getTime() >= midnight - 6 * 86_400_000) return t("sessions.week");
  return new Intl.DateTimeFormat(language(), { month: "long", year: "numeric" }).format(day);
}

/// Draws the list into `root`. Returns `{current(id), focusSearch()}`.
export function createSessions(root, ctx, { onPick = () => {} } = {}) {
  const search = h("input", { type: "search", "aria-label": t("sessions.search"), placeholder: t("sessions.search"), autocomplete: "off" });
  const project = h("select", { id: "f-project" }, h("option", { value: "" }, t("sessions.anyProject")));
  const tag = h("input", { id: "f-tag", list: "f-tags", autocomplete: "off" }), tags = h("datalist", { id: "f-tags" });
  const since = h("input", { id: "f-since", type: "date" }), until = h("input", { id: "f-until", type: "date" });
  const list = h("div", { class: "session-list" }), count = h("p", { class: "hidden", role: "status" });
  const file = h("input", { type: "file", accept: ".json,.jsonl,application/json", hidden: true, tabindex: "-1", "aria-hidden": "true", onchange: () => { if (file.files[0]) bring(file.files[0]); file.value = ""; } });
  const ofProject = h("label", { class: "field wide", for: "f-project", hidden: true }, t("sessions.project"), project);
  const filters = h("details", { class: "filters" }, h("summary", null, icon("sliders"), t("sessions.filters")), h("div", { class: "filter-grid" },
    ofProject, h("label", { class: "field wide", for: "f-tag" }, t("sessions.tag"), tag), tags,
    h("label", { class: "field", for: "f-since" }, t("sessions.since"), since), h("label", { class: "field", for: "f-until" }, t("sessions.until"), until),
    button(t("sessions.clear"), { class: "quiet wide", onclick: () => { project.value = ""; tag.value = ""; since.value = ""; until.value = ""; refresh(); } })));
  const places = new Set(), known = new Set(), rows = new Map();
  let items = [], next, current, asked = 0, open = true;

  root.append(h("div", { class: "side-top" }, h("a", { class: "button primary", href: "#/", onclick: () => onPick() }, icon("plus"), t("sessions.new")), button(t("sessions.import"), { icon: "upload", iconOnly: true, class: "quiet", onclick: () => file.click() }), file),
    h("div", { class: "side-search" }, search, filters), count, h("nav", { "aria-label": t("sessions.title") }, list));
  const rove = roving(list, "a.session");
  for (const input of [search, tag]) input.addEventListener("input", debounce(() => refresh(), 200));
  for (const input of [project, since, until]) input.addEventListener("change", () => refresh());
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { event.preventDefault(); list.querySelector("a.session")?.focus(); }
    if (event.key === "Escape" && search.value) { event.preventDefault(); search.value = ""; refresh(); }
  });
  status().then((info) => { if (info.project) learn(info.project); }, () => {});

  function learn(place) {
    if (!place || places.has(place)) return;
    places.add(place);
    ofProject.hidden = false;
    project.append(h("option", { value: place }, place.length > 60 ? `…${place.slice(-60)}` : place));
  }

  /// The beginning of a local day, or of a later one, as a time of the contract.
  const moment = (day, later = 0) => {
    const date = new Date(`${day}T00:00`);
    if (Number.isNaN(date.getTime())) return "";
    date.setDate(date.getDate() + later);
    return date.toISOString();
  };
  const query = () => ({ text: search.value.trim(), project: project.value, tag: tag.value.trim(), since: moment(since.value), until: moment(until.value, 1) });
  const filtered = () => Object.values(query()).some(Boolean);

  async function fetchPage(cursor, keep = false) {
    const turn = ++asked;
    try {
      const answer = await ctx.api.get("/api/sessions", { ...query(), cursor, limit: 50 });
      if (turn !== asked || !open) return;
      if (keep && items.length > answer.items.length && answer.next) {
        // The newest page again: older ones that were loaded stay.
        const ids = new Set(answer.items.map((item) => item.id)), oldest = Date.parse(answer.items.at(-1).updated);
        items = [...answer.items, ...items.filter((item) => !ids.has(item.id) && Date.parse(item.updated) <= oldest)];
      } else {
        items = cursor ? [...items, ...answer.items] : answer.items;
        next = answer.next;
      }
      draw();
    } catch (error) {
      if (turn !== asked || !open) return;
      replace(list, h("p", { class: "note bad" }, error.message, " ", button(t("common.retry"), { onclick: () => refresh() })));
    }
  }

  function draw() {
    const focused = document.activeElement;
    for (const item of items) {
      learn(item.project);
      for (const label of item.tags ?? []) if (!known.has(label) && known.size < 200) { known.add(label); tags.append(h("option", { value: label })); }
    }
    const ids = new Set(items.map((item) => item.id));
    for (const id of rows.keys()) if (!ids.has(id)) rows.delete(id);
    let last;
    const nodes = items.flatMap((item) => {
      const heading = filtered() ? undefined : group(item.updated);
      const out = heading && heading !== last ? [h("h2", { class: "dim" }, heading)] : [];
      last = heading;
      if (!rows.has(item.id)) rows.set(item.id, createRow());
      return [...out, rows.get(item.id)(item)];
    });
    if (!nodes.length) nodes.push(h("p", { class: "dim empty" }, t(filtered() ? "sessions.none" : "sessions.empty")));
    if (next) nodes.push(button(t("sessions.more"), { class: "quiet more", onclick: () => fetchPage(next) }));
    arrange(list, nodes);
    if (filtered()) count.textContent = next ? t("sessions.foundMore", { n: items.length }) : t("sessions.found", { n: items.length });
    rove();
    // One that has moved has lost it.
    if (list.contains(focused) && focused !== document.activeElement) focused.focus();
  }

  /// A row stays as long as its session is listed: a list that is read again takes no open menu away, and no click.
  function createRow() {
    const link = h("a", { class: "session", onclick: () => onPick() }), node = h("div", { class: "session-row" }, link);
    let item, label;
    const commands = async () => (await import("./commands.js")).sessionMenu(ctx, item, { changed: refresh, gone: () => { refresh(); if (item.id === current) ctx.go("#/"); } });
    return (to) => {
      item = to;
      drawLink(link, item);
      if (label !== titleOf(item)) {
        label = titleOf(item);
        node.querySelector(":scope > .menu-box")?.remove();
        link.after(menuButton(t("sessions.actions", { name: label.slice(0, 60) }), commands));
      }
      for (const hit of node.querySelectorAll(":scope > .hit")) hit.remove();
      node.append(...(item.hits ?? []).slice(0, 3).map((hit) => h("a", { class: "hit", href: `#/s/${encodeURIComponent(item.id)}?message=${hit.message}`, onclick: () => onPick() }, marked(hit.excerpt))));
      return node;
    };
  }

  function drawLink(link, item) {
    const state = item.waiting > 0 ? h("span", { class: "badge", title: t("sessions.waiting") }, String(item.waiting), h("span", { class: "hidden" }, ` ${t("sessions.waiting")}`))
      : item.running ? h("span", { class: "dot", title: t("sessions.running") }, h("span", { class: "hidden" }, t("sessions.running"))) : null;
    const today = Date.now() - new Date(item.updated).getTime() < 86_400_000;
    link.href = `#/s/${encodeURIComponent(item.id)}`;
    link.dataset.id = item.id;
    mark(link);
    replace(link, h("span", { class: "session-name" }, name(titleOf(item).slice(0, 160))),
      h("span", { class: "session-facts dim" }, h("time", { datetime: item.updated }, when(item.updated, today ? { timeStyle: "short" } : { day: "numeric", month: "short" })), (item.tags ?? []).slice(0, 3).map((label) => h("span", { class: "chip" }, name(label.slice(0, 24)))), item.problem && icon("warn")), state);
  }

  const mark = (link) => { if (link.dataset.id === current) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current"); };

  function marked(excerpt) {
    const text = String(excerpt ?? ""), wanted = search.value.trim().toLowerCase(), at = wanted ? text.toLowerCase().indexOf(wanted) : -1;
    return h("bdi", null, at < 0 ? visible(text) : [visible(text.slice(0, at)), h("mark", null, visible(text.slice(at, at + wanted.length))), visible(text.slice(at + wanted.length))]);
  }

  async function bring(source) {
    try {
      const made = await ctx.api.upload("/api/sessions/import", source, /\.jsonl$/i.test(source.name) ? "application/jsonl" : "application/json");
      toast(t("sessions.imported"));
      ctx.go(`#/s/${made.id}`);
      refresh();
    } catch (error) { toast(error.message, { kind: "error", hint: error.hint }); }
  }

  const refresh = () => fetchPage();
  const soon = debounce(() => fetchPage(undefined, true), 300);
  const offs = [ctx.events.on("session", soon), ctx.events.on("approval", soon), ctx.events.on("approval_resolved", soon), ctx.events.on("connected", soon), ctx.events.on("changed", soon)];
  refresh();
  return {
    current(id) {
      current = id;
      list.querySelectorAll("a.session").forEach(mark);
    },
    focusSearch: () => search.focus(),
    destroy() { open = false; for (const off of offs) off(); },
  };
}
