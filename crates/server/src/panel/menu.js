// A button that opens a short list of commands.
import { button, h, icon } from "./dom.js";

/// `items()` resolves to `[{label, icon?, run, danger?}]`. Arrow keys move, Escape closes and returns the focus.
export function menuButton(label, items, { icon: name = "more", class: cls = "" } = {}) {
  const toggle = button(label, { icon: name, iconOnly: true, class: "quiet", "aria-haspopup": "menu", "aria-expanded": "false" });
  const node = h("div", { class: `menu-box ${cls}` }, toggle);
  let list;
  const close = (focus) => {
    list?.remove(); list = undefined;
    toggle.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
    if (focus) toggle.focus();
  };
  const outside = (event) => { if (!node.contains(event.target)) close(false); };
  toggle.addEventListener("click", async (event) => {
    event.stopPropagation();
    if (list) { close(true); return; }
    const commands = await items();
    if (list || !node.isConnected) return;
    list = h("div", { class: "menu", role: "menu", "aria-label": label }, commands.map((item) => h("button", { type: "button", role: "menuitem", tabindex: "-1", class: item.danger ? "danger-text" : null,
      onclick: (click) => { click.stopPropagation(); close(true); item.run(); } }, item.icon && icon(item.icon), h("span", null, item.label))));
    node.append(list);
    const box = list.getBoundingClientRect(), at = toggle.getBoundingClientRect();
    list.style.setProperty("left", `${Math.max(8, Math.min(at.right - box.width, innerWidth - box.width - 8))}px`);
    list.style.setProperty("top", `${at.bottom + box.height + 8 > innerHeight ? Math.max(8, at.top - box.height - 4) : at.bottom + 4}px`);
    toggle.setAttribute("aria-expanded", "true");
    document.addEventListener("pointerdown", outside, true);
    list.firstElementChild?.focus();
  });
  node.addEventListener("keydown", (event) => {
    if (!list) return;
    const all = [...list.children], at = all.indexOf(document.activeElement);
    const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (at - 1 + all.length) % all.length, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); event.stopPropagation(); all[to].focus(); } else if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); close(true); } else if (event.key === "Tab") close(false);
  });
  return node;
}
