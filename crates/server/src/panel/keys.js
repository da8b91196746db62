// The dialog that lists the keys.
import { dialog, h } from "./dom.js";
import { saveSetting, setting } from "./state.js";
import { extend, t } from "./strings.js";

extend({
  en: {
    "keys.title": "Keyboard", "keys.single": "Single-key shortcuts", "keys.help": "This list", "keys.new": "New conversation", "keys.search": "Search conversations", "keys.approvals": "Approvals", "keys.compare": "Compare models", "keys.figures": "Figures", "keys.tools": "Tools",
    "keys.composer": "Write a message", "keys.next": "Next message", "keys.previous": "Previous message", "keys.send": "Send", "keys.line": "New line", "keys.stop": "Stop the answer, close what is open", "keys.last": "Edit the last message, in an empty composer", "keys.list": "Move in a list",
  },
  ru: {
    "keys.title": "Клавиатура", "keys.single": "Сочетания из одной клавиши", "keys.help": "Этот список", "keys.new": "Новая беседа", "keys.search": "Поиск бесед", "keys.approvals": "Разрешения", "keys.compare": "Сравнение моделей", "keys.figures": "Показатели", "keys.tools": "Инструменты",
    "keys.composer": "Написать сообщение", "keys.next": "Следующее сообщение", "keys.previous": "Предыдущее сообщение", "keys.send": "Отправить", "keys.line": "Новая строка", "keys.stop": "Остановить ответ, закрыть открытое", "keys.last": "Править последнее сообщение, если поле пустое", "keys.list": "Двигаться по списку",
  },
});

const GLOBAL = [["?", "keys.help"], ["n", "keys.new"], ["/", "keys.search"], ["c", "keys.composer"], ["j", "keys.next"], ["k", "keys.previous"], ["a", "keys.approvals"], ["x", "keys.compare"], ["f", "keys.figures"], ["t", "keys.tools"]];
const OTHERS = [["Enter", "keys.send"], ["Shift+Enter", "keys.line"], ["Esc", "keys.stop"], ["↑", "keys.last"], ["↑ ↓ Home End", "keys.list"]];

export function keysDialog() {
  const rows = (list) => list.map(([key, text]) => h("tr", null, h("th", { scope: "row" }, h("kbd", null, key)), h("td", null, t(text))));
  return dialog(t("keys.title"), (close) => [
    h("table", { class: "keys" }, h("tbody", null, rows(GLOBAL), rows(OTHERS))),
    h("label", { class: "check" }, h("input", { type: "checkbox", checked: setting("keys", true), onchange: (event) => saveSetting("keys", event.target.checked) }), t("keys.single")),
    h("div", { class: "row end" }, h("button", { type: "button", class: "primary", autofocus: true, onclick: () => close() }, t("common.close")))]);
}
