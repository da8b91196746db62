import { accessibility, overflowing } from "../browser.mjs";
import { answers, ask, box, card, equal, fresh, holds, made, says, settled } from "../pages.mjs";
import { until } from "../waiting.mjs";

const PLOTS = { "keyboard only: ask, approve, read, move on": ["figures"], "keyboard only: a form, the plots, a comparison": ["calls", "figures", "comparisons"] };
export const needs = (name) => PLOTS[name];

/// Every view of the server with something on it, as `[name, hash]`.
async function views({ server, model, features }) {
  const question = fresh("For the looks"), id = crypto.randomUUID();
  const session = await made(server, model, question, [{ reasoning: "A thought." }, { text: "Text before. " }, { call: ["lab.echo", { text: "a".repeat(300) }] }, { call: ["lab.table", {}] }, { call: ["lab.fail", {}] }],
    [{ text: `Some **Markdown** with \`code\`, [a link](https://example.org/) and\n\n| a | b |\n|---|---|\n| 1 | ${"wide ".repeat(30)} |\n\n\`\`\`rust\nfn main() { println!("${"long ".repeat(40)}"); }\n\`\`\`\n\n> A quote\n\n1. one\n2. two` }]);
  const waiting = fresh("Waiting looks");
  model.on(waiting, [{ call: ["lab.danger", { path: "/a/very/long/path/that/has/many/parts/and/does/not/fit/on/a/phone/at/all.txt" }] }], [{ text: "After." }]);
  await server.post("/api/runs", { threadId: id, runId: crypto.randomUUID(), messages: [{ id: "m", role: "user", content: waiting }], tools: [], state: {}, context: [], forwardedProps: {} });
  await until("it waits", async () => (await server.get("/api/approvals")).items.some((one) => one.session === id));
  const compared = fresh("Compared looks");
  model.on(compared, (body) => [{ text: `An answer of ${body.model} with 1${body.model.length}.` }]);
  const comparison = features.comparisons && await server.post("/api/comparisons", { question: compared, models: ["loopback/model-a", "loopback/model-b"] });
  const all = [["welcome", "#/"], ["conversation", `#/s/${session}`], ["waiting", `#/s/${id}`], ["approvals", "#/approvals"], ["compare-start", "#/compare"], ["compare", `#/compare/${comparison?.id}`], ["figures", "#/figures"], ["figures-tool", "#/figures?by=tool"], ["tools", "#/tools"], ["tools-forms", "#/tools/forms?tool=strings"], ["tools-lab", "#/tools/lab?tool=danger"]];
  return all.filter(([name]) => (features.comparisons || !name.startsWith("compare")) && (features.figures || !name.startsWith("figures")));
}

/// Shows each view, waits until nothing is loading, and gives it to `look`.
async function each(scene, options, look) {
  const all = await views(scene), wrong = [];
  const page = await scene.open("", options);
  for (const [name, hash] of all) {
    await page.goto(`${scene.server.base}/${hash}`);
    await page.locator("main h1").first().waitFor();
    await page.waitForFunction(() => !/Loading…|Загрузка…/.test(document.querySelector("main").innerText));
    if (name === "compare") await until("both have answered", async () => (await page.locator("section.column > header .chip.ok").count()) === 2);
    if (name.startsWith("figures")) await page.locator("figure svg").first().waitFor();
    if (name === "conversation") await answers(page).last().waitFor();
    await scene.shot(page, `${name}-${options.theme ?? "light"}-${options.width ?? 1280}-${(options.locale ?? "en").slice(0, 2)}`);
    for (const line of await look(page, name)) wrong.push(`${name}: ${line}`);
  }
  equal(wrong, []);
}

const english = ["Conversation", "Approvals", "Compare", "Figures", "Tools", "Send", "required", "Call", "Question", "Mark differences", "Take this answer", "Allow once", "Deny"];

export default {
  "axe finds nothing in the light theme": (scene) => each(scene, { theme: "light" }, accessibility),
  "axe finds nothing in the dark theme": (scene) => each(scene, { theme: "dark" }, accessibility),
  "axe finds nothing on a phone": (scene) => each(scene, { width: 360, height: 740 }, accessibility),
  "nothing is wider than 360 px": (scene) => each(scene, { width: 360, height: 740, theme: "dark" }, overflowing),

  "Russian: no English word is left": (scene) => each(scene, { locale: "ru-RU" }, async (page) => {
    equal(await page.evaluate(() => document.documentElement.lang), "ru");
    const words = await page.evaluate(() => [...document.querySelectorAll("button, label, h1, h2, h3, summary, nav a, legend, th, dt")].map((node) => node.innerText.trim()));
    return words.filter((text) => english.includes(text));
  }),

  "Russian on a phone": (scene) => each(scene, { locale: "ru-RU", width: 360, height: 740 }, overflowing),

  "the language is switched and stays": async ({ open }) => {
    const page = await open();
    await page.getByRole("button", { name: "Язык: русский" }).click();
    await page.getByRole("button", { name: "Language: English" }).or(page.locator('.top button[lang="en"]')).first().waitFor();
    await page.reload();
    await until("it is Russian", () => page.evaluate(() => document.documentElement.lang === "ru"));
  },

  "the theme is switched and stays": async ({ open }) => {
    const page = await open("", { theme: "light" });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const before = await background();
    await page.getByRole("button", { name: /^Colours/ }).click();
    await until("it is dark", async () => (await background()) !== before);
    await page.reload();
    await box(page).waitFor();
    holds((await background()) !== before, "it is dark after a reload");
  },

  "a phone: the list opens over the page and closes after a choice": async ({ open, model, server }) => {
    const question = fresh("On a phone");
    await made(server, model, question);
    const page = await open("", { width: 360, height: 740 });
    await page.getByRole("button", { name: "Conversations", exact: true }).click();
    await page.getByRole("link", { name: question }).click();
    await says(page, `Answer to ${question}`);
    await until("the list is closed", async () => !(await page.getByRole("link", { name: question }).isVisible()));
  },

  "keyboard only: ask, approve, read, move on": async ({ open, model, shot }) => {
    const question = fresh("By keyboard");
    model.on(question, [{ call: ["lab.danger", { path: "keys.txt" }] }], [{ text: "Done by keys." }]);
    const page = await open();
    const focused = () => page.evaluate(() => { const at = document.activeElement; return (at.getAttribute("aria-label") || at.innerText || at.tagName).trim(); });
    const reach = async (name, key = "Tab", most = 80) => {
      for (let at = 0; at < most; at += 1) {
        if (name.test(await focused())) return;
        await page.keyboard.press(key);
      }
      throw new Error(`${name} is not reached with ${key}; the focus is on ${await focused()}`);
    };
    await reach(/^Message$/);
    await page.keyboard.type(question);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Allow once" }).waitFor();
    await reach(/^Allow once$/, "Shift+Tab");
    // What has the focus is visibly marked.
    holds(await page.evaluate(() => { const style = getComputedStyle(document.activeElement); return style.outlineStyle !== "none" || style.boxShadow !== "none"; }), "the focus is visible");
    await shot(page, "keyboard");
    await page.keyboard.press("Enter");
    await says(page, "Done by keys.");
    await settled(page);
    holds(await card(page, "lab.danger").isVisible(), "the card is there");
    await page.evaluate(() => document.activeElement.blur());
    for (const [key, heading] of [["t", "Tools"], ["f", "Figures"], ["x", "Compare"], ["a", "Approvals"]]) {
      await page.keyboard.press(key);
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
    }
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("n");
    await box(page).waitFor();
  },

  "keyboard only: a form, the plots, a comparison": async ({ open, model, server }) => {
    await made(server, model, fresh("For the plots by keys"), [{ call: ["lab.echo", { text: "x" }] }], [{ text: "Done." }]);
    const page = await open("#/figures?by=tool");
    await page.locator("figure.latency svg").waitFor();
    await page.locator("figure.latency a.bar").first().focus();
    holds(await page.evaluate(() => getComputedStyle(document.activeElement.querySelector(".hit")).stroke !== "none"), "the focus on a bar is visible");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: /^Invocations: / }).last().waitFor();
    await page.goto(`${server.base}/#/tools/forms?tool=strings`);
    await page.getByRole("textbox", { name: /^plain/ }).focus();
    await page.keyboard.type("typed");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Result" }).getByText("success").waitFor();
    equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Result", "the focus is on the result");
    const question = fresh("Compared by keys");
    model.on(question, [{ text: "Same." }]);
    await page.goto(`${server.base}/#/compare`);
    await page.getByLabel("Question for all models").focus();
    await page.keyboard.type(question);
    await page.keyboard.press("Control+Enter");
    await page.waitForURL(/#\/compare\/./);
  },

  "reduced motion and a zoom of 200 %": async ({ open, model, server }) => {
    const id = await made(server, model, fresh("Zoomed"));
    const page = await open(`#/s/${id}`, { width: 640, height: 400 });
    await answers(page).last().waitFor();
    equal(await overflowing(page), []);
    holds(await box(page).isVisible(), "the composer is on the page");
    await ask(page, fresh("One more"));
    await settled(page);
  },
};
