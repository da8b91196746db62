// The composer: text, attachments, model and options; the draft stays over a reload.
import { announce, button, debounce, h, replace, toast } from "./dom.js";
import { name, size } from "./content.js";
import { modelPicker, modelProps } from "./pickers.js";
import { draft, saveDraft, saveSetting, setting } from "./state.js";
import { t } from "./strings.js";

const MOST = 20 * 1024 * 1024;

/// `onSend({text, attachments, props, at?, kept?})` starts a run and rejects if it cannot; `onStop()` ends it.
/// `dropTarget` takes dropped files. `key` names the draft.
export function createComposer(ctx, { key, sessionModel, fresh, dropTarget, onSend, onStop }) {
  const saved = draft(key);
  let files = (saved.attachments ?? []).map((file) => ({ ...file })), options = saved.options ?? {}, editing, before, running = false, sending = false;
  const text = h("textarea", { class: "composer-text", rows: "1", dir: "auto", "aria-label": t("composer.label"), placeholder: t("composer.placeholder"), value: saved.text ?? "", enterkeyhint: "send" });
  const chips = h("ul", { class: "row files", "aria-label": t("composer.attachments"), hidden: true });
  const banner = h("div", { class: "row banner", hidden: true });
  const input = h("input", { type: "file", multiple: true, hidden: true, tabindex: "-1", "aria-hidden": "true", onchange: () => { add([...input.files]); input.value = ""; } });
  const picker = modelPicker(ctx, { value: saved.model ?? (fresh ? setting("model", "") : ""), unchosen: sessionModel, onChange: (id) => { if (fresh) saveSetting("model", id); keep(); } });
  const send = button(t("composer.send"), { icon: "send", class: "primary send", "aria-label": t("composer.send"), onclick: () => submit() });
  const stop = button(t("composer.stop"), { icon: "stop", class: "stop", hidden: true, onclick: () => onStop() });
  const settings = button(t("composer.options"), { icon: "sliders", iconOnly: true, class: "quiet", onclick: async () => {
    const chosen = await (await import("./options.js")).optionsDialog(options, { fresh });
    if (chosen) { options = chosen; mark(); keep(); }
  } });
  const node = h("form", { class: "composer", onsubmit: (event) => { event.preventDefault(); submit(); } }, banner, chips, text,
    h("div", { class: "row tools" }, button(t("composer.attach"), { icon: "clip", iconOnly: true, class: "quiet", onclick: () => input.click() }), settings, picker, h("span", { class: "grow" }), stop, send), input);

  const mark = () => settings.classList.toggle("on", Object.keys(options).length > 0);
  const keep = debounce(() => saveDraft(key, { text: editing ? before.text : text.value, attachments: (editing ? before.files : files).filter((file) => file.id).map(({ id, name: label, media_type, bytes }) => ({ id, name: label, media_type, bytes })), options, model: picker.value }), 150);
  const fit = () => { text.style.setProperty("height", "auto"); text.style.setProperty("height", `${Math.min(text.scrollHeight + 2, innerHeight * 0.4)}px`); };
  text.addEventListener("input", () => { fit(); keep(); });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) { event.preventDefault(); submit(); } else if (event.key === "Escape" && editing) { event.preventDefault(); event.stopPropagation(); cancelEdit(); } else if (event.key === "Escape" && running) { event.preventDefault(); onStop(); } else if (event.key === "ArrowUp" && !text.value && !editing && api.editLast) { event.preventDefault(); api.editLast(); }
  });
  text.addEventListener("paste", (event) => {
    const pasted = [...(event.clipboardData?.files ?? [])];
    if (pasted.length) { event.preventDefault(); add(pasted); }
  });
  let depth = 0;
  const over = (on) => dropTarget.classList.toggle("dropping", on);
  const carries = (event) => event.dataTransfer?.types?.includes("Files");
  dropTarget.dataset.drop = t("composer.drop");
  dropTarget.addEventListener("dragenter", (event) => { if (carries(event)) { event.preventDefault(); depth += 1; over(true); } });
  dropTarget.addEventListener("dragover", (event) => { if (carries(event)) event.preventDefault(); });
  dropTarget.addEventListener("dragleave", (event) => { if (carries(event)) { depth = Math.max(0, depth - 1); if (!depth) over(false); } });
  dropTarget.addEventListener("drop", (event) => { if (carries(event)) { event.preventDefault(); depth = 0; over(false); add([...event.dataTransfer.files]); } });

  function drawFiles() {
    chips.hidden = files.length === 0;
    replace(chips, files.map((file) => h("li", { class: `chip file ${file.failed ? "bad" : ""}` }, file.preview && h("img", { src: file.preview, alt: "" }), name(file.name, "file-name"),
      h("span", { class: "dim" }, file.failed ?? (!file.id && !file.kept ? "…" : file.bytes === undefined ? "" : size(file.bytes))),
      button(t("composer.remove", { name: file.name }), { icon: "close", iconOnly: true, class: "quiet", onclick: () => { drop(file); text.focus(); } }))));
    controls();
  }

  function drop(file) {
    files = files.filter((other) => other !== file);
    if (file.preview) URL.revokeObjectURL(file.preview);
    file.abort?.abort();
    drawFiles();
    keep();
  }

  async function add(list) {
    for (const source of list) {
      const label = source.name || "pasted";
      if (source.size > MOST) { toast(t("composer.tooLarge", { name: label }), { kind: "warn" }); continue; }
      const file = { name: label, media_type: source.type || "application/octet-stream", bytes: source.size, abort: new AbortController(), preview: /^image\/(?:png|jpeg|gif|webp)$/.test(source.type) ? URL.createObjectURL(source) : undefined };
      files.push(file);
      announce(t("composer.uploading", { name: label }));
      drawFiles();
      ctx.api.upload(`/api/uploads?name=${encodeURIComponent(label)}`, source, file.media_type, { signal: file.abort.signal }).then((answer) => {
        Object.assign(file, { id: answer.id, media_type: answer.media_type, bytes: answer.bytes });
        announce(t("composer.uploaded", { name: label }));
      }, (error) => { if (error.name !== "AbortError") { file.failed = error.message; toast(`${label}: ${error.message}`, { kind: "error", hint: error.hint }); } }).finally(() => { drawFiles(); keep(); });
    }
  }

  const ready = () => (text.value.trim() || files.some((file) => file.id || file.kept)) && !files.some((file) => !file.id && !file.kept && !file.failed) && !running && !sending;
  function controls() {
    stop.hidden = !running && !sending;
    stop.disabled = !running;
    send.hidden = running || sending;
    send.disabled = !ready();
  }
  text.addEventListener("input", controls);

  async function submit() {
    if (!ready()) return;
    const message = { text: text.value, attachments: files.filter((file) => file.id), kept: files.filter((file) => file.kept).map((file) => file.kept), at: editing?.index,
      props: { ...modelProps(picker.value, picker.item()), ...options } };
    sending = true;
    controls();
    const sent = { text: text.value, files, editing }, left = editing ? before : { text: "", files: [] };
    text.value = left.text; files = left.files; editing = undefined; banner.hidden = true;
    fit(); drawFiles();
    try {
      await onSend(message);
      saveDraft(key, { text: text.value, options: fresh ? undefined : options, model: fresh ? undefined : picker.value });
      for (const file of sent.files) if (file.preview) URL.revokeObjectURL(file.preview);
    } catch (error) {
      if (sent.editing) edit(sent.editing);
      if (!text.value || sent.editing) { text.value = sent.text; files = sent.files; }
      fit(); drawFiles(); keep();
      toast(error.message, { kind: "error", hint: error.hint });
    } finally { sending = false; controls(); }
  }

  /// Puts a message back into the composer; sending it replaces what followed.
  function edit(message) {
    if (!editing) before = { text: text.value, files };
    editing = message;
    const parts = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content ?? [];
    text.value = parts.filter((part) => part.type === "text").map((part) => part.text).join("\n");
    files = parts.filter((part) => part.sha256).map((part) => ({ name: part.name || part.media_type, media_type: part.media_type, bytes: part.bytes, kept: part }));
    banner.hidden = false;
    replace(banner, h("span", null, t("composer.editing", { n: message.index + 1 })), button(t("composer.cancelEdit"), { icon: "close", class: "quiet", onclick: () => cancelEdit() }));
    drawFiles(); fit(); text.focus();
    text.setSelectionRange(text.value.length, text.value.length);
  }

  function cancelEdit() {
    editing = undefined;
    banner.hidden = true;
    text.value = before.text; files = before.files;
    drawFiles(); fit(); text.focus();
  }

  const api = {
    node, edit,
    /// Takes the focus, but not from a person who is already writing elsewhere.
    focus() { if (!document.activeElement?.closest("input, textarea, select, dialog")) text.focus(); },
    setRunning(to) { running = to; controls(); },
    editLast: undefined,
    /// `forwardedProps` as chosen now.
    props: () => ({ ...modelProps(picker.value, picker.item()), ...options }),
    model: () => picker.value,
  };
  mark(); drawFiles();
  requestAnimationFrame(fit);
  return api;
}
