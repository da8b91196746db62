// Dialogs about the next run: effort, ensembles, limits; another model.
import { button, dialog, h, replace } from "./dom.js";
import { visible } from "./content.js";
import { modelPicker, modelProps } from "./pickers.js";
import { ensembles } from "./state.js";
import { extend, t } from "./strings.js";

extend({
  en: {
    "pick.options": "Options of the next run", "pick.effort": "Reasoning effort", "pick.effortDefault": "as configured", "pick.ensembles": "Ensembles (tool groups)", "pick.allEnsembles": "All that are enabled", "pick.onlyEnsembles": "Only these", "pick.maxCost": "Cost limit in dollars", "pick.system": "Instructions (system text)", "pick.apply": "Apply", "pick.retryTitle": "Retry with another model",
  },
  ru: {
    "pick.options": "Параметры следующего запуска", "pick.effort": "Глубина рассуждения", "pick.effortDefault": "как настроено", "pick.ensembles": "Ансамбли (группы инструментов)", "pick.allEnsembles": "Все включённые", "pick.onlyEnsembles": "Только эти", "pick.maxCost": "Предел расходов в долларах", "pick.system": "Указания (системный текст)", "pick.apply": "Применить", "pick.retryTitle": "Повторить с другой моделью",
  },
});

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
