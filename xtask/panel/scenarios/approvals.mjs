import { answers, ask, card, count, equal, fresh, holds, says, session, settled } from "../pages.mjs";
import { until } from "../waiting.mjs";

/// Asks for one call of `lab.danger`, about which a rule asks, or of another tool, and answers after it.
async function dangerous(open, model, path, tool = "lab.danger") {
  const question = fresh("Do something dangerous");
  model.on(question, [{ call: [tool, { path }] }], (body) => [{ text: `The tool said: ${body.messages.findLast((one) => one.role === "tool").content}` }]);
  const page = await open();
  await ask(page, question);
  await card(page, tool).getByRole("button", { name: "Allow once" }).waitFor();
  return page;
}

const inbox = (page, path) => page.locator(".inbox-card", { hasText: path });

export default {
  "a call is allowed once": async ({ open, model }) => {
    const page = await dangerous(open, model, "once.txt");
    await page.getByText("ask").first().waitFor();
    await card(page, "lab.danger").getByRole("button", { name: "Allow once" }).click();
    await says(page, "The tool said: wrote once.txt");
    await settled(page);
  },

  "a call is denied with a reason that the model reads": async ({ open, model }) => {
    const page = await dangerous(open, model, "denied.txt");
    await card(page, "lab.danger").getByRole("textbox", { name: "Reason, which the model reads" }).fill("not on a Monday");
    await card(page, "lab.danger").getByRole("button", { name: "Deny" }).click();
    await says(page, "The tool said:");
    await settled(page);
    holds((await answers(page).last().innerText()).includes("not on a Monday"), "the model was told the reason");
    equal(await count(page, "wrote denied.txt"), 0);
  },

  "for this session: the next call of the session does not ask": async ({ open, model }) => {
    const page = await dangerous(open, model, "session.txt", "lab.note");
    await card(page, "lab.note").getByRole("button", { name: "Allow for this session" }).click();
    await says(page, "kept session.txt");
    await settled(page);
    const again = fresh("Once more");
    model.on(again, [{ call: ["lab.note", { path: "another.txt" }] }], [{ text: "It did not ask." }]);
    await ask(page, again);
    await says(page, "It did not ask.");
  },

  "a rule that asks is named with its place, and no answer outlasts it": async ({ open, model }) => {
    const page = await dangerous(open, model, "rule.txt");
    const form = card(page, "lab.danger").locator("form.decision");
    holds(/Rule that asks\s+lab\.danger .*config\.toml:\d+/.test(await form.innerText()), "the rule, its file and its line are named");
    equal(await form.getByRole("button", { name: /session|Always/ }).count(), 0, "answers that outlast the call");
    await form.getByRole("button", { name: "Deny" }).click();
    await settled(page);
  },

  "always: a call that fits the chosen pattern does not ask, another one does": async ({ open, model }) => {
    const page = await dangerous(open, model, "always/one.txt", "lab.note");
    const form = card(page, "lab.note").locator("form.decision");
    equal(await form.locator("code.pattern").innerText(), 'lab.note {"path":"always/one.txt"}');
    await form.getByLabel("“Always” covers").selectOption("path=always/**");
    equal(await form.locator("code.pattern").innerText(), "lab.note path=always/**");
    await form.getByRole("button", { name: "Always allow" }).click();
    await says(page, "kept always/one.txt");
    await settled(page);
    const fits = fresh("Fits the pattern"), other = fresh("Does not fit");
    model.on(fits, [{ call: ["lab.note", { path: "always/two.txt" }] }], [{ text: "It did not ask." }]);
    model.on(other, [{ call: ["lab.note", { path: "elsewhere.txt" }] }], [{ text: "It asked." }]);
    await ask(page, fits);
    await says(page, "It did not ask.");
    await settled(page);
    await ask(page, other);
    await card(page, "lab.note").getByRole("button", { name: "Deny" }).click();
    await says(page, "It asked.");
  },

  "always: another conversation does not ask either": async ({ open, model }) => {
    const page = await dangerous(open, model, "kept.txt", "lab.note");
    await card(page, "lab.note").getByRole("button", { name: "Always allow" }).click();
    await says(page, "kept kept.txt");
    const again = fresh("In another conversation");
    model.on(again, [{ call: ["lab.note", { path: "kept.txt" }] }], [{ text: "It did not ask." }]);
    const other = await open();
    await ask(other, again);
    await says(other, "It did not ask.");
  },

  "an approval survives a reload": async ({ open, model }) => {
    const page = await dangerous(open, model, "reload.txt");
    await page.reload();
    await card(page, "lab.danger").getByRole("button", { name: "Allow once" }).click();
    await says(page, "wrote reload.txt");
  },

  "an approval is answered by the other browser": async ({ open, model }) => {
    const one = await dangerous(open, model, "elsewhere.txt");
    const two = await open("#/approvals");
    await inbox(two, "elsewhere.txt").getByRole("button", { name: "Allow once" }).click();
    await says(one, "wrote elsewhere.txt");
    await card(one, "lab.danger").getByRole("button", { name: "Allow once" }).waitFor({ state: "detached" });
    await settled(one);
  },

  "the inbox forgets what is answered in the conversation": async ({ open, model }) => {
    const one = await dangerous(open, model, "forgotten.txt");
    const two = await open("#/approvals");
    await inbox(two, "forgotten.txt").waitFor();
    await card(one, "lab.danger").getByRole("button", { name: "Allow once" }).click();
    await says(one, "wrote forgotten.txt");
    await until("the inbox shows no form for it", async () => (await inbox(two, "forgotten.txt").getByRole("button", { name: "Allow once" }).count()) === 0);
  },

  "the inbox has what is asked while it is read": async ({ open, model }) => {
    const two = await open();
    let answered = false;
    await two.route("**/api/approvals", async (route) => {
      const response = await route.fetch();
      if (!answered) {
        answered = true;
        await dangerous(open, model, "meanwhile.txt");
      }
      await route.fulfill({ response });
    });
    await two.evaluate(() => { location.hash = "#/approvals"; });
    await inbox(two, "meanwhile.txt").getByRole("button", { name: "Allow once" }).waitFor();
  },

  "a badge counts what waits": async ({ open, model }) => {
    const page = await dangerous(open, model, "badge.txt");
    const link = page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: /Approvals/ });
    await until("the badge is shown", async () => /\d/.test(await link.innerText()));
    await card(page, "lab.danger").getByRole("button", { name: "Deny" }).click();
    await settled(page);
  },

  "parameters are edited before the call": async ({ open, model }) => {
    const page = await dangerous(open, model, "wrong.txt");
    const form = card(page, "lab.danger").locator("form.decision");
    await form.getByRole("button", { name: "Edit parameters" }).click();
    await form.getByRole("textbox", { name: "Parameters as JSON" }).fill('{"path": "right.txt"}');
    await form.getByRole("button", { name: "Allow once" }).click();
    await says(page, "wrote right.txt");
  },

  "the turn goes on after the last of two answers": async ({ open, model }) => {
    const question = fresh("Two dangers");
    model.on(question, [{ call: ["lab.danger", { path: "first.txt" }] }, { call: ["lab.danger", { path: "second.txt" }] }], [{ text: "Both were answered." }]);
    const page = await open();
    await ask(page, question);
    const buttons = page.getByRole("button", { name: "Allow once" });
    await until("two forms are shown", async () => (await buttons.count()) === 2);
    await buttons.first().click();
    await until("one form is left", async () => (await buttons.count()) === 1);
    equal(await count(page, "Both were answered."), 0);
    await buttons.first().click();
    await says(page, "Both were answered.");
  },

  "an answer that comes twice is told so": async ({ open, model, server }) => {
    const page = await dangerous(open, model, "twice.txt");
    const id = await session(page);
    const one = (await server.get("/api/approvals")).items.find((item) => item.session === id);
    await server.post(`/api/approvals/${encodeURIComponent(one.id)}`, { decision: "once" });
    const status = await fetch(`${server.base}/api/approvals/${encodeURIComponent(one.id)}`, { method: "POST", headers: { ...server.headers, "Content-Type": "application/json" }, body: '{"decision":"deny"}' });
    holds([404, 409].includes(status.status), "the second answer is refused");
    await says(page, "wrote twice.txt");
  },
};
