import { h } from "./dom.js";

export async function render(root, params, { t }) {
  root.append(h("h1", null, t("nav.figures")));
}
