// What scenarios do on the pages of the panel.
import { until } from "./waiting.mjs";

export const box = (page) => page.getByRole("textbox", { name: "Message", exact: true });
export const thread = (page) => page.locator(".thread");
export const answers = (page) => page.locator(".msg.assistant");
/// The card of a tool, such as `lab.echo`.
export const card = (page, tool) => page.locator("article.card", { has: page.locator("bdi.tool", { hasText: new RegExp(`^${tool.split(".")[1]}$`) }) });

/// Sends a question in the conversation that is open.
export async function ask(page, text) {
  await box(page).fill(text);
  await box(page).press("Enter");
}

/// Waits until the answer is complete: nothing is running any more.
export async function settled(page) {
  await page.locator(".working").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Send", exact: true }).waitFor();
}

/// Waits for a text in the thread.
export const says = (page, text) => thread(page).getByText(text).filter({ visible: true }).first().waitFor();

/// How often a text is on the page.
export const count = (page, text) => page.evaluate((wanted) => document.querySelector(".thread").innerText.split(wanted).length - 1, text);

export function equal(found, wanted, what = "") {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${what} expected ${JSON.stringify(wanted)}, found ${JSON.stringify(found)}`);
}

export function holds(isSo, what) {
  if (!isSo) throw new Error(`expected: ${what}`);
}

/// The id of the session that the page shows.
export async function session(page) {
  await page.waitForURL(/#\/s\//);
  return page.url().split("#/s/")[1].split("?")[0];
}

/// Makes a session with one question and its answer, and returns its id.
export async function made(server, model, question, ...replies) {
  model.on(question, ...(replies.length ? replies : [[{ text: `Answer to ${question}.` }]]));
  const id = crypto.randomUUID();
  await server.post("/api/runs", { threadId: id, runId: crypto.randomUUID(), messages: [{ id: "m", role: "user", content: question }], tools: [], state: {}, context: [], forwardedProps: {} });
  await until("the run has ended", async () => !(await server.get(`/api/sessions/${id}`)).running);
  return id;
}

let numbers = 0;
/// A question that no other scenario asks.
export const fresh = (words) => `${words} (${(numbers += 1)}-${process.pid})`;

/// Makes a session with one question and its answer `copies` times over, by export and import.
export async function long(server, model, copies) {
  const question = fresh("A long conversation");
  const id = await made(server, model, question, [{ text: "The answer number N." }]);
  const response = await fetch(`${server.base}/api/sessions/${id}/export?format=json`, { headers: server.headers });
  const one = await response.json();
  // Entries are numbered from 1, and no two replies have the same turn.
  const canisters = Array.from({ length: copies }, (_, at) => one.canisters.map((entry, within) => {
    const { canister, ...more } = JSON.parse(JSON.stringify(entry).replaceAll("number N", `number ${at + 1}`));
    return { ...more, number: at * one.canisters.length + within + 1, canister: canister.turn === undefined ? canister : { ...canister, turn: at + 1 } };
  })).flat();
  const made_ = await fetch(`${server.base}/api/sessions/import`, { method: "POST", headers: { ...server.headers, "Content-Type": "application/json" }, body: JSON.stringify({ ...one, canisters }) });
  if (!made_.ok) throw new Error(`import: ${made_.status} ${await made_.text()}`);
  return (await made_.json()).id;
}
