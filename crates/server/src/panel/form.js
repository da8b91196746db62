// A form from a JSON Schema. What no field can show is edited as JSON, and the whole form can be switched to JSON.
import { name as bdi, visible } from "./content.js";
import { button, h, replace } from "./dom.js";
import { extend, t } from "./strings.js";

extend({
  en: {
    "form.required": "required", "form.none": "This tool takes no arguments.", "form.add": "Add {name}", "form.remove": "Remove {name}", "form.entry": "entry {n}", "form.set": "Set {name}",
    "form.as_json": "Edit as JSON", "form.as_form": "Edit as a form", "form.json": "Arguments as JSON", "form.variant": "Kind of {name}", "form.variant_n": "Kind {n}", "form.empty": "not set", "form.yes": "yes", "form.no": "no",
    "form.e_required": "A value is required.", "form.e_json": "Not valid JSON: {why}", "form.e_object": "Expected a JSON object.", "form.e_integer": "Expected a whole number.", "form.e_number": "Expected a number.", "form.e_value": "Expected a value {what}.",
    "form.e_length": "Expected a length {what}.", "form.e_items": "Expected a number of entries {what}.", "form.e_unique": "Expected different entries.", "form.e_like": "Expected text like {what}",
  },
  ru: {
    "form.required": "обязательно", "form.none": "У инструмента нет аргументов.", "form.add": "Добавить: {name}", "form.remove": "Удалить: {name}", "form.entry": "элемент {n}", "form.set": "Указать {name}",
    "form.as_json": "Править как JSON", "form.as_form": "Править в форме", "form.json": "Аргументы в JSON", "form.variant": "Вид {name}", "form.variant_n": "Вид {n}", "form.empty": "не указано", "form.yes": "да", "form.no": "нет",
    "form.e_required": "Нужно значение.", "form.e_json": "Неверный JSON: {why}", "form.e_object": "Ожидается объект JSON.", "form.e_integer": "Ожидается целое число.", "form.e_number": "Ожидается число.", "form.e_value": "Ожидается значение {what}.",
    "form.e_length": "Ожидается длина {what}.", "form.e_items": "Ожидается число элементов {what}.", "form.e_unique": "Элементы должны различаться.", "form.e_like": "Ожидается текст вида {what}",
  },
});

const DEPTH = 6;
let ids = 0;

/// Builds a form for the arguments of a tool. Returns `{node, read()}`: `read` returns the arguments,
/// or `undefined` after it has marked what is wrong and moved the focus there.
export function schemaForm(schema, initial) {
  const place = h("div", { class: "schema-form" });
  const root = schema && typeof schema === "object" ? schema : {};
  const top = resolve(root, root);
  const shown = isObject(top) && (Object.keys(top.properties ?? {}).length > 0 || top.additionalProperties === false || !open(top));
  let current, raw = !shown;
  const build = (value) => {
    current = raw ? json(t("form.json"), value ?? {}, { mustBe: "object" }) : objectFields(top, { root, depth: 0 }, value ?? {});
    const empty = !raw && !Object.keys(top.properties ?? {}).length;
    replace(place, empty ? h("p", { class: "dim" }, t("form.none")) : current.node, shown && !empty && button(t(raw ? "form.as_form" : "form.as_json"), { class: "link", onclick: () => {
      const problems = [];
      const read = current.read(raw ? problems : []);
      if (problems.length) { problems[0].focus(); return; }
      raw = !raw;
      build(read);
      place.querySelector("input, select, textarea")?.focus();
    } }));
  };
  build(initial);
  return { node: place, read() {
    const problems = [];
    const value = current.read(problems);
    if (!problems.length) return value ?? {};
    problems[0].focus();
    return undefined;
  } };
}

const isObject = (schema) => schema.type === "object" || (schema.type === undefined && schema.properties);
const open = (schema) => schema.additionalProperties !== undefined || schema.patternProperties !== undefined;

/// Follows references inside the schema and merges `allOf`.
function resolve(schema, root, left = 20) {
  if (schema === true || schema === undefined || !left) return {};
  if (typeof schema !== "object" || schema === null) return { not: {} };
  let found = schema;
  if (typeof schema.$ref === "string") {
    const target = schema.$ref.replace(/^#\/?/, "").split("/").filter(Boolean)
      .reduce((at, part) => at?.[decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")], root);
    const { $ref, ...beside } = schema;
    found = { ...resolve(schema.$ref.startsWith("#") ? target : {}, root, left - 1), ...beside };
  }
  for (const part of found.allOf ?? []) {
    const one = resolve(part, root, left - 1);
    found = { ...one, ...found, properties: { ...one.properties, ...found.properties }, required: [...(one.required ?? []), ...(found.required ?? [])] };
  }
  return found;
}

/// Takes "or null" out of a schema: `[schema, nullable]`.
function withoutNull(schema, root) {
  if (Array.isArray(schema.type) && schema.type.includes("null")) {
    const types = schema.type.filter((type) => type !== "null");
    return [{ ...schema, type: types.length === 1 ? types[0] : types }, true];
  }
  for (const key of ["anyOf", "oneOf"]) {
    const variants = schema[key]?.map((one) => resolve(one, root));
    if (!variants?.some((one) => one.type === "null")) continue;
    const rest = variants.filter((one) => one.type !== "null"), { [key]: _, ...beside } = schema;
    return [rest.length === 1 ? { ...rest[0], ...beside } : { ...beside, [key]: rest }, true];
  }
  return [schema, false];
}

/// A field for a schema: `{node, read(problems), focus()}`. `read` returns `undefined` for what is left out.
function field(name, given, context, value) {
  const resolved = resolve(given, context.root);
  const [schema, nullable] = withoutNull(resolved, context.root);
  const about = { ...context, name, required: context.required && !nullable, nullable, hint: schema.description ?? "", title: schema.title };
  const start = value !== undefined ? value : schema.default;
  if (schema.const !== undefined) return constant(schema.const, about);
  if (Array.isArray(schema.enum)) return choice(schema.enum.filter((one) => one !== null || !nullable), about, start);
  const variants = schema.oneOf ?? schema.anyOf;
  if (variants?.length && context.depth < DEPTH) return variant(variants, schema, about, start);
  if (context.depth < DEPTH && isObject(schema) && Object.keys(schema.properties ?? {}).length) return group(schema, about, start);
  if (context.depth < DEPTH && schema.type === "array" && schema.items && !Array.isArray(schema.items)) return list(schema, about, start);
  if (schema.type === "boolean") return flag(about, start);
  if (schema.type === "integer" || schema.type === "number") return numeric(schema, about, start);
  if (schema.type === "string") return text(schema, about, start);
  return json(name, start, about);
}

// --- frames

/// The frame of one control: label, description, place for the error. `check()` returns `[value, error]`.
function labelled(about, control, check) {
  const id = `f${(ids += 1)}`, error = h("p", { class: "field-error", id: `${id}-e`, hidden: true });
  control.id = id;
  if (about.required) control.setAttribute("aria-required", "true");
  control.setAttribute("aria-describedby", `${id}-h ${id}-e`);
  const show = (message) => {
    error.hidden = !message;
    error.textContent = message ?? "";
    if (message) control.setAttribute("aria-invalid", "true"); else control.removeAttribute("aria-invalid");
  };
  control.addEventListener("input", () => { if (!error.hidden) show(check()[1]); });
  return {
    node: h("div", { class: "form-field" }, h("label", { for: id }, labelOf(about)), control, h("p", { class: "dim hint", id: `${id}-h`, dir: "auto" }, visible(about.hint)), error),
    focus: () => control.focus(),
    read(problems) {
      const [value, message] = check();
      show(message);
      if (message) problems.push(this);
      return value;
    },
  };
}

const labelOf = (about) => [bdi(about.name, "mono"), about.title && bdi(about.title, "dim"), about.required && !about.isEntry && h("span", { class: "dim small" }, t("form.required"))];
const legend = (about) => h("legend", null, labelOf(about));
const missing = (about) => (about.required ? [undefined, t("form.e_required")] : [about.nullable && about.mustBe ? null : undefined]);

function constant(value, about) {
  return { node: h("div", { class: "form-field" }, h("div", null, labelOf(about), " ", h("code", { dir: "auto" }, JSON.stringify(value)))), focus() {}, read: () => value };
}

// --- single values

function choice(values, about, start) {
  const same = values.findIndex((one) => JSON.stringify(one) === JSON.stringify(start));
  const control = h("select", null, (!about.required || same < 0) && h("option", { value: "" }, t("form.empty")),
    values.map((one, at) => h("option", { value: String(at) }, typeof one === "string" ? one : JSON.stringify(one))));
  control.value = same < 0 ? "" : String(same);
  return labelled(about, control, () => (control.value === "" ? missing(about) : [values[Number(control.value)]]));
}

function flag(about, start) {
  if (start === undefined && !about.required) return choice3(about);
  const control = h("input", { type: "checkbox", checked: start === true });
  return labelled({ ...about, required: false }, control, () => [control.checked]);
}

function choice3(about) {
  const control = h("select", null, h("option", { value: "" }, t("form.empty")), h("option", { value: "1" }, t("form.yes")), h("option", { value: "0" }, t("form.no")));
  return labelled(about, control, () => [control.value === "" ? undefined : control.value === "1"]);
}

function numeric(schema, about, start) {
  const control = h("input", { type: "text", inputmode: schema.type === "integer" ? "numeric" : "decimal", autocomplete: "off", value: start === undefined || start === null ? "" : String(start) });
  return labelled(about, control, () => {
    const typed = control.value.trim();
    if (!typed) return missing(about);
    const value = Number(typed);
    if (!Number.isFinite(value)) return [undefined, t("form.e_number")];
    if (schema.type === "integer" && !Number.isSafeInteger(value)) return [undefined, t("form.e_integer")];
    const what = (value < schema.minimum && `≥ ${schema.minimum}`) || (value > schema.maximum && `≤ ${schema.maximum}`) || (value <= schema.exclusiveMinimum && `> ${schema.exclusiveMinimum}`) || (value >= schema.exclusiveMaximum && `< ${schema.exclusiveMaximum}`)
      || (schema.multipleOf > 0 && Math.abs(value / schema.multipleOf - Math.round(value / schema.multipleOf)) > 1e-9 && `n × ${schema.multipleOf}`);
    return [value, what ? t("form.e_value", { what }) : undefined];
  });
}

const TYPES = { date: "date", "date-time": "datetime-local", time: "time", password: "password", email: "email", uri: "url" };

function text(schema, about, start) {
  const type = TYPES[schema.format] ?? "text";
  const isLong = schema.maxLength > 200 || schema.format === "multiline" || String(start ?? "").includes("\n");
  const example = schema.examples?.[0];
  const control = isLong && type === "text" ? h("textarea", { rows: "4", dir: "auto" })
    : h("input", { type, autocomplete: "off", dir: "auto", step: type === "datetime-local" ? "1" : null, placeholder: typeof example === "string" ? example : null });
  control.value = type === "datetime-local" ? local(start) : start ?? "";
  return labelled(about, control, () => {
    const typed = control.value;
    if (control.validity?.badInput) return [undefined, t("form.e_required")];
    if (typed === "") return missing(about);
    if (type === "datetime-local") return [new Date(typed).toISOString()];
    const length = [...typed].length, long = (length < schema.minLength && `≥ ${schema.minLength}`) || (length > schema.maxLength && `≤ ${schema.maxLength}`);
    if (long) return [typed, t("form.e_length", { what: long })];
    const like = (schema.pattern && !matches(schema.pattern, typed) && schema.pattern) || (schema.format === "email" && !/^[^\s@]+@[^\s@]+$/.test(typed) && "name@example.org") || (schema.format === "uri" && !isUri(typed) && "https://example.org/");
    return [typed, like ? t("form.e_like", { what: like }) : undefined];
  });
}

const isUri = (typed) => { try { return !!new URL(typed); } catch { return false; } };

function local(start) {
  const date = new Date(start ?? "");
  return Number.isNaN(date.getTime()) ? "" : new Date(date.getTime() - date.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
}

// A pattern that could take long, or that this engine does not know, is left to the server.
function matches(pattern, typed) {
  if (typed.length > 1000 || /[+*}]\)?[+*{]/.test(pattern)) return true;
  try { return new RegExp(pattern, "u").test(typed); } catch { return true; }
}

function json(name, start, about) {
  const control = h("textarea", { rows: "6", class: "mono", spellcheck: "false", dir: "auto" });
  control.value = start === undefined ? "" : JSON.stringify(start, null, 2);
  return labelled({ hint: "", ...about, name }, control, () => {
    if (!control.value.trim()) return about.mustBe === "object" ? [{}] : missing(about);
    let value;
    try { value = JSON.parse(control.value); } catch (error) { return [undefined, t("form.e_json", { why: error.message })]; }
    if (about.mustBe === "object" && (value === null || typeof value !== "object" || Array.isArray(value))) return [undefined, t("form.e_object")];
    return [value];
  });
}

// --- objects, lists, alternatives

function objectFields(schema, context, start) {
  const given = start && typeof start === "object" && !Array.isArray(start) ? start : {};
  const fields = Object.entries(schema.properties ?? {}).map(([name, one]) => [name, field(name, one, { root: context.root, depth: context.depth + 1, required: schema.required?.includes(name) ?? false }, Object.hasOwn(given, name) ? given[name] : undefined)]);
  // Values that have no field stay as they were.
  const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !Object.hasOwn(schema.properties ?? {}, name)));
  return {
    node: h("div", { class: "form-fields" }, fields.map(([, one]) => one.node)), focus: () => fields[0]?.[1].focus(),
    read: (problems) => Object.fromEntries([...Object.entries(rest), ...fields.map(([name, one]) => [name, one.read(problems)])].filter(([, value]) => value !== undefined)),
  };
}

function group(schema, about, start) {
  const inside = objectFields(schema, about, start);
  if (about.required) return { ...inside, node: h("fieldset", null, legend(about), about.hint && h("p", { class: "dim hint", dir: "auto" }, visible(about.hint)), inside.node) };
  const body = h("div", null, about.hint && h("p", { class: "dim hint", dir: "auto" }, visible(about.hint)), inside.node);
  const set = h("input", { type: "checkbox", checked: start !== undefined && start !== null });
  const show = () => { body.hidden = !set.checked; };
  set.addEventListener("change", show);
  show();
  return {
    node: h("fieldset", null, legend(about), h("label", { class: "check" }, set, t("form.set", { name: about.name })), body),
    focus: () => (set.checked ? inside.focus() : set.focus()), read: (problems) => (set.checked ? inside.read(problems) : undefined),
  };
}

/// A frame with a place for an error about the whole: too few entries, equal entries.
function framed(about, content) {
  const error = h("p", { class: "field-error", hidden: true });
  const node = h("fieldset", { tabindex: "-1" }, legend(about), about.hint && h("p", { class: "dim hint", dir: "auto" }, visible(about.hint)), content, error);
  const one = { node, focus: () => node.focus() };
  one.judge = (problems, message) => {
    error.hidden = !message;
    error.textContent = message || "";
    if (message) problems.push(one);
  };
  return one;
}

function counted(schema, values) {
  const what = (values.length < schema.minItems && `≥ ${schema.minItems}`) || (values.length > schema.maxItems && `≤ ${schema.maxItems}`);
  if (what) return t("form.e_items", { what });
  return schema.uniqueItems && new Set(values.map((value) => JSON.stringify(value))).size < values.length ? t("form.e_unique") : "";
}

function list(schema, about, start) {
  const items = resolve(schema.items, about.root), given = Array.isArray(start) ? start : [];
  if (schema.uniqueItems && Array.isArray(items.enum) && items.enum.length <= 40) return several(items.enum, schema, about, given);
  const rows = h("div", { class: "form-rows" });
  let entries = [];
  const frame = framed(about, [rows, button(t("form.add", { name: about.name }), { class: "link", onclick: () => { add(); entries.at(-1).one.focus(); } })]);
  function add(value) {
    const one = field(t("form.entry", { n: entries.length + 1 }), schema.items, { root: about.root, depth: about.depth + 1, required: true, isEntry: true }, value);
    const entry = { one };
    entry.node = h("div", { class: "form-row" }, one.node, button(t("form.remove", { name: `${about.name}, ${t("form.entry", { n: entries.length + 1 })}` }), { icon: "close", iconOnly: true, onclick: () => {
      entries = entries.filter((other) => other !== entry);
      entry.node.remove();
      frame.focus();
    } }));
    entries.push(entry);
    rows.append(entry.node);
  }
  given.forEach((value) => add(value));
  if (about.required) while (entries.length < Math.min(schema.minItems ?? 0, 20)) add();
  return { ...frame, read(problems) {
    const values = entries.map(({ one }) => one.read(problems));
    const isLeftOut = !values.length && !about.required;
    frame.judge(problems, isLeftOut ? "" : counted(schema, values));
    return isLeftOut ? undefined : values;
  } };
}

function several(values, schema, about, given) {
  const boxes = values.map((value) => [value, h("input", { type: "checkbox", checked: given.some((one) => JSON.stringify(one) === JSON.stringify(value)) })]);
  const frame = framed(about, h("div", { class: "checks" }, boxes.map(([value, box]) => h("label", { class: "check" }, box, h("bdi", null, typeof value === "string" ? value : JSON.stringify(value))))));
  return { ...frame, read(problems) {
    const chosen = boxes.filter(([, box]) => box.checked).map(([value]) => value);
    const isLeftOut = !chosen.length && !about.required;
    frame.judge(problems, isLeftOut ? "" : counted(schema, chosen));
    return isLeftOut ? undefined : chosen;
  } };
}

function variant(variants, schema, about, start) {
  const all = variants.map((one) => resolve(one, about.root));
  const names = all.map((one, at) => one.title ?? Object.values(one.properties ?? {}).find((value) => value?.const !== undefined)?.const ?? (typeof one.type === "string" ? one.type : t("form.variant_n", { n: at + 1 })));
  const { oneOf, anyOf, title, description, ...beside } = schema;
  const place = h("div");
  const select = h("select", { "aria-label": t("form.variant", { name: about.name }) }, !about.required && h("option", { value: "" }, t("form.empty")), all.map((_, at) => h("option", { value: String(at) }, String(names[at]))));
  let current;
  const show = (value) => {
    const chosen = select.value === "" ? undefined : { ...beside, ...all[Number(select.value)], title: undefined };
    current = chosen && (isObject(chosen) && chosen.properties ? objectFields(chosen, about, value) : field(about.name, chosen, { root: about.root, depth: about.depth + 1, required: true }, value));
    replace(place, current?.node);
  };
  select.addEventListener("change", () => show());
  const first = start === undefined ? -1 : all.findIndex((one) => fits(one, start));
  select.value = first >= 0 ? String(first) : about.required ? "0" : "";
  show(first >= 0 ? start : undefined);
  const node = h("fieldset", null, legend(about), about.hint && h("p", { class: "dim hint", dir: "auto" }, visible(about.hint)), select, place);
  return { node, focus: () => select.focus(), read: (problems) => current?.read(problems) };
}

/// Whether a value has the outline of a schema: its type, its constants and its required names.
function fits(schema, value) {
  const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value === "number" ? "number" : typeof value;
  const types = [schema.type ?? (schema.properties ? "object" : type)].flat();
  if (!types.includes(type) && !(type === "number" && types.includes("integer"))) return false;
  if (type !== "object") return schema.const === undefined || schema.const === value;
  return (schema.required ?? []).every((name) => name in value) && Object.entries(schema.properties ?? {}).every(([name, one]) => one?.const === undefined || value[name] === one.const);
}
