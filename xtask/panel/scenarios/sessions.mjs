import fs from "node:fs";
import { ask, box, count, equal, fresh, holds, long, made, says, settled, thread } from "../pages.mjs";
import { until } from "../waiting.mjs";

const list = (page) => page.getByRole("navigation", { name: "Conversations" });
const menu = async (page, name, item) => {
  await list(page).getByRole("button", { name: `Actions for ${name}` }).click();
  await page.getByRole("menuitem", { name: item, exact: true }).click();
};

export default {
  "search as you type finds a conversation and leads to the message": async ({ open, model, server }) => {
    const word = `zebra${Date.now()}`;
    await made(server, model, fresh("Something else"));
    await made(server, model, fresh(`About a ${word}`), [{ text: `A ${word} has stripes.` }]);
    const page = await open();
    await page.getByRole("searchbox", { name: "Search conversations" }).pressSequentially(word);
    // Its first letters may have been searched for before.
    const hit = list(page).locator("a.hit", { has: page.locator("mark", { hasText: word }) }).last();
    await hit.waitFor();
    equal(await list(page).locator("a.session").count(), 1);
    await hit.click();
    await page.locator(".msg.found").waitFor();
  },

  "a conversation is renamed": async ({ open, model, server }) => {
    const question = fresh("Rename me"), name = fresh("A better name");
    const id = await made(server, model, question);
    const page = await open();
    await menu(page, question, "Rename");
    await page.getByRole("dialog").getByRole("textbox").fill(name);
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await list(page).getByRole("link", { name }).waitFor();
    equal((await server.get(`/api/sessions/${id}`)).name, name);
  },

  "tags are set, and filter the list": async ({ open, model, server }) => {
    const question = fresh("Tag me"), tag = `tag${Date.now()}`;
    await made(server, model, question);
    const page = await open();
    await menu(page, question, "Edit tags");
    await page.getByRole("dialog").getByRole("textbox").fill(tag);
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await list(page).getByText(tag).waitFor();
    await page.getByText("Filters", { exact: true }).click();
    await page.getByLabel("Tag", { exact: true }).fill(tag);
    await until("only the tagged one is left", async () => (await list(page).locator("a.session").count()) === 1);
  },

  "a conversation is deleted after a question": async ({ open, model, server }) => {
    const question = fresh("Delete me");
    const id = await made(server, model, question);
    const page = await open();
    await menu(page, question, "Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    holds((await server.get(`/api/sessions/${id}`)).id === id, "a no deletes nothing");
    await menu(page, question, "Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await until("it is gone", async () => (await fetch(`${server.base}/api/sessions/${id}`, { headers: server.headers })).status === 404);
    await until("it is not listed", async () => (await list(page).getByRole("link", { name: question }).count()) === 0);
  },

  "an export is imported again": async ({ open, model, server }) => {
    const page = await open();
    for (const [format, name, mimeType] of [["JSON", "session.json", "application/json"], ["JSON Lines", "session.jsonl", ""]]) {
      const question = fresh("Export me");
      await made(server, model, question);
      const download = page.waitForEvent("download");
      await menu(page, question, `Export as ${format}`);
      const file = await (await download).path();
      holds(fs.readFileSync(file, "utf8").includes(question), "the export has the question");
      const chooser = page.waitForEvent("filechooser");
      await page.getByRole("button", { name: "Import" }).click();
      await (await chooser).setFiles({ name, mimeType, buffer: fs.readFileSync(file) });
      await says(page, `Answer to ${question}.`);
      await until("there are two of them", async () => (await list(page).getByRole("link", { name: question }).count()) === 2);
    }
  },

  "the conversations of a project": async ({ open, model, server }) => {
    const question = fresh("Of the project");
    const document = await server.get(`/api/sessions/${await made(server, model, question)}/export?format=json`);
    // An imported session is of no project.
    await server.post("/api/sessions/import", document);
    const page = await open(), links = list(page).getByRole("link", { name: question });
    await until("both are listed", async () => (await links.count()) === 2);
    await page.getByText("Filters", { exact: true }).click();
    await page.getByRole("combobox", { name: "Project" }).selectOption({ index: 1 });
    await until("one is listed", async () => (await links.count()) === 1);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await until("both are listed again", async () => (await links.count()) === 2);
  },

  "a new conversation appears in the list of the other browser": async ({ open, model }) => {
    const question = fresh("Seen elsewhere");
    model.on(question, [{ text: "Seen." }]);
    const [one, two] = [await open(), await open()];
    await list(two).waitFor();
    await ask(one, question);
    await list(two).getByRole("link", { name: question }).waitFor();
  },

  "ten thousand messages": async ({ open, model, server }) => {
    const id = await long(server, model, 5000);
    const page = await open(`#/s/${id}`);
    await says(page, "The answer number 5000.");
    holds(await page.evaluate(() => document.querySelectorAll("*").length) < 20_000, "the page holds a part of the messages");
    const scroller = thread(page);
    // Upwards: older messages arrive, and what is read keeps its place.
    const oldest = () => page.evaluate(() => Math.min(...[...document.querySelectorAll(".msg[data-index]")].map((node) => Number(node.dataset.index))));
    const first = await oldest();
    await scroller.hover();
    await page.mouse.wheel(0, -400);
    await until("older messages arrive", async () => { await page.mouse.wheel(0, -1500); return (await oldest()) < first; });
    holds(await page.evaluate(() => document.querySelectorAll(".msg").length) <= 500, "what is far away is taken off the page");
    await page.getByRole("button", { name: "Latest messages" }).click();
    await says(page, "The answer number 5000.");
    const question = fresh("The last question");
    model.on(question, [{ text: "The last answer." }]);
    await ask(page, question);
    await says(page, "The last answer.");
    await settled(page);
    // The middle, by address.
    await page.goto(`${server.base}/#/s/${id}?message=5001`);
    await page.reload();
    await page.locator('.msg[data-index="5001"]').waitFor();
    await says(page, "The answer number 2501.");
  },

  "going back and forth between conversations": async ({ open, model, server }) => {
    const [one, two] = [fresh("The one"), fresh("The other")];
    const [first, second] = [await made(server, model, one), await made(server, model, two)];
    const page = await open(`#/s/${first}`);
    await says(page, `Answer to ${one}.`);
    await list(page).getByRole("link", { name: two }).click();
    await says(page, `Answer to ${two}.`);
    equal(await count(page, `Answer to ${one}.`), 0);
    holds(page.url().includes(second), "the address names the conversation");
    await page.goBack();
    await says(page, `Answer to ${one}.`);
    await list(page).getByRole("link", { name: one }).and(page.locator("[aria-current=page]")).waitFor();
    await box(page).waitFor();
  },

  "a view that arrives late does not take the focus": async ({ open }) => {
    const page = await open("#/tools");
    // The module of the conversation is not loaded yet after a reload.
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Tools" }).waitFor();
    let arrive;
    const late = new Promise((resolve) => { arrive = resolve; });
    await page.route("**/panel/conversation.js", async (route) => { await late; await route.continue(); });
    await page.evaluate(() => { location.hash = "#/"; });
    const search = page.getByRole("searchbox", { name: "Search conversations" });
    await search.pressSequentially("half");
    arrive();
    await box(page).waitFor();
    await page.keyboard.type(" and half");
    equal(await search.inputValue(), "half and half");
  },
};
