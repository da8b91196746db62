// Plots of what turns and tools cost: each bar leads to the invocations behind it, and each plot has a table.
import { name as bdi } from "./content.js";
import { button, h, replace, s } from "./dom.js";
import { status } from "./state.js";
import { compact, duration, extend, money, number, t, when } from "./strings.js";

extend({
  en: {
    "figures.by": "By", "figures.day": "day", "figures.model": "model", "figures.tool": "tool", "figures.since": "From", "figures.until": "Until", "figures.project": "Project", "figures.tokens": "Tokens", "figures.cost": "Cost", "figures.latency": "Latency (median, and 95th percentile)", "figures.failures": "Failed invocations",
    "figures.turns": "turns", "figures.invocations": "invocations", "figures.failed": "failed", "figures.input": "tokens in", "figures.cached": "of them cached", "figures.output": "tokens out", "figures.total_cost": "cost", "figures.p50": "median", "figures.p95": "95 %",
    "figures.unknown": "unknown", "figures.nothing": "Nothing was recorded in this time.", "figures.table": "The same figures as a table", "figures.total": "Total", "figures.behind": "Invocations: {what}", "figures.behind_failed": "Failed invocations: {what}", "figures.none": "No invocation.", "figures.more": "Show more", "figures.time": "Time", "figures.h_day": "Day", "figures.h_model": "Model", "figures.h_tool": "Tool", "figures.outcome": "Outcome", "figures.took": "Took", "figures.arguments": "Arguments", "figures.clear": "Clear",
  },
  ru: {
    "figures.by": "По", "figures.day": "дням", "figures.model": "моделям", "figures.tool": "инструментам", "figures.since": "С", "figures.until": "По", "figures.project": "Проект", "figures.tokens": "Токены", "figures.cost": "Стоимость", "figures.latency": "Задержка (медиана и 95-й процентиль)", "figures.failures": "Неудачные вызовы",
    "figures.turns": "ходов", "figures.invocations": "вызовов", "figures.failed": "неудачных", "figures.input": "токенов на входе", "figures.cached": "из них из кэша", "figures.output": "токенов на выходе", "figures.total_cost": "стоимость", "figures.p50": "медиана", "figures.p95": "95 %",
    "figures.unknown": "неизвестно", "figures.nothing": "За это время ничего не записано.", "figures.table": "Те же данные таблицей", "figures.total": "Всего", "figures.behind": "Вызовы: {what}", "figures.behind_failed": "Неудачные вызовы: {what}", "figures.none": "Вызовов нет.", "figures.more": "Показать ещё", "figures.time": "Время", "figures.h_day": "День", "figures.h_model": "Модель", "figures.h_tool": "Инструмент", "figures.outcome": "Итог", "figures.took": "Длительность", "figures.arguments": "Аргументы", "figures.clear": "Сбросить",
  },
});

const DIMENSIONS = ["day", "model", "tool"];
const tokens = (row) => row.input_tokens + row.output_tokens;
const dollars = (row) => (row.cost ? Number(row.cost.dollars) : undefined);
/// What is plotted: the value of a row, an optional second one that reaches further, how they read.
const PLOTS = [
  { name: "tokens", value: tokens, text: (row) => number(tokens(row)), axis: compact },
  { name: "cost", value: dollars, text: (row) => money(row.cost) || t("figures.unknown"), axis: (value) => money({ dollars: String(value) }) },
  { name: "latency", value: (row) => (row.latency_ms?.p50 ?? 0), further: (row) => (row.latency_ms?.p95 ?? 0), text: (row) => `${duration((row.latency_ms?.p50 ?? 0))} / ${duration((row.latency_ms?.p95 ?? 0))}`, axis: duration },
  { name: "failures", value: (row) => row.failures, text: (row) => `${number(row.failures)} / ${number(row.invocations)}`, axis: number, failed: true, whole: true },
];
const COLUMNS = [
  ["turns", (row) => number(row.turns)], ["invocations", (row) => number(row.invocations)], ["failed", (row) => number(row.failures)], ["input", (row) => number(row.input_tokens)], ["cached", (row) => number(row.cached_input_tokens ?? 0)], ["output", (row) => number(row.output_tokens)],
  ["total_cost", (row) => money(row.cost) || t("figures.unknown")], ["p50", (row) => duration((row.latency_ms?.p50 ?? 0))], ["p95", (row) => duration((row.latency_ms?.p95 ?? 0))],
];

const day = (back) => new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10);
const readable = (by, key) => (by === "day" ? when(`${key}T12:00:00Z`, { day: "numeric", month: "short", timeZone: "UTC" }) : key);
const address = (query) => `#/figures?${new URLSearchParams(Object.entries(query).filter(([, value]) => value))}`;

export async function render(root, params, ctx) {
  const by = DIMENSIONS.includes(params.by) ? params.by : "day";
  const query = { by, since: params.since ?? day(29), until: params.until, project: params.project };
  const [figures, info] = await Promise.all([ctx.api.get("/api/figures", query, { signal: ctx.signal }), status().catch(() => ({}))]);
  const rows = by === "day" ? everyDay(figures.rows) : figures.rows;
  const link = (row, failed) => address({ ...query, key: row.key, failed: failed && "1" });
  const plots = h("div", { class: "plots" });
  const behind = h("section", { class: "behind", tabindex: "-1" });
  replace(root, h("h1", null, t("nav.figures")), controls(query, ctx, info.project), tiles(figures.total),
    rows.length ? [plots, h("details", { class: "numbers" }, h("summary", null, t("figures.table")), numbers(rows, figures.total, by, link))] : h("p", { class: "dim" }, t("figures.nothing")), behind);
  const draw = () => {
    const width = plots.clientWidth, columns = width >= 760 ? 2 : 1;
    plots.dataset.columns = columns;
    if (width) replace(plots, PLOTS.filter((plot) => by !== "tool" || rows.some((row) => plot.value(row) > 0)).map((plot) => figure(plot, rows, by, Math.floor((width - (columns - 1) * 16) / columns) - 26, link, params.key)));
  };
  const watch = new ResizeObserver(() => { if (plots.clientWidth !== draw.width) { draw.width = plots.clientWidth; draw(); } });
  if (rows.length) watch.observe(plots);
  if (params.key) await invocations(behind, { ...query, key: params.key, failed: params.failed }, ctx);
  if (params.key && !ctx.signal.aborted) behind.focus();
  return () => watch.disconnect();
}

/// Puts days without a turn between those with one, so that the axis is even.
function everyDay(rows) {
  if (rows.length < 2) return rows;
  const known = new Map(rows.map((row) => [row.key, row])), all = [];
  for (let at = Date.parse(rows[0].key); at <= Date.parse(rows.at(-1).key) && all.length < 400; at += 86_400_000) {
    const key = new Date(at).toISOString().slice(0, 10);
    all.push(known.get(key) ?? { key, turns: 0, invocations: 0, failures: 0, input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, cost: { dollars: "0" }, latency_ms: { p50: 0, p95: 0 }, isEmpty: true });
  }
  return all;
}

function controls(query, ctx, here) {
  const change = (more) => ctx.go(address({ ...query, ...more }));
  const projects = [...new Set([here, query.project].filter(Boolean))];
  const date = (key) => h("label", { class: "field" }, t(`figures.${key}`), h("input", { type: "date", value: query[key] ?? "", onchange: (event) => change({ [key]: event.target.value }) }));
  return h("div", { class: "row wrap controls" },
    h("div", { class: "row", role: "group", "aria-label": t("figures.by") }, h("span", { class: "dim" }, t("figures.by")), DIMENSIONS.map((one) => h("a", { class: "choice", href: address({ ...query, by: one }), "aria-current": one === query.by ? "true" : null }, t(`figures.${one}`)))),
    date("since"), date("until"), projects.length > 0 && h("label", { class: "field" }, t("figures.project"), h("select", { onchange: (event) => change({ project: event.target.value }) }, h("option", { value: "" }, t("sessions.anyProject")), projects.map((one) => h("option", { value: one, selected: one === query.project }, one.length > 60 ? `…${one.slice(-60)}` : one)))));
}

const tiles = (total) => h("dl", { class: "tiles" }, COLUMNS.map(([name, text]) => h("div", null, h("dt", null, t(`figures.${name}`)), h("dd", null, text(total)))));

function numbers(rows, total, by, link) {
  const line = (row, head) => h("tr", null, h("th", { scope: "row" }, head), COLUMNS.map(([, text]) => h("td", { class: "num" }, text(row))));
  return h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": t("figures.table") }, h("table", { class: "grid" },
    h("thead", null, h("tr", null, h("th", { scope: "col" }, t(`figures.h_${by}`)), COLUMNS.map(([name]) => h("th", { scope: "col", class: "num" }, t(`figures.${name}`))))),
    h("tbody", null, rows.filter((row) => !row.isEmpty).map((row) => line(row, h("a", { href: link(row) }, bdi(readable(by, row.key))))), line(total, t("figures.total")))));
}

// --- plots

function figure(plot, rows, by, width, link, current) {
  const most = Math.max(...rows.map((row) => Math.max(plot.value(row) ?? 0, plot.further?.(row) ?? 0)));
  const top = plot.whole ? Math.max(2, 2 * Math.ceil(nice(most) / 2)) : nice(most), title = t(`figures.${plot.name}`);
  const about = { plot, rows, by, width, link, current, top };
  return h("figure", { class: `card plot ${plot.name}` }, h("figcaption", null, title), by === "day" ? upright(about, title) : lying(about, title));
}

/// The next round number: 1, 2, 2.5 or 5 times a power of ten.
function nice(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value * 0.999);
}

/// A bar as a link; without anything behind it, only a picture.
function bar({ plot, by, link, current }, row, shapes) {
  if (row.isEmpty || (plot.failed && !row.failures)) return s("g", { "aria-hidden": "true" }, shapes);
  const text = by === "day" && `${readable(by, row.key)}: ${plot.text(row)}`;
  // Where the name and the value are written beside the bar, they are its label.
  return s("a", { href: link(row, plot.failed), class: `bar ${row.key === current ? "current" : ""}`, "aria-label": text }, text && s("title", null, text), shapes);
}

function upright(about, title) {
  const { plot, rows, width, top } = about, height = 150, left = 52, bottom = 20, room = width - left - 4, step = room / rows.length, thick = Math.max(1, Math.min(28, step * 0.72));
  const y = (value) => 6 + (height - bottom - 6) * (1 - value / top), x = (at) => left + step * (at + 0.5);
  const every = Math.ceil(rows.length / Math.max(1, Math.floor(room / 60)));
  return s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": title },
    [0, top / 2, top].map((value) => [s("line", { class: "rule", x1: left, x2: width, y1: y(value), y2: y(value) }), s("text", { class: "tick", x: left - 6, y: y(value) + 4, "text-anchor": "end", "aria-hidden": "true" }, plot.axis(value))]),
    rows.map((row, at) => {
      const value = plot.value(row), far = plot.further?.(row), box = { x: x(at) - thick / 2, width: thick };
      return [bar(about, row, [s("rect", { class: "hit", x: x(at) - step / 2, width: step, y: 6, height: height - bottom - 6 }),
        far > 0 && s("rect", { class: "further", ...box, y: y(far), height: y(0) - y(far) }),
        value === undefined ? s("text", { class: "tick", x: x(at), y: y(0) - 3, "text-anchor": "middle" }, "?") : s("rect", { class: "value", ...box, y: y(value), height: Math.max(value > 0 ? 1 : 0, y(0) - y(value)) })]),
      at % every === 0 && s("text", { class: "tick", x: x(at), y: height - 4, "text-anchor": "middle", "aria-hidden": "true" }, readable("day", row.key))];
    }));
}

function lying(about, title) {
  const { plot, rows, width, top } = about, shown = rows.slice(0, 30), line = 34, room = width - 4, x = (value) => room * (value / top);
  return s("svg", { viewBox: `0 0 ${width} ${shown.length * line}`, width, height: shown.length * line, role: "group", "aria-label": title }, shown.map((row, at) => {
    const value = plot.value(row), far = plot.further?.(row), y = at * line, key = String(row.key), fits = Math.max(8, Math.floor(width / 7.2) - plot.text(row).length - 3);
    return bar(about, row, [s("rect", { class: "hit", x: 0, y, width, height: line }),
      s("text", { class: "name", x: 0, y: y + 13 }, key.length > fits ? `${key.slice(0, fits - 1)}…` : key), s("text", { class: "tick", x: width, y: y + 13, "text-anchor": "end" }, plot.text(row)),
      s("rect", { class: "track", x: 0, y: y + 18, width: room, height: 8 }), far > 0 && s("rect", { class: "further", x: 0, y: y + 18, width: x(far), height: 8 }), s("rect", { class: "value", x: 0, y: y + 18, width: value > 0 ? Math.max(1, x(value)) : 0, height: 8 })]);
  }));
}

// --- the invocations behind a bar

async function invocations(place, query, ctx) {
  const { by, key, failed, ...range } = query;
  const filter = { ...(by === "day" ? { project: range.project } : range), [by]: key, outcome: failed && "failed" };
  const body = h("tbody"), more = h("p");
  const what = readable(by, key), title = t(failed ? "figures.behind_failed" : "figures.behind", { what });
  place.setAttribute("aria-label", title);
  const load = async (cursor) => {
    const page = await ctx.api.get("/api/invocations", { ...filter, cursor }, { signal: ctx.signal });
    body.append(...page.items.map(row));
    replace(more, page.next && button(t("figures.more"), { onclick: () => load(page.next) }), !body.hasChildNodes() && h("span", { class: "dim" }, t("figures.none")));
  };
  replace(place, h("div", { class: "row" }, h("h2", { dir: "auto" }, title), h("a", { href: address({ by, ...range }) }, t("figures.clear"))),
    h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": title }, h("table", { class: "grid" }, h("thead", null, h("tr", null, ["time", "h_tool", "h_model", "outcome", "took", "arguments"].map((one) => h("th", { scope: "col" }, t(`figures.${one}`))))), body)), more);
  await load();
}

const row = (one) => h("tr", null, h("td", null, h("a", { href: `#/s/${encodeURIComponent(one.session)}?message=${one.index}` }, when(one.at))), h("td", { class: "mono" }, bdi(`${one.ensemble}.${one.tool}`)), h("td", null, bdi(one.model)),
  h("td", null, h("span", { class: `chip ${one.outcome === "success" ? "ok" : "bad"}` }, bdi(one.outcome))), h("td", { class: "num" }, duration(one.elapsed_ms)), h("td", { class: "mono arguments" }, bdi(JSON.stringify(one.arguments ?? {}).slice(0, 160))));
