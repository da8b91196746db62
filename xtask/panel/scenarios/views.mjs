import { ask, card, equal, fresh, holds, made, says } from "../pages.mjs";
import { until } from "../waiting.mjs";

const call = (page, name) => page.getByRole("button", { name: `Call ${name}` });
const result = (page) => page.getByRole("region", { name: "Result" });

async function compare(open, model, question, models = ["model-a", "model-b"]) {
  const page = await open("#/compare");
  await page.getByLabel("Question for all models").fill(question);
  for (const one of await page.getByRole("checkbox").all()) await one.setChecked(false);
  for (const one of models) await page.locator(`input[type=checkbox][value="loopback/${one}"]`).check();
  await page.getByRole("button", { name: "Ask them" }).click();
  await page.waitForURL(/#\/compare\/./);
  return page;
}

const column = (page, at) => page.locator("section.column").nth(at);
const done = (page, count) => until("all have answered", async () => (await page.locator("section.column > header .chip.ok").count()) === count);

/// What the server must have, by the view that a scenario's name begins with.
export const needs = (name) => ({ tools: ["calls"], figures: ["figures"], compare: ["comparisons"] })[name.split(":")[0]];

export default {
  "tools: ensembles are listed, and a search finds tools": async ({ open }) => {
    const page = await open("#/tools");
    const list = page.getByRole("navigation", { name: "Tools" });
    await list.getByRole("link", { name: /^lab/ }).click();
    await page.getByRole("heading", { level: 2, name: "lab" }).waitFor();
    await page.locator("details.tool", { hasText: "danger" }).getByText("asks").first().waitFor();
    await page.getByRole("searchbox", { name: "Search tools" }).fill("echo");
    await list.getByRole("link", { name: /^echo/ }).click();
    await call(page, "lab.echo").waitFor();
  },

  "tools: a form of texts, with its defaults and what is required": async ({ open }) => {
    const page = await open("#/tools/forms?tool=strings");
    await call(page, "forms.strings").click();
    const plain = page.getByRole("textbox", { name: /^plain/ });
    equal(await plain.getAttribute("aria-invalid"), "true");
    equal(await plain.evaluate((node) => node === document.activeElement), true, "the focus is on the field");
    await plain.fill("some words");
    await page.getByRole("textbox", { name: /^mail/ }).fill("not an address");
    await call(page, "forms.strings").click();
    equal(await page.getByRole("textbox", { name: /^mail/ }).getAttribute("aria-invalid"), "true");
    await page.getByRole("textbox", { name: /^mail/ }).fill("ada@example.org");
    await page.getByRole("combobox", { name: /^colour/ }).selectOption("blue");
    await call(page, "forms.strings").click();
    await result(page).getByText("success").waitFor();
    const said = await result(page).innerText();
    holds(["some words", "blue", "ada@example.org"].every((word) => said.includes(word)), `the tool got the values: ${said}`);
  },

  "tools: numbers and switches": async ({ open }) => {
    const page = await open("#/tools/forms?tool=numbers");
    const count = page.getByRole("textbox", { name: /^count/ });
    equal(await count.inputValue(), "3");
    for (const wrong of ["eleven", "11", "2.5"]) {
      await count.fill(wrong);
      await call(page, "forms.numbers").click();
      equal(await count.getAttribute("aria-invalid"), "true", wrong);
    }
    await count.fill("7");
    await page.getByRole("textbox", { name: /^ratio/ }).fill("0.5");
    await page.getByRole("checkbox", { name: /^flag/ }).uncheck();
    await call(page, "forms.numbers").click();
    await result(page).getByText("success").waitFor();
    const said = await result(page).innerText();
    holds(/7/.test(said) && /0\.5/.test(said) && /false|no/.test(said), said);
  },

  "tools: lists and nested objects": async ({ open }) => {
    const page = await open("#/tools/forms?tool=nested");
    await page.getByRole("textbox", { name: /^entry 1/ }).fill("Ada");
    await page.getByRole("button", { name: "Add names" }).click();
    await page.getByRole("textbox", { name: /^entry 2/ }).fill("Grace");
    await page.getByRole("textbox", { name: /^city/ }).fill("Oslo");
    await call(page, "forms.nested").click();
    await result(page).getByText("success").waitFor();
    const said = await result(page).innerText();
    holds(["Ada", "Grace", "Oslo"].every((word) => said.includes(word)), said);
  },

  "tools: one of several shapes": async ({ open }) => {
    const page = await open("#/tools/forms?tool=choice");
    await page.getByRole("combobox", { name: "Kind of target" }).selectOption({ label: "A name" });
    await page.getByRole("textbox", { name: /^target/ }).fill("Ada");
    await call(page, "forms.choice").click();
    await result(page).getByText("success").waitFor();
    holds((await result(page).innerText()).includes("Ada"), "the tool got the name");
    await page.getByRole("combobox", { name: "Kind of target" }).selectOption({ label: "Mail" });
    await page.getByRole("textbox", { name: /^address/ }).fill("ada@example.org");
    await call(page, "forms.choice").click();
    await until("the tool got the address", async () => (await result(page).innerText().catch(() => "")).includes("ada@example.org"));
  },

  "tools: arguments as JSON, and back to the form": async ({ open }) => {
    const page = await open("#/tools/forms?tool=numbers");
    await page.getByRole("textbox", { name: /^count/ }).fill("5");
    await page.getByRole("button", { name: "Edit as JSON" }).click();
    const text = page.getByRole("textbox", { name: "Arguments as JSON" });
    equal(JSON.parse(await text.inputValue()).count, 5);
    await text.fill("{broken");
    await page.getByRole("button", { name: "Edit as a form" }).click();
    equal(await text.getAttribute("aria-invalid"), "true");
    await text.fill('{"count": 9}');
    await page.getByRole("button", { name: "Edit as a form" }).click();
    equal(await page.getByRole("textbox", { name: /^count/ }).inputValue(), "9");
  },

  "tools: a call by hand asks as the rules say": async ({ open }) => {
    const page = await open("#/tools/lab?tool=danger");
    const path = page.getByRole("textbox", { name: /^path/ });
    await path.fill("by-hand.txt");
    await call(page, "lab.danger").click();
    const asked = page.getByRole("region", { name: "This call needs your approval" });
    await asked.getByRole("button", { name: "Deny" }).click();
    await asked.waitFor({ state: "detached" });
    await call(page, "lab.danger").click();
    await asked.getByRole("button", { name: "Allow once" }).click();
    await result(page).getByText("wrote by-hand.txt").waitFor();
    // The next call asks again.
    await call(page, "lab.danger").click();
    await asked.waitFor();
  },

  "figures: a bar leads to the invocations behind it, and those to the conversation": async ({ open, model, server }) => {
    const question = fresh("For the figures");
    const id = await made(server, model, question, [{ call: ["lab.echo", { text: question }] }], [{ text: "Counted." }]);
    const page = await open("#/figures?by=tool");
    await page.locator("figure.latency").getByRole("link", { name: /^lab\.echo/ }).click();
    const rows = page.getByRole("region", { name: "Invocations: lab.echo" });
    const row = rows.getByRole("row", { name: question });
    await row.getByRole("link").click();
    await page.waitForURL(new RegExp(id));
    await card(page, "lab.echo").waitFor();
  },

  "figures: of one project": async ({ open, model, server }) => {
    await made(server, model, fresh("For the project"), [{ call: ["lab.echo", { text: "here" }] }], [{ text: "Counted." }]);
    const page = await open("#/figures?by=tool");
    const project = page.locator(".controls").getByLabel("Project");
    const asked = page.waitForRequest(/figures\?.*project=/);
    await project.selectOption({ index: 1 });
    equal(new URL((await asked).url()).searchParams.get("project"), (await server.get("/api/status")).project);
    await page.locator("figure.latency").getByRole("link", { name: /^lab\.echo/ }).click();
    await page.getByRole("region", { name: "Invocations: lab.echo" }).getByRole("row").nth(1).waitFor();
    await project.selectOption({ index: 0 });
    await page.waitForURL((address) => !address.hash.includes("project="));
  },

  "figures: by day, model and tool, with a table": async ({ open, model, server }) => {
    await made(server, model, fresh("For the table"), [{ call: ["lab.fail", {}] }], [{ text: "Failed." }]);
    const page = await open("#/figures");
    for (const [by, key] of [["model", "loopback/model-a"], ["tool", "lab.fail"]]) {
      await page.getByRole("group", { name: "By" }).getByRole("link", { name: by }).click();
      await page.getByText("The same figures as a table").click();
      await page.getByRole("rowheader", { name: key }).waitFor();
    }
    const asked = page.waitForRequest(/invocations\?.*outcome=failed/);
    await page.locator("figure.failures").getByRole("link", { name: /^lab\.fail/ }).click();
    await asked;
    await page.getByRole("region", { name: "Failed invocations: lab.fail" }).locator(".chip", { hasText: /^failed$/ }).first().waitFor();
  },

  "compare: two models answer one question side by side": async ({ open, model, shot }) => {
    const question = fresh("Compare the weather");
    model.on(question, (body) => [{ call: ["lab.table", {}] }, ...(body.model === "model-b" ? [{ call: ["lab.echo", { text: "extra" }] }] : [])],
      (body) => [{ text: body.model === "model-a" ? "It rains, 8 degrees in Oslo." : "It rains, 9 degrees in Oslo." }]);
    const page = await compare(open, model, question);
    await done(page, 2);
    const [one, two] = [column(page, 0), column(page, 1)];
    await one.getByText("It rains, 8 degrees").waitFor();
    await two.getByText("It rains, 9 degrees").waitFor();
    equal((await one.boundingBox()).y, (await two.boundingBox()).y, "the tops");
    for (const each of [one, two]) holds(/tokens/.test(await each.locator("header").innerText()), "tokens are told");
    equal(await two.locator(".path .alone").allInnerTexts().then((all) => all.map((text) => text.split(",")[0].trim())), ["lab.echo"]);
    await one.getByText("Only in this answer: 8").waitFor();
    await two.getByText("Only in this answer: 9").waitFor();
    await until("both numbers are marked", () => page.evaluate(() => CSS.highlights.get("only-number")?.size === 2));
    await shot(page, "compare");
    await page.reload();
    await done(page, 2);
    await column(page, 1).getByText("It rains, 9 degrees").waitFor();
    await column(page, 0).getByText("Only in this answer: 8").waitFor();
  },

  "compare: an answer is taken over and goes on": async ({ open, model, server }) => {
    const question = fresh("Take one over");
    model.on(question, (body) => [{ text: `Said by ${body.model}.` }]);
    const page = await compare(open, model, question);
    await done(page, 2);
    await column(page, 1).getByRole("button", { name: /^Take this answer/ }).click();
    await says(page, "Said by model-b.");
    const more = fresh("And then");
    model.on(more, (body) => [{ text: `Continued by ${body.model}.` }]);
    await ask(page, more);
    await says(page, "Continued by model-b.");
    holds((await server.get(`/api/sessions/${page.url().split("#/s/")[1]}`)).tags.some((tag) => tag.startsWith("compared:")), "the session is tagged");
  },

  "compare: one model fails, the other answers": async ({ open, model }) => {
    const question = fresh("One of us fails");
    model.on(question, (body) => (body.model === "model-b" ? [{ status: 400, message: "out of order" }] : [{ text: "I answer." }]));
    const page = await compare(open, model, question);
    await column(page, 0).getByText("I answer.").waitFor();
    await column(page, 1).locator("header").getByText("failed").waitFor();
    equal(await column(page, 1).getByRole("button", { name: /^Take this answer/ }).isDisabled(), true);
  },

  "compare: four models, and not five": async ({ open, model }) => {
    const question = fresh("All four");
    model.on(question, (body) => [{ text: `I am ${body.model}.` }]);
    const page = await compare(open, model, question, ["model-a", "model-b"]);
    await done(page, 2);
    await page.getByRole("link", { name: "New comparison" }).click();
    await page.getByRole("link", { name: question }).first().waitFor();
    for (const one of await page.getByRole("checkbox").all()) await one.setChecked(false);
    await page.getByLabel("Question for all models").fill("too few");
    await page.getByRole("button", { name: "Ask them" }).click();
    await page.getByRole("alert").getByText("at least two").waitFor();
  },

  "compare: an approval is answered in its column": async ({ open, model }) => {
    const question = fresh("Compare a danger"), path = fresh("compared.txt");
    model.on(question, (body) => (body.model === "model-b" ? [{ call: ["lab.danger", { path }] }] : [{ text: "No danger here." }]), [{ text: "The danger is over." }]);
    const page = await compare(open, model, question);
    await column(page, 1).locator("header").getByText("waits for approval").waitFor();
    await column(page, 0).getByText("No danger here.").waitFor();
    await page.reload();
    await column(page, 1).locator("header").getByText("waits for approval").waitFor();
    await column(page, 1).getByRole("button", { name: "Allow once" }).click();
    await column(page, 1).getByText("The danger is over.").waitFor();
    await done(page, 2);
  },

  "compare: all are stopped": async ({ open, model }) => {
    const question = fresh("Stop all of them");
    model.on(question, [{ text: "Begun. " }, { hold: question }, { text: "Not reached." }]);
    const page = await compare(open, model, question);
    await model.reached(question, 2);
    await column(page, 1).getByText("Begun.").waitFor();
    await page.getByRole("button", { name: "Stop all", exact: true }).click();
    await until("both have stopped", async () => (await page.locator("section.column > header").getByText("stopped").count()) === 2);
    model.release(question);
    equal(await page.getByText("Not reached.").count(), 0);
  },
};
