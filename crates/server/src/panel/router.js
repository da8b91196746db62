// Hash routes. A view is a module with `render(root, params, ctx)`; it may return a function that cleans up.

const routes = [
  ["/", () => import("./conversation.js"), "nav.chat"],
  ["/s/:id", () => import("./conversation.js"), "nav.chat"],
  ["/approvals", () => import("./approvals.js"), "nav.approvals"],
  ["/approvals/:id", () => import("./approvals.js"), "nav.approvals"],
  ["/compare", () => import("./compare.js"), "nav.compare"],
  ["/compare/:id", () => import("./compare.js"), "nav.compare"],
  ["/figures", () => import("./figures.js"), "nav.figures"],
  ["/tools", () => import("./tools.js"), "nav.tools"],
  ["/tools/:name", () => import("./tools.js"), "nav.tools"],
];

/// `#/s/ID?message=3` → `{load, title, path, params: {id, message}}`; undefined for an unknown address.
export function match(hash) {
  const [path, query = ""] = (hash.replace(/^#/, "") || "/").split("?");
  const parts = path.split("/").filter(Boolean);
  for (const [pattern, load, title] of routes) {
    const names = pattern.split("/").filter(Boolean);
    if (names.length !== parts.length) continue;
    const params = Object.fromEntries(new URLSearchParams(query));
    try {
      if (names.every((name, at) => (name.startsWith(":") ? ((params[name.slice(1)] = decodeURIComponent(parts[at])), true) : name === parts[at])))
        return { load, title, path: pattern, params };
    } catch { return undefined; }
  }
  return undefined;
}

/// Goes to an address such as `#/tools/files`. With `replace` it takes the place of the current one in the history.
export function go(hash, { replace = false } = {}) {
  if (replace) { history.replaceState(null, "", hash); window.dispatchEvent(new HashChangeEvent("hashchange")); } else if (location.hash === hash) window.dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = hash;
}

/// Renders the current address into `root` now and whenever it changes. Each view gets `ctx` and an
/// AbortSignal `ctx.signal` that ends with the view. `onView(route)` learns what is shown.
export function start(root, ctx, { onView, onError }) {
  let leave = () => {};
  const show = async () => {
    leave();
    const controller = new AbortController();
    let cleanup;
    leave = () => { controller.abort(); cleanup?.(); cleanup = undefined; };
    const route = match(location.hash) ?? match("#/");
    const place = document.createElement("div");
    place.className = `view view-${route.title.slice(4)}`;
    root.replaceChildren(place);
    onView(route);
    try {
      const view = await route.load();
      if (controller.signal.aborted) return;
      const done = await view.render(place, route.params, { ...ctx, signal: controller.signal });
      if (controller.signal.aborted) done?.(); else cleanup = done;
    } catch (error) {
      if (!controller.signal.aborted) onError(place, error, show);
    }
  };
  window.addEventListener("hashchange", show);
  show();
  return show;
}
