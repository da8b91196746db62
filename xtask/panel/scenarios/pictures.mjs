// The pictures of docs/images: `cargo xtask panel --only pictures --shots docs/images`.
import { answers, made, says } from "../pages.mjs";
import { until } from "../waiting.mjs";

const QUESTION = "Is it warmer in Oslo or in Bergen?";

export default {
  "a conversation in the light theme, in the dark theme and on a phone": async ({ server, model, open, shot }) => {
    const answer = "It is warmer in **Oslo**, by one degree:\n\n| city | °C |\n|---|---|\n| Oslo | 8 |\n| Bergen | 7 |";
    const id = await made(server, model, QUESTION, [{ text: "I look at the weather." }, { call: ["lab.table", {}] }], [{ text: answer }]);
    for (const [name, options] of [["light", {}], ["dark", { theme: "dark" }], ["phone", { width: 360, height: 740 }]]) {
      const page = await open(`#/s/${id}`, { height: 640, ...options });
      await says(page, "It is warmer in");
      await answers(page).last().waitFor();
      await shot(page, `panel-${name}`);
    }
  },
  "an approval, a comparison, figures and a tool": async ({ server, model, open, shot }) => {
    const minutes = "Write the minutes of the meeting into minutes.md";
    model.on(minutes, [{ text: "I write them." }, { call: ["io.write_file", { path: "minutes.md", content: "# Minutes\n\n- The release is on Friday.\n" }] }], [{ text: "Done." }]);
    const waiting = crypto.randomUUID();
    await server.post("/api/runs", { threadId: waiting, runId: crypto.randomUUID(), messages: [{ id: "m", role: "user", content: minutes }], tools: [], state: {}, context: [], forwardedProps: {} });
    await until("it waits", async () => (await server.get("/api/approvals")).items.some((one) => one.session === waiting));
    const question = "How many degrees is it in Oslo?";
    model.on(question, (body) => [{ call: ["lab.table", {}] }, ...(body.model === "model-b" ? [{ call: ["lab.echo", { text: "Oslo" }] }] : [])],
      (body) => [{ text: body.model === "model-a" ? "It has **8 °C** in Oslo." : "It has **9 °C** in Oslo, and it rains." }]);
    const { id } = await server.post("/api/comparisons", { question, models: ["loopback/model-a", "loopback/model-b"] });
    const compared = async (page) => {
      const ended = page.locator("section.column > header .chip.ok");
      await ended.nth(1).waitFor();
    };
    const views = { approvals: ["approvals", (page) => page.getByRole("button", { name: "Allow once" }).first().waitFor()], compare: [`compare/${id}`, compared],
      figures: ["figures?by=tool", (page) => page.locator("figure svg").first().waitFor()], tools: ["tools/forms?tool=strings", (page) => page.getByRole("textbox", { name: /^mail/ }).waitFor()] };
    for (const [name, [hash, ready]] of Object.entries(views)) {
      const page = await open(`#/${hash}`, { height: 640 });
      await ready(page);
      await shot(page, `panel-${name}`);
    }
  },
};
