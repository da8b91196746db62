import { ask, card, count, equal, fresh, says, settled } from "../pages.mjs";
import { until } from "../waiting.mjs";

const OWN = ["a server that is killed in mid-turn", "a server that is restarted between two turns", "an approval waits over a restart of the server"];
export const needs = (name) => (OWN.includes(name) ? ["own server"] : []);

export default {
  "a server that is killed in mid-turn": async ({ open, model, another }) => {
    const server = await another(), question = fresh("Killed in mid-turn");
    model.on(question, [{ text: "Said before the crash. " }, { call: ["lab.echo", { text: "kept" }] }], [{ text: "Never ends. " }, { hold: question }, { text: "late" }]);
    const page = await open("", { server });
    await ask(page, question);
    await says(page, "Said before the crash.");
    await card(page, "lab.echo").waitFor();
    await model.reached(question);
    await server.kill();
    await page.getByText("The connection is lost").waitFor();
    await server.start();
    model.release(question);
    await page.getByText("The connection is lost").waitFor({ state: "hidden" });
    await says(page, "Said before the crash.");
    equal(await count(page, "Said before the crash."), 1);
    await settled(page);
    const next = fresh("After the crash");
    model.on(next, [{ text: "It goes on." }]);
    await ask(page, next);
    await says(page, "It goes on.");
    await page.reload();
    await says(page, "It goes on.");
    equal([await count(page, "Said before the crash."), await count(page, "It goes on."), await card(page, "lab.echo").count()], [1, 1, 1]);
  },

  "a server that is restarted between two turns": async ({ open, model, another }) => {
    const server = await another(), first = fresh("Before the restart"), second = fresh("After the restart");
    model.on(first, [{ text: "The first answer." }]);
    model.on(second, [{ text: "The second answer." }]);
    const page = await open("", { server });
    await ask(page, first);
    await says(page, "The first answer.");
    await settled(page);
    await server.kill("SIGTERM");
    await page.getByText("The connection is lost").waitFor();
    await server.start();
    await page.getByText("The connection is lost").waitFor({ state: "hidden" });
    await ask(page, second);
    await says(page, "The second answer.");
    equal([await count(page, "The first answer."), await count(page, "The second answer.")], [1, 1]);
  },

  "an approval waits over a restart of the server": async ({ open, model, another }) => {
    const server = await another(), question = fresh("Approve after the restart");
    model.on(question, [{ call: ["lab.danger", { path: "restart.txt" }] }], [{ text: "Answered at last." }]);
    const page = await open("", { server });
    await ask(page, question);
    await page.getByRole("button", { name: "Allow once" }).waitFor();
    await server.kill();
    await server.start();
    const later = await open("#/approvals", { server });
    await later.locator(".inbox-card", { hasText: "restart.txt" }).getByRole("button", { name: "Allow once" }).click();
    await says(page, "Answered at last.");
  },

  "a lost connection is told and mended": async ({ open, model, line }) => {
    const question = fresh("Lost connection"), wire = await line();
    model.on(question, [{ text: "Before the loss. " }, { hold: `${question}-1` }, { text: "Meanwhile. " }, { hold: `${question}-2` }, { text: "After the loss." }]);
    const page = await open("", { server: wire.end });
    await ask(page, question);
    await says(page, "Before the loss.");
    wire.cut();
    await page.getByText("The connection is lost").waitFor();
    model.release(`${question}-1`);
    await model.reached(`${question}-2`);
    wire.mend();
    await page.getByText("The connection is lost").waitFor({ state: "hidden" });
    await says(page, "Meanwhile.");
    equal([await count(page, "Before the loss."), await count(page, "Meanwhile."), await count(page, question)], [1, 1, 1], "in mid-stream");
    model.release(`${question}-2`);
    await says(page, "After the loss.");
    await settled(page);
    equal([await count(page, "Before the loss."), await count(page, "Meanwhile."), await count(page, "After the loss."), await count(page, question)], [1, 1, 1, 1]);
  },

  "without the token there is no panel and no data": async ({ server }) => {
    for (const [path, wanted] of [["/api/sessions", 401], ["/api/status", 401], ["/panel/main.js", 401]]) {
      const { status } = await fetch(server.base + path);
      if (path.startsWith("/api") || status !== 200) equal(status, wanted, path);
    }
    const page = await fetch(`${server.base}/`);
    equal((await page.text()).includes('id="app"'), false, "the panel is shown");
    for (const headers of [{ Host: "evil.example" }, { Origin: "http://evil.example" }]) {
      const { status } = await request(server, headers);
      equal(status, 403, JSON.stringify(headers));
    }
  },

  "every page has its policy": async ({ server }) => {
    const page = await fetch(`${server.base}/`, { headers: server.headers });
    const policy = page.headers.get("content-security-policy") ?? "";
    for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) equal(policy.includes(part), true, part);
    equal([page.headers.get("x-content-type-options"), page.headers.get("referrer-policy")], ["nosniff", "no-referrer"]);
  },

  "an unknown session and an unknown page are told": async ({ open }) => {
    const page = await open("#/s/00000000-0000-4000-8000-000000000000");
    await page.getByRole("alert").first().waitFor();
    await page.goto(`${page.url().split("#")[0]}#/nowhere`);
    await until("something is shown", async () => (await page.locator("main").innerText()).length > 0);
  },
};

/// A request whose Host is not the address, which `fetch` does not allow.
async function request(server, headers) {
  const http = await import("node:http");
  return new Promise((resolve, reject) => http.request(`${server.base}/api/status`, { headers: { ...server.headers, ...headers } }, (response) => { response.resume(); resolve({ status: response.statusCode }); }).on("error", reject).end());
}
