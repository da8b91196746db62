import { answers, ask, box, card, count, equal, fresh, holds, made, says, session, settled, thread } from "../pages.mjs";
import { until } from "../waiting.mjs";

const PROSE = "It rains in **Oslo**.\n\n| city | mm |\n|---|---|\n| Oslo | 4 |\n\n- take a coat\n\n```rust\n// A comment\nfn main() { let x = 1; }\n```\n";

export default {
  "an answer is Markdown with highlighted code and a copy button": async ({ open, model }) => {
    const question = fresh("What is the weather");
    model.on(question, [{ text: PROSE }]);
    const page = await open();
    await ask(page, question);
    await settled(page);
    const answer = answers(page).last();
    equal(await answer.locator("strong").allInnerTexts(), ["Oslo"]);
    equal(await answer.locator("td").allInnerTexts(), ["Oslo", "4"]);
    equal(await answer.locator("li").allInnerTexts(), ["take a coat"]);
    equal(await answer.locator("pre").allInnerTexts(), ["// A comment\nfn main() { let x = 1; }"]);
    equal(await answer.locator(".code-head").allInnerTexts(), ["rust"]);
    const colours = await answer.locator("pre span").evaluateAll((nodes) => new Set(nodes.map((node) => getComputedStyle(node).color)).size);
    holds(colours > 2, "comments, words and numbers of the code have colours of their own");
    equal((await answer.innerText()).split("rust").length, 2, "the language, once more than it is named");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await answer.locator(".code").getByRole("button", { name: "Copy" }).click();
    await until("the code is copied", async () => (await page.evaluate(() => navigator.clipboard.readText())).includes("fn main()"));
  },

  "text appears while the model still writes": async ({ open, model }) => {
    const question = fresh("Write slowly");
    model.on(question, [{ text: "The first half. " }, { hold: question }, { text: "The second half." }]);
    const page = await open();
    await ask(page, question);
    await says(page, "The first half.");
    equal(await count(page, "The second half."), 0);
    model.release(question);
    await says(page, "The second half.");
    await settled(page);
  },

  "code appears in its block while the model still writes it": async ({ open, model }) => {
    const question = fresh("Write code slowly");
    // Four words arrive at once: the last ones of a line come right after HTML was made.
    const steps = ["Look:\n\n```rust\n", "fn one() { work(); }\n", "fn two() { work(); }\n```\n\nThat is all."];
    model.on(question, steps.flatMap((text, at) => (at ? [{ hold: `${question}-${at}` }, { text }] : [{ text }])));
    const page = await open();
    await ask(page, question);
    const code = answers(page).last().locator(".code pre");
    await says(page, "Look:");
    for (const [at, shown] of [[1, "fn one() { work(); }"], [2, "fn one() { work(); }\nfn two() { work(); }"]]) {
      await model.reached(`${question}-${at}`);
      model.release(`${question}-${at}`);
      await until(`the code is ${shown}`, async () => (await code.innerText().catch(() => "")).trimEnd() === shown);
    }
    await says(page, "That is all.");
    await settled(page);
    equal(await code.innerText(), "fn one() { work(); }\nfn two() { work(); }");
  },

  "reasoning is folded": async ({ open, model }) => {
    const question = fresh("Think");
    model.on(question, [{ reasoning: "A thought about it." }, { text: "Thought." }]);
    const page = await open();
    await ask(page, question);
    await settled(page);
    const folded = answers(page).last().locator("details.reasoning");
    equal(await folded.evaluate((node) => node.open), false);
    await folded.locator("summary").click();
    await folded.getByText("A thought about it.").waitFor();
  },

  "parallel calls are cards beside each other, with parameters and results": async ({ open, model }) => {
    const question = fresh("Use tools");
    model.on(question, [{ text: "Two at once." }, { call: ["lab.echo", { text: "hello from the tool" }] }, { call: ["lab.table", {}] }], [{ text: "Both are done." }]);
    const page = await open();
    await ask(page, question);
    await says(page, "Both are done.");
    await settled(page);
    const echo = card(page, "lab.echo"), table = card(page, "lab.table");
    await until("both cards are done", async () => (await echo.getAttribute("data-tone")) === "ok" && (await table.getAttribute("data-tone")) === "ok");
    const [one, two] = [await echo.boundingBox(), await table.boundingBox()];
    equal(one.y, two.y, "the tops of the cards");
    if (!await echo.locator("details").evaluate((node) => node.open)) await echo.locator("summary").click();
    await echo.locator(".card-body").getByText("hello from the tool").first().waitFor();
    if (!await table.locator("details").evaluate((node) => node.open)) await table.locator("summary").click();
    await table.getByRole("cell", { name: "Bergen" }).waitFor();
    // The text before the calls is above them, the text after them below.
    const [before, after] = [await thread(page).getByText("Two at once.").boundingBox(), await thread(page).getByText("Both are done.").boundingBox()];
    holds(before.y < one.y && one.y < after.y, "the cards are between the texts");
  },

  "a call that fails is shown as failed": async ({ open, model }) => {
    const question = fresh("Fail");
    model.on(question, [{ call: ["lab.fail", {}] }], [{ text: "It failed." }]);
    const page = await open();
    await ask(page, question);
    await says(page, "It failed.");
    await until("the card is bad", async () => (await card(page, "lab.fail").getAttribute("data-tone")) === "bad");
  },

  "a call that runs says so until it ends": async ({ open, model, server }) => {
    const question = fresh("Wait at the gate"), gate = `gate-${Date.now()}`;
    model.on(question, [{ call: ["lab.gate", { name: gate }] }], [{ text: "Through." }]);
    const page = await open();
    await ask(page, question);
    await until("the card runs", async () => (await card(page, "lab.gate").getAttribute("data-tone").catch(() => "")) === "run");
    server.openGate(gate);
    await says(page, "Through.");
    await until("the card is done", async () => (await card(page, "lab.gate").getAttribute("data-tone")) === "ok");
  },

  "a reload in the middle of a stream loses and doubles nothing": async ({ open, model }) => {
    const question = fresh("Be interrupted by a reload");
    model.on(question, [{ text: "One. " }, { hold: `${question}-1` }, { text: "Two. " }, { hold: `${question}-2` }, { text: "Three." }]);
    const page = await open();
    await ask(page, question);
    await says(page, "One.");
    await page.reload();
    await says(page, "One.");
    model.release(`${question}-1`);
    await says(page, "Two.");
    await page.reload();
    await says(page, "Two.");
    equal([await count(page, "One."), await count(page, "Two."), await count(page, question)], [1, 1, 1], "in mid-stream");
    model.release(`${question}-2`);
    await says(page, "Three.");
    await settled(page);
    equal([await count(page, "One."), await count(page, "Two."), await count(page, "Three."), await count(page, question)], [1, 1, 1, 1]);
  },

  "a reload while a tool runs": async ({ open, model, server }) => {
    const question = fresh("Reload at the gate"), gate = `gate-reload-${Date.now()}`;
    model.on(question, [{ text: "Before. " }, { call: ["lab.gate", { name: gate }] }], [{ text: "After." }]);
    const page = await open();
    await ask(page, question);
    await card(page, "lab.gate").waitFor();
    await page.reload();
    await until("the card still runs", async () => (await card(page, "lab.gate").getAttribute("data-tone").catch(() => "")) === "run");
    server.openGate(gate);
    await says(page, "After.");
    await settled(page);
    equal([await count(page, "Before."), await card(page, "lab.gate").count()], [1, 1]);
  },

  "two browsers on one session see the same turn": async ({ open, model }) => {
    const question = fresh("For two browsers");
    model.on(question, [{ text: "Shared start. " }, { hold: question }, { text: "Shared end." }]);
    const one = await open();
    await ask(one, question);
    await says(one, "Shared start.");
    const two = await open(`#/s/${await session(one)}`);
    await says(two, "Shared start.");
    equal([await count(two, "Shared start."), await count(two, question)], [1, 1], "in mid-stream");
    model.release(question);
    await Promise.all([says(one, "Shared end."), says(two, "Shared end.")]);
    await Promise.all([settled(one), settled(two)]);
    for (const page of [one, two]) equal([await count(page, "Shared start."), await count(page, "Shared end."), await count(page, question)], [1, 1, 1]);
    const again = fresh("From the second browser");
    model.on(again, [{ text: "An answer for both." }]);
    await ask(two, again);
    await says(one, again);
    await says(one, "An answer for both.");
  },

  "a second question in mid-turn is refused and stays in the composer": async ({ open, model }) => {
    const question = fresh("Busy");
    model.on(question, [{ text: "Still at it. " }, { hold: question }, { text: "Done." }]);
    const page = await open();
    await ask(page, question);
    await says(page, "Still at it.");
    await box(page).fill("too early");
    await box(page).press("Enter");
    equal(await box(page).inputValue(), "too early");
    model.release(question);
    await settled(page);
    equal(await count(page, "too early"), 0);
  },

  "stop ends a turn and keeps what was said": async ({ open, model }) => {
    const question = fresh("Be stopped");
    model.on(question, [{ text: "Said before. " }, { hold: question }, { text: "Never said." }]);
    const page = await open();
    await ask(page, question);
    await says(page, "Said before.");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator(".working").waitFor({ state: "detached" });
    model.release(question);
    await page.reload();
    await says(page, "Said before.");
    equal(await count(page, "Never said."), 0);
  },

  "edit and resend replaces what followed": async ({ open, model, server }) => {
    const first = fresh("The first wording"), second = fresh("The second wording");
    const id = await made(server, model, first);
    model.on(second, [{ text: "The second answer." }]);
    const page = await open(`#/s/${id}`);
    await says(page, first);
    await page.locator(".msg.user").getByRole("button", { name: "Edit and resend" }).click();
    equal(await box(page).inputValue(), first);
    await box(page).fill(second);
    await box(page).press("Enter");
    await says(page, "The second answer.");
    await settled(page);
    equal(await count(page, first), 0);
    await page.reload();
    await says(page, "The second answer.");
    equal(await count(page, first), 0);
  },

  "retry asks the same again": async ({ open, model, server }) => {
    const question = fresh("Try twice");
    let asked = 0;
    const id = await made(server, model, question, () => [{ text: `Attempt ${(asked += 1)}.` }]);
    const page = await open(`#/s/${id}`);
    await says(page, "Attempt 1.");
    await page.getByRole("button", { name: "Retry", exact: true }).click();
    await says(page, "Attempt 2.");
    await settled(page);
    equal(await count(page, "Attempt 1."), 0);
  },

  "retry before the page follows the session": async ({ open, model, server }) => {
    const question = fresh("Try at once");
    let asked = 0;
    const id = await made(server, model, question, () => [{ text: `Attempt ${(asked += 1)}.` }]);
    const page = await open("#/");
    const answered = page.waitForResponse((response) => response.url().endsWith("/api/runs"));
    // The page may have let go of the request when the answer comes.
    await page.route("**/events", async (route) => { await answered; await route.continue().catch(() => {}); }, { times: 1 });
    await page.evaluate((session) => { location.hash = `#/s/${session}`; }, id);
    await says(page, "Attempt 1.");
    await page.getByRole("button", { name: "Retry", exact: true }).click();
    await says(page, "Attempt 2.");
    await settled(page);
    equal(await count(page, "Attempt 1."), 0);
  },

  "retry with another model": async ({ open, model, server }) => {
    const question = fresh("Another model");
    const id = await made(server, model, question, (body) => [{ text: `Said by ${body.model}.` }]);
    const page = await open(`#/s/${id}`);
    await says(page, "Said by model-a.");
    await page.getByRole("button", { name: "Retry with another model" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("combobox").selectOption("loopback/model-b");
    await dialog.getByRole("button", { name: "Retry" }).click();
    await says(page, "Said by model-b.");
  },

  "a fork continues apart from the original": async ({ open, model, server }) => {
    const question = fresh("Fork me");
    const id = await made(server, model, question);
    const page = await open(`#/s/${id}`);
    await says(page, `Answer to ${question}`);
    await page.getByRole("button", { name: "Fork from here" }).last().click();
    await page.waitForURL((url) => url.hash.startsWith("#/s/") && !url.hash.includes(id));
    const more = fresh("Only in the fork");
    model.on(more, [{ text: "Forked." }]);
    await ask(page, more);
    await says(page, "Forked.");
    equal((await server.get(`/api/sessions/${id}`)).total, 2);
  },

  "an error of the provider is shown with its code": async ({ open, model }) => {
    const question = fresh("An error");
    model.on(question, [{ status: 400, message: "the scripted provider refuses" }]);
    const page = await open();
    await ask(page, question);
    await thread(page).getByRole("alert").getByText("the scripted provider refuses").waitFor();
    // The question is not lost.
    await says(page, question);
  },

  "an error is shown on a page that opens after it": async ({ open, model, server }) => {
    const id = await made(server, model, fresh("An error before"), [{ status: 400, message: "refused before anybody looked" }]);
    const page = await open(`#/s/${id}`);
    await thread(page).getByRole("alert").getByText("refused before anybody looked").waitFor();
  },

  "a file is attached by the file dialog, and stays over a reload": async ({ open, model }) => {
    const question = fresh("About a picture");
    model.on(question, [{ text: "A picture." }]);
    const page = await open();
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Attach files" }).click();
    await (await chooser).setFiles({ name: "plot.png", mimeType: "image/png", buffer: PNG });
    await page.locator(".composer .file", { hasText: "plot.png" }).waitFor();
    await until("the upload has ended", () => page.evaluate(() => JSON.stringify(sessionStorage).includes("plot.png")));
    await page.reload();
    await page.locator(".composer .file", { hasText: "plot.png" }).waitFor();
    await ask(page, question);
    await settled(page);
    await page.reload();
    const picture = page.locator(".msg.user img");
    await picture.waitFor();
    await until("the picture is loaded", () => picture.evaluate((node) => node.complete && node.naturalWidth > 0));
  },

  "files are attached by paste and by drop": async ({ open }) => {
    const page = await open();
    await box(page).waitFor();
    for (const [type, name, target] of [["paste", "pasted.txt", ".composer-text"], ["drop", "dropped.txt", ".composer-text"]]) {
      await page.evaluate(([kind, label, selector]) => {
        const data = new DataTransfer();
        data.items.add(new File(["words"], label, { type: "text/plain" }));
        const event = kind === "paste" ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }) : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
        document.querySelector(selector).dispatchEvent(event);
      }, [type, name, target]);
      await page.locator(".composer .file", { hasText: name }).waitFor();
    }
    await page.getByRole("button", { name: "Remove pasted.txt" }).click();
    equal(await page.locator(".composer .file").count(), 1);
  },

  "a draft survives a reload": async ({ open }) => {
    const page = await open();
    await box(page).fill("half a thought");
    await until("the draft is saved", () => page.evaluate(() => JSON.stringify(sessionStorage).includes("half a thought")));
    await page.reload();
    await until("the draft is back", async () => (await box(page).inputValue()) === "half a thought");
  },

  "a turn goes on while nobody looks": async ({ open, model }) => {
    const question = fresh("Alone");
    model.on(question, [{ text: "Begun. " }, { hold: question }, { text: "Ended alone." }]);
    const page = await open();
    await ask(page, question);
    await says(page, "Begun.");
    const id = await session(page);
    await page.close();
    model.release(question);
    const later = await open(`#/s/${id}`);
    await says(later, "Ended alone.");
    equal(await count(later, "Begun."), 1);
  },
};

const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
