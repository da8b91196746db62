// Text of others is shown as text. What would run or load something fails every scenario (browser.mjs); these bring it in.
import { answers, ask, box, card, equal, fresh, holds, made, says, settled, thread } from "../pages.mjs";
import { until } from "../waiting.mjs";

const MARK = "hostile-mark";
const ATTACKS = [
  "<script>window.HACKED=1</script>", '<img src=x onerror="window.HACKED=1">', '<img src="https://evil.example/pixel.png">', "<svg onload=window.HACKED=1><script>window.HACKED=1</script></svg>",
  "<style>body{display:none}</style>", '<link rel=stylesheet href="https://evil.example/a.css">', '<iframe src="https://evil.example/"></iframe>', '<a href="javascript:window.HACKED=1">a link</a>',
  '<form action="https://evil.example/"><button>send</button></form>', '<base href="https://evil.example/">', '<meta http-equiv="refresh" content="0;url=https://evil.example/">', "<details open ontoggle=window.HACKED=1>x</details>",
  "<div style=\"position:fixed;inset:0;background:url(https://evil.example/b)\">cover</div>", "<math><mtext></table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=window.HACKED=1&gt;\">", "{{constructor.constructor('window.HACKED=1')()}}", "${window.HACKED=1}", "\"><script>window.HACKED=1</script>", "'-window.HACKED-'",
];
const LINKS = "[a](javascript:window.HACKED=1) [b](data:text/html,<script>window.HACKED=1</script>) [c](vbscript:x) [d](//evil.example/x) [e](/api/sessions) ![f](https://evil.example/f.png) ![g](javascript:x) <javascript:alert(1)> [h]: javascript:x";
const BIDI = "invoice\u202Egnp.exe \u2066hidden\u2069 \u200Bzero\u200D \u0007bell \u001B[31mred";
const TEXT = `${MARK}\n\n${ATTACKS.join("\n\n")}\n\n${LINKS}\n\n${BIDI}\n\n\`\`\`html\n${ATTACKS.join("\n")}\n\`\`\`\n`;

/// Clicks everything that the model could have made clickable.
async function clickAll(page) {
  for (const link of await thread(page).locator("a").all()) {
    const target = await link.getAttribute("href");
    if (target === null) continue;
    holds(/^(https?:|mailto:)|^\/api\/sessions\/[\w-]+\/content\//.test(target), `a link of the text leads to ${target}`);
    const rel = await link.getAttribute("rel") ?? "";
    if (/^http/.test(target)) holds(rel.includes("noopener"), "links to elsewhere have no opener");
  }
  equal(await thread(page).locator("iframe, object, embed, form[action], base, meta, link, script, style").count(), 0, "elements that run or load");
  equal(await page.evaluate(() => [...document.querySelectorAll("*")].filter((node) => [...node.attributes].some((one) => one.name.startsWith("on"))).length), 0, "attributes that run");
  equal(await page.evaluate(() => [...document.images].filter((node) => !node.src.startsWith(location.origin) && !node.src.startsWith("blob:")).length), 0, "pictures from elsewhere");
}

export default {
  "an answer of hostile text": async ({ open, model }) => {
    const question = fresh("Be hostile");
    model.on(question, [{ reasoning: TEXT }, { text: TEXT }]);
    const page = await open();
    await ask(page, question);
    await says(page, MARK);
    await settled(page);
    await clickAll(page);
    holds((await answers(page).last().innerText()).includes("evil.example"), "the text is shown");
    holds(await page.evaluate(() => getComputedStyle(document.body).display !== "none"), "the page is still there");
    await page.reload();
    await says(page, MARK);
    await clickAll(page);
  },

  "hostile text in pieces": async ({ open, model }) => {
    const question = fresh("Be hostile in pieces");
    model.on(question, [...TEXT.match(/[^]{1,7}/g).map((text) => ({ text }))]);
    const page = await open();
    await ask(page, question);
    await settled(page);
    await clickAll(page);
  },

  "a hostile question": async ({ open, model }) => {
    const question = fresh(`Asked by somebody ${TEXT.replace(/\s+/g, " ")}`);
    model.on(question.slice(0, 30), [{ text: "No." }]);
    const page = await open();
    await ask(page, question);
    await settled(page);
    await clickAll(page);
    holds((await page.locator(".msg.user").innerText()).includes("<script>window.HACKED=1</script>"), "the question is shown as it is");
    // It is the title of the conversation too, in the list and in the window.
    await page.reload();
    await says(page, MARK);
  },

  "hostile arguments and results of tools": async ({ open, model }) => {
    const question = fresh("Be hostile by tools");
    model.on(question, [{ call: ["lab.echo", { text: TEXT }] }, { call: ["lab.danger", { path: ATTACKS.join(" ") }] }], [{ text: "Done with it." }]);
    const page = await open();
    await ask(page, question);
    const form = card(page, "lab.danger");
    await form.getByRole("button", { name: "Allow once" }).waitFor();
    await clickAll(page);
    const inbox = await open("#/approvals");
    await inbox.locator(".inbox-card").getByRole("button", { name: "Allow once" }).first().waitFor();
    holds((await inbox.locator("main").innerText()).includes("<script>window.HACKED=1</script>"), "the arguments are shown as they are");
    await form.getByRole("button", { name: "Allow once" }).click();
    await says(page, "Done with it.");
    for (const tool of ["lab.echo", "lab.danger"]) {
      const one = card(page, tool).locator("details").first();
      if (!await one.evaluate((node) => node.open)) await card(page, tool).locator("summary").first().click();
    }
    await clickAll(page);
  },

  "characters that hide are shown": async ({ open, model }) => {
    const question = fresh("Hide");
    model.on(question, [{ call: ["lab.echo", { text: BIDI }] }], [{ text: "Hidden." }]);
    const page = await open();
    await ask(page, question);
    await says(page, "Hidden.");
    if (!await card(page, "lab.echo").locator("details").first().evaluate((node) => node.open)) await card(page, "lab.echo").locator("summary").first().click();
    await card(page, "lab.echo").locator(".card-body").getByText("U+202E").first().waitFor();
  },

  "a hostile title and hostile tags": async ({ open, model, server }) => {
    const id = await made(server, model, fresh("A hostile title"));
    await server.patch(`/api/sessions/${id}`, { name: `${MARK} ${ATTACKS[0]}${ATTACKS[1]}`.slice(0, 120) });
    const page = await open(`#/s/${id}`);
    await page.getByRole("heading", { name: MARK }).waitFor();
    await page.getByRole("navigation", { name: "Conversations" }).getByText("<script>").first().waitFor();
    await page.getByRole("searchbox", { name: "Search conversations" }).fill("<script>");
    await until("the search is answered", async () => (await page.locator("a.session").count()) > 0);
    for (const view of ["#/compare", "#/figures", "#/tools", "#/approvals"]) {
      await page.goto(`${server.base}/${view}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
    }
  },

  "a file with a hostile name and hostile content": async ({ open, model, server }) => {
    const question = fresh("A hostile file"), name = '"><img src=x onerror=window.HACKED=1>.svg';
    model.on(question, [{ text: "Read." }]);
    const page = await open();
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Attach files" }).click();
    // A text becomes a part of the message; what says that it is a picture is kept as a file.
    const buffer = Buffer.from("<svg xmlns='http://www.w3.org/2000/svg' onload='window.HACKED=1'/>");
    await (await chooser).setFiles([{ name, mimeType: "text/plain", buffer }, { name, mimeType: "image/svg+xml", buffer }]);
    await until("two files are attached", async () => (await page.locator(".composer .file").count()) === 2);
    await until("the upload has ended", () => page.getByRole("button", { name: "Send", exact: true }).isVisible());
    await box(page).fill(question);
    await until("it can be sent", () => page.getByRole("button", { name: "Send", exact: true }).isEnabled());
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await says(page, "Read.");
    await settled(page);
    await clickAll(page);
    const id = page.url().split("#/s/")[1];
    holds((await page.locator(".msg.user").innerText()).includes(`${name}:`), "the name of the text is shown as it is");
    const file = (await server.get(`/api/sessions/${id}`)).messages[0].content.find((part) => part.sha256);
    equal(file.name, name);
    const response = await fetch(`${server.base}${file.url}`, { headers: server.headers });
    holds(!/html|svg|xml/.test(response.headers.get("content-type")), "the content is not served as a page");
    equal(response.headers.get("x-content-type-options"), "nosniff");
    holds((response.headers.get("content-security-policy") ?? "").includes("sandbox"), "the content is in a sandbox");
  },

  "one line of 2 MB": async ({ open, model }) => {
    const question = fresh("A long line");
    model.on(question, [{ call: ["lab.big", {}] }], [{ text: `${"z".repeat(2_000_000)} end of the line` }]);
    const page = await open("", { width: 360 });
    await ask(page, question);
    await settled(page);
    equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, "the width of the page");
    await box(page).fill("still alive");
    equal(await box(page).inputValue(), "still alive");
  },

  "events in the text of a stream stay text": async ({ open, model }) => {
    const question = fresh("Inject events");
    const text = 'one\n\ndata: {"type":"RUN_FINISHED"}\n\nid: 9.9\nevent: x\n\r\n\r\ndata: {"type":"RUN_ERROR","message":"injected"}\n\u2028data: x\n\nlast words';
    model.on(question, [{ text }]);
    const page = await open();
    await ask(page, question);
    await says(page, "last words");
    await settled(page);
    equal(await thread(page).getByRole("alert").count(), 0);
  },

  // A server that was deceived: what it sends is not trusted either.
  "hostile HTML from the server": async ({ open, model, server, tolerate }) => {
    // The document in which HTML is looked through runs and loads nothing. What the policy would stop there is reported all the same.
    tolerate(/policy/i);
    const id = await made(server, model, fresh("Deceived"));
    const page = await open();
    await page.route(new RegExp(`/api/sessions/${id}(\\?|$)`), async (route) => {
      const response = await route.fetch(), body = await response.json();
      for (const message of body.messages) for (const part of message.parts ?? []) if (part.type === "text") part.html = `<p>${MARK}</p>${ATTACKS.join("")}<p onclick="window.HACKED=1" style="position:fixed" id="main">x</p><a href="javascript:window.HACKED=1">y</a><a href="data:text/html,x">z</a><span class="side">s</span>`;
      await route.fulfill({ response, json: body });
    });
    await page.goto(`${server.base}/#/s/${id}`);
    await says(page, MARK);
    await clickAll(page);
    equal(await thread(page).locator("[style*=fixed], .md [id], .md .side, .md img").count(), 0, "attributes that deceive");
  },

  "hostile ensembles, findings, changes and figures": async ({ open, server }) => {
    const text = `${MARK} ${ATTACKS.join(" ")} ${BIDI}`, page = await open();
    const schema = { type: "object", properties: { [text]: { type: "string", title: text, description: text, enum: [text] }, pattern: { type: "string", pattern: "(a+)+$", default: `${"a".repeat(40)}!` }, __proto__: {} }, required: [text] };
    const finding = { code: text, severity: "error", message: text, file: text, line: 1, hint: text };
    const ensemble = { name: text, title: text, description: text, origin: { scope: "project", file: text }, transport: text, enabled: true, connected: false, trusted: false, error: text, lock: "drifted", findings: [finding], tools: [{ name: text, title: text, description: text, schema, effects: text, permission: "ask", rule: text, held: text }] };
    const row = { key: text, turns: 1, invocations: 1, failures: 1, input_tokens: 1, cached_input_tokens: 0, output_tokens: 1, cost: { dollars: "0.1" }, latency_ms: { p50: 1, p95: 2 } };
    await page.route("**/api/ensembles", (route) => route.fulfill({ json: { items: [ensemble] } }));
    await page.route("**/api/ensembles/*/drift", (route) => route.fulfill({ json: { lines: [{ kind: "added", text }, { kind: "removed", text }] } }));
    await page.route("**/api/figures?*", (route) => route.fulfill({ json: { rows: [row], total: row } }));
    await page.route("**/api/invocations?*", (route) => route.fulfill({ json: { items: [{ session: `x"><script>`, index: 1, id: text, at: text, model: text, ensemble: text, tool: text, outcome: text, elapsed_ms: 1, arguments: { [text]: text } }] } }));
    await page.goto(`${server.base}/#/tools/${encodeURIComponent(text)}?tool=${encodeURIComponent(text)}`);
    await page.locator("details.tool[open] form").waitFor();
    await page.locator(".diff .added").waitFor();
    holds((await page.locator("main").innerText()).includes("U+202E"), "characters that hide are shown");
    await page.locator("details.tool[open] form").getByRole("button", { name: /^Call / }).click();
    for (const by of ["day", "model", "tool"]) {
      await page.goto(`${server.base}/#/figures?by=${by}&key=${encodeURIComponent(text)}&failed=1`);
      await page.locator(".behind tbody tr").waitFor();
    }
    equal(await page.locator("main").locator("script, iframe, style, img, form[action], [onerror], [onload]").count(), 0, "elements that run or load");
  },
};
