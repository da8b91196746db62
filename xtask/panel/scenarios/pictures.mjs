// The pictures of docs/images: `cargo xtask panel --only pictures --shots docs/images`.
import { answers, made, says } from "../pages.mjs";

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
};
