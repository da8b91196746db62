// The choice of a model or preset.
import { append, h } from "./dom.js";
import { models } from "./state.js";
import { t } from "./strings.js";

/// A select of models and presets, grouped by provider. `multiple` gives a list for several.
/// `unchosen` is the model in use while none is chosen. `onChange(id, item)` learns of a choice; `node.item()` is the chosen item.
export function modelPicker(ctx, { value = "", multiple = false, onChange = () => {}, label = t("pick.model"), empty = !multiple, unchosen } = {}) {
  const node = h("select", { class: "model", "aria-label": label, title: label, multiple });
  let items = [];
  if (empty) node.append(h("option", { value: "" }, value || unchosen || t("pick.default")));
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
    if (empty) node.append(h("option", { value: "" }, (list.find((item) => item.id === unchosen)?.name ?? unchosen) || t("pick.default")));
    append(node, [...groups].map(([provider, group]) => h("optgroup", { label: provider }, group.map((item) =>
      h("option", { value: item.id, title: item.description, selected: [value].flat().includes(item.id) }, item.name ? `${item.name}` : item.id)))));
    if (!multiple && value && !items.some((item) => item.id === value)) node.append(h("option", { value, selected: true }, value));
  }, () => {});
  return node;
}

/// The part of `forwardedProps` for a choice of the picker.
export const modelProps = (id, item) => (!id ? {} : item?.kind === "preset" ? { preset: id } : { model: id });
