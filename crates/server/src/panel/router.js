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

const UNKNOWN = { title: "nav.unknown", path: "", params: {}, load: async () => ({ render: (root, params, { t }) => { throw new Error(t("frame.unknown")); } }) };

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

const stylesheets = new Map();

/// Loads a stylesheet once; a view without its own rules is still better than none.
function stylesheet(href) {
  if (!stylesheets.has(href)) stylesheets.set(href, new Promise((resolve) => {
    const link = document.createElement("link");
    Object.assign(link, { rel: "stylesheet", href, onload: resolve, onerror: resolve });
    document.head.append(link);
  }));
  return stylesheets.get(href);
}

/// Renders the current address into `root` now and whenever it changes. Each view gets `ctx` and an
/// AbortSignal `ctx.signal` that ends with the view. `onView(route, again)` learns what is shown; `again` is
/// false for the first one. Returns the function that renders anew; its `into(root)` renders elsewhere.
export function start(root, ctx, { onView, onError }) {
  let leave = () => {}, times = 0, place = root;
  const show = async () => {
    leave();
    const controller = new AbortController();
    let cleanup;
    leave = () => { controller.abort(); cleanup?.(); cleanup = undefined; };
    const route = match(location.hash) ?? UNKNOWN;
    const view = document.createElement("div");
    view.className = `view view-${route.title.slice(4)}`;
    place.replaceChildren(view);
    onView(route, times++ > 0);
    try {
      const module = await route.load();
      if (["compare", "figures", "tools"].some((name) => route.path.startsWith(`/${name}`))) await stylesheet("/panel/views.css");
      if (controller.signal.aborted) return;
      const done = await module.render(view, route.params, { ...ctx, signal: controller.signal });
      if (controller.signal.aborted) done?.(); else cleanup = done;
    } catch (error) {
      if (!controller.signal.aborted) onError(view, error, show);
    }
  };
  window.addEventListener("hashchange", show);
  show.into = (to) => { place = to; show(); };
  show();
  return show;
}
