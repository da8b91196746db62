// The HTTP contract: JSON requests with typed errors, and event streams that resume.

/// An answer of the server that is not a success, or no answer at all (`status` 0).
export class ApiError extends Error {
  constructor(status, code, message, { hint, retryAfter, body } = {}) {
    super(message);
    Object.assign(this, { name: "ApiError", status, code, hint, retryAfter, body });
  }
}

async function failure(response) {
  let body;
  try { body = await response.json(); } catch { body = undefined; }
  const error = body?.error ?? {};
  return new ApiError(response.status, error.code ?? `http-${response.status}`, error.message ?? `${response.status} ${response.statusText}`,
    { hint: error.hint, retryAfter: Number(response.headers.get("Retry-After")) || undefined, body });
}

function address(path, query) {
  const entries = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return entries.length ? `${path}?${new URLSearchParams(entries)}` : path;
}

async function request(method, path, { query, body, bytes, type, signal, accept = "application/json" } = {}) {
  const headers = { Accept: accept };
  if (bytes !== undefined) headers["Content-Type"] = type || "application/octet-stream";
  else if (method !== "GET") headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(address(path, query), { method, headers, signal, credentials: "same-origin",
      body: bytes ?? (body === undefined ? undefined : JSON.stringify(body)) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "the server does not answer");
  }
  if (!response.ok) throw await failure(response);
  return response;
}

async function json(method, path, options) {
  const response = await request(method, path, options);
  return response.status === 204 ? undefined : response.json();
}

/// Splits the text of an event stream into events; returns the function that takes pieces of it.
export function eventParser(emit) {
  let rest = "", id, data = [], event, own = false;
  return (piece) => {
    rest += piece;
    let start = 0;
    for (;;) {
      const end = rest.indexOf("\n", start);
      if (end < 0) break;
      const line = rest.slice(start, rest[end - 1] === "\r" ? end - 1 : end);
      start = end + 1;
      if (line === "") {
        if (data.length) emit({ id, own, event, data: data.join("\n") });
        data = []; event = undefined; own = false;
      } else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
      else if (line.startsWith("id:")) { id = line.slice(3).trim(); own = true; }
      else if (line.startsWith("event:")) event = line.slice(6).trim();
    }
    rest = rest.slice(start);
  };
}

async function read(response, emit) {
  const parse = eventParser(emit);
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parse(decoder.decode(value, { stream: true }));
  }
}

const wait = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
});

/// Resolves when the page is seen; `signal` ends the wait.
const seen = (signal) => new Promise((resolve) => {
  const done = () => { if (document.visibilityState === "visible" || signal.aborted) { document.removeEventListener("visibilitychange", done); resolve(); } };
  document.addEventListener("visibilitychange", done);
  signal.addEventListener("abort", done, { once: true });
  done();
});

/// Follows a stream until `signal` is aborted. Reconnects with `Last-Event-ID`, waiting 0.5 s to 15 s in between.
/// `onEvent(value, id, before)` takes each event with its position and the one before it. If `after` is given, events
/// without an id belong to the next one with an id: a connection that is lost between them gets all of them again.
/// `onState("open" | "lost" | "gone", error?)` the state of the connection.
/// Answers 4xx other than 408 and 429 end it ("gone"). With `rest` a page that is hidden for ten seconds lets go of
/// the connection, of which a browser has six for a server, and takes up the stream when it is seen again.
/// `control.rewind(position)` is for a client that sets the session back: the stream is taken up from there, for the server
/// cannot tell a position before the change from one after it.
export async function follow(path, { after, onEvent, onState = () => {}, signal, rest = false, control = {} }) {
  let last = after, delay = 500;
  while (!signal.aborted) {
    const turn = new AbortController();
    const end = () => turn.abort();
    let resting = false, isOpen = false, timer, batch = [];
    // An open stream gets what follows anyway.
    control.rewind = (position) => { last = position; if (!isOpen) { resting = true; end(); } };
    const hidden = () => { clearTimeout(timer); if (document.visibilityState === "hidden") timer = setTimeout(() => { resting = true; end(); }, 10_000); };
    signal.addEventListener("abort", end, { once: true });
    if (rest) document.addEventListener("visibilitychange", hidden);
    try {
      const headers = { Accept: "text/event-stream" };
      if (last !== undefined) headers["Last-Event-ID"] = last;
      const response = await fetch(path, { headers, signal: turn.signal, credentials: "same-origin" });
      if (!response.ok) throw await failure(response);
      isOpen = true;
      onState("open");
      await read(response, ({ id, own, data }) => {
        delay = 500;
        batch.push(data);
        if (turn.signal.aborted || (after !== undefined && !own)) return;
        const before = last, events = batch;
        batch = [];
        if (id !== undefined) last = id;
        for (const one of events) onEvent(JSON.parse(one), last, before);
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error.status >= 400 && error.status < 500 && ![408, 429].includes(error.status)) { onState("gone", error); return; }
      if (error.retryAfter) delay = Math.max(delay, error.retryAfter * 1000);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      document.removeEventListener("visibilitychange", hidden);
    }
    if (signal.aborted) return;
    if (resting) { await seen(signal); continue; }
    onState("lost");
    await wait(delay * (0.75 + Math.random() / 2), signal);
    delay = Math.min(delay * 2, 15_000);
  }
}

export const api = {
  get: (path, query, options) => json("GET", path, { query, ...options }),
  post: (path, body, options) => json("POST", path, { body: body ?? {}, ...options }),
  patch: (path, body, options) => json("PATCH", path, { body, ...options }),
  del: (path, body, options) => json("DELETE", path, { body, ...options }),
  /// Sends a file; `type` is its media type.
  upload: (path, bytes, type, options) => json("POST", path, { bytes, type, ...options }),
  follow,
};
