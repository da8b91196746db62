// Choices of models, presets, ensembles and effort.
import { append, button, dialog, h, replace } from "./dom.js";
import { visible } from "./content.js";
import { ensembles, models } from "./state.js";
import { t } from "./strings.js";

/// A select of models and presets, grouped by provider. `multiple` gives a list for several.
/// `onChange(id, item)` learns of a choice; `node.item()` is the chosen item.
export function modelPicker(ctx, { value = "", multiple = false, onChange = () => {}, label = t("pick.model"), empty = !multiple } = {}) {
  const node = h("select", { class: "model", "aria-label": label, title: label, multiple });
  let items = [];
  if (empty) node.append(h("option", { value: "" }, value || t("pick.default")));
  node.item = () => items.find((item) => item.id === node.value);
  node.addEventListener("change", () => onChange(node.value, node.item()));
  models().then((list) => {
    items = list;
    const groups = new Map();
    for (const item of list) {
      const key = item.kind === "preset" ? t("pick.presets") : item.provider ?? "";
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(item);
    }
    node.replaceChildren();
    if (empty) node.append(h("option", { value: "" }, t("pick.default")));
    append(node, [...groups].map(([provider, group]) => h("optgroup", { label: provider }, group.map((item) =>
      h("option", { value: item.id, title: item.description, selected: [value].flat().includes(item.id) }, item.name ? `${item.name}` : item.id)))));
    if (!multiple && value && !items.some((item) => item.id === value)) node.append(h("option", { value, selected: true }, value));
  }, () => {});
  return node;
}

/// The part of `forwardedProps` for a choice of the picker.
export const modelProps = (id, item) => (!id ? {} : item?.kind === "preset" ? { preset: id } : { model: id });

/// Asks for options of a run; resolves to `{effort?, max_cost?, ensembles?, system?}` or undefined.
export function optionsDialog(current, { fresh }) {
  return dialog(t("pick.options"), (close) => {
    const effort = h("select", { id: "o-effort" }, ["", "low", "medium", "high"].map((value) => h("option", { value, selected: (current.effort ?? "") === value }, value || t("pick.effortDefault"))));
    const cost = h("input", { id: "o-cost", inputmode: "decimal", pattern: "\\d{1,6}([.]\\d{1,6})?", value: current.max_cost ?? "", autocomplete: "off" });
    const system = h("textarea", { id: "o-system", rows: "4", dir: "auto", value: current.system ?? "" });
    const boxes = h("div", { class: "checks" });
    const all = h("input", { type: "checkbox", checked: !current.ensembles, onchange: () => { boxes.hidden = all.checked; } });
    boxes.hidden = all.checked;
    ensembles().then((list) => replace(boxes, list.filter((item) => item.enabled !== false).map((item) =>
      h("label", { class: "check" }, h("input", { type: "checkbox", value: item.name, checked: current.ensembles?.includes(item.name) ?? false }), h("bdi", null, visible(item.title ?? item.name)), h("span", { class: "dim" }, ` ${item.tools?.length ?? 0}`)))), () => {});
    const form = h("form", { class: "col", method: "dialog" },
      h("label", { class: "field", for: "o-effort" }, t("pick.effort"), effort),
      h("label", { class: "field", for: "o-cost" }, t("pick.maxCost"), cost),
      h("fieldset", null, h("legend", null, t("pick.ensembles")), h("label", { class: "check" }, all, t("pick.allEnsembles")), boxes),
      fresh && h("label", { class: "field", for: "o-system" }, t("pick.system"), system),
      h("div", { class: "row end" }, button(t("common.cancel"), { onclick: () => close() }), h("button", { class: "primary", type: "submit" }, t("pick.apply"))));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const chosen = [...boxes.querySelectorAll("input:checked")].map((box) => box.value);
      close(Object.fromEntries(Object.entries({ effort: effort.value, max_cost: cost.value.trim(), system: fresh ? system.value.trim() : undefined, ensembles: all.checked ? undefined : chosen }).filter(([, value]) => value !== "" && value !== undefined)));
    });
    return form;
  });
}

/// Asks for a model; resolves to `{model}` or `{preset}`, or undefined.
export function modelDialog(ctx, value) {
  return dialog(t("pick.retryTitle"), (close) => {
    const picker = modelPicker(ctx, { value, empty: false });
    return h("form", { class: "col", onsubmit: (event) => { event.preventDefault(); close(modelProps(picker.value, picker.item())); } }, picker,
      h("div", { class: "row end" }, button(t("common.cancel"), { onclick: () => close() }), h("button", { class: "primary", type: "submit" }, t("common.retry"))));
  });
}
