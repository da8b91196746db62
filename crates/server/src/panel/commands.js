// What can be done with a session: names, tags, export, deletion.
import { button, confirm, dialog, h, toast } from "./dom.js";
import { visible } from "./content.js";
import { titleOf } from "./sessions.js";
import { extend, t } from "./strings.js";

extend({
  en: {
    "sessions.rename": "Rename", "sessions.tags": "Edit tags", "sessions.delete": "Delete", "sessions.export": "Export as {format}", "sessions.name": "Name", "sessions.tagsLabel": "Tags, separated by commas", "sessions.save": "Save", "sessions.deleteTitle": "Delete this conversation?", "sessions.deleteText": "“{name}” and everything in it will be deleted. This cannot be undone.",
  },
  ru: {
    "sessions.rename": "Переименовать", "sessions.tags": "Изменить метки", "sessions.delete": "Удалить", "sessions.export": "Экспорт: {format}", "sessions.name": "Название", "sessions.tagsLabel": "Метки через запятую", "sessions.save": "Сохранить", "sessions.deleteTitle": "Удалить эту беседу?", "sessions.deleteText": "«{name}» и всё её содержимое будет удалено. Отменить это нельзя.",
  },
});

/// Commands for one session. `changed(item)` and `gone()` learn of the outcome.
export function sessionMenu(ctx, item, { changed = () => {}, gone = () => {} } = {}) {
  const path = `/api/sessions/${encodeURIComponent(item.id)}`;
  const change = async (body) => { if (body) try { changed(await ctx.api.patch(path, body)); ctx.events.emit({ type: "changed" }); } catch (error) { toast(error.message, { kind: "error", hint: error.hint }); } };
  return [
    { label: t("sessions.rename"), icon: "pencil", run: async () => change(await field(t("sessions.rename"), t("sessions.name"), item.name ?? "", (value) => ({ name: value }))) },
    { label: t("sessions.tags"), icon: "tag", run: async () => change(await field(t("sessions.tags"), t("sessions.tagsLabel"), (item.tags ?? []).join(", "), (value) => ({ tags: [...new Set(value.split(",").map((tag) => tag.trim()).filter(Boolean))] }))) },
    ...[["markdown", "Markdown"], ["html", "HTML"], ["json", "JSON"], ["jsonl", "JSON Lines"]].map(([format, label]) => ({ label: t("sessions.export", { format: label }), icon: "download", run: () => download(`${path}/export?format=${format}`) })),
    { label: t("sessions.delete"), icon: "trash", danger: true, run: async () => {
      if (!await confirm(t("sessions.deleteTitle"), visible(t("sessions.deleteText", { name: titleOf(item).slice(0, 200) })), { yes: t("sessions.delete"), no: t("common.cancel"), danger: true })) return;
      try { await ctx.api.del(path); gone(); ctx.events.emit({ type: "changed" }); } catch (error) { toast(error.message, { kind: "error", hint: error.hint }); }
    } },
  ];
}

function download(url) {
  const link = h("a", { href: url, download: "" });
  document.body.append(link);
  link.click();
  link.remove();
}

function field(title, label, value, result) {
  return dialog(title, (close) => {
    const input = h("input", { id: "d-field", value, dir: "auto", maxlength: "500", autocomplete: "off", autofocus: true });
    return h("form", { class: "col", onsubmit: (event) => { event.preventDefault(); close(result(input.value.trim())); } }, h("label", { class: "field", for: "d-field" }, label, input),
      h("div", { class: "row end" }, button(t("common.cancel"), { onclick: () => close() }), h("button", { class: "primary", type: "submit" }, t("sessions.save"))));
  });
}
