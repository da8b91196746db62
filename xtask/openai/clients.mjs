// Cases of the JavaScript clients: `node clients.mjs BASE TOKEN`, with OPENAI_PACKAGES. One line of JSON a case.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const packages = createRequire(path.join(process.env.OPENAI_PACKAGES, "package.json"));
const load = (name) => import(pathToFileURL(packages.resolve(name)).href);
const [{ default: OpenAI }, { createOpenAI }, ai, agents, agui, { z }] = await Promise.all(
  ["openai", "@ai-sdk/openai", "ai", "@openai/agents", "@ag-ui/client", "zod"].map(load));

const [baseURL, apiKey] = process.argv.slice(2);
const root = baseURL.replace(/\/v1$/, ""), model = "loopback/model-a";
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
const tools = [{ type: "function", function: { name: "weather", description: "The weather", parameters } }];
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const user = (content) => [{ role: "user", content }];

function equal(found, wanted) {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`expected ${JSON.stringify(wanted)}, found ${JSON.stringify(found)}`);
}

async function fails(status, call) {
  let failed;
  try { await call(); } catch (error) { failed = error; }
  equal(failed?.status ?? failed?.statusCode, status);
  return failed;
}

const openai = {
  models: async () => equal((await client.models.list()).data.length > 0, true),
  whole: async () => {
    const answer = await client.chat.completions.create({ model, messages: user("plain") });
    equal([answer.choices[0].message.content, answer.usage.prompt_tokens], ["Hello from the model.", 1200]);
  },
  streamed: async () => {
    const stream = client.chat.completions.stream({ model, messages: user("plain") });
    equal((await stream.finalChatCompletion()).choices[0].message.content, "Hello from the model.");
  },
  "tools of ours": async () => {
    const { message } = (await client.chat.completions.create({ model, messages: user("ours") })).choices[0];
    equal([message.content, message.tool_calls, message.events[0].name], ["The tool said apple.", undefined, "echo"]);
    return "nothing; `message.events` has it";
  },
  "tools of theirs": async () => {
    const mine = [{ type: "function", function: { ...tools[0].function, parse: JSON.parse, function: ({ city }) => `sunny in ${city}` } }];
    equal(await client.chat.completions.runTools({ model, messages: user("theirs"), tools: mine }).finalContent(), "It is sunny in Oslo.");
  },
  images: async () => {
    const content = [{ type: "text", text: "picture" }, { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } }];
    equal((await client.chat.completions.create({ model, messages: user(content) })).choices[0].message.content, "I see 1 picture.");
  },
  errors: async () => {
    await fails(404, () => client.chat.completions.create({ model: "zzz", messages: user("plain") }));
    await fails(400, () => client.chat.completions.create({ model, messages: user("plain"), temprature: 1 }));
    await fails(401, () => new OpenAI({ baseURL, apiKey: "x".repeat(20), maxRetries: 0 }).models.list());
  },
  cancel: async () => {
    const stream = await client.chat.completions.create({ model, messages: user("slow"), stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) stream.controller.abort();
    await openai.whole();
  },
};

const chat = createOpenAI({ baseURL, apiKey }).chat(model);
const theirs = { weather: ai.tool({ description: "The weather", inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => `sunny in ${city}` }) };
const once = { model: chat, maxRetries: 0 };
const sdk = {
  whole: async () => equal((await ai.generateText({ ...once, prompt: "plain" })).text, "Hello from the model."),
  streamed: async () => equal(await ai.streamText({ ...once, prompt: "plain" }).text, "Hello from the model."),
  "tools of ours": async () => {
    const answer = await ai.generateText({ ...once, prompt: "ours" });
    equal([answer.text, answer.toolCalls.length, answer.finishReason], ["The tool said apple.", 0, "stop"]);
    return "nothing but the answer";
  },
  "tools of theirs": async () => {
    const answer = await ai.generateText({ ...once, prompt: "theirs", tools: theirs, stopWhen: ai.stepCountIs(3) });
    equal(answer.text, "It is sunny in Oslo.");
  },
  images: async () => {
    const content = [{ type: "text", text: "picture" }, { type: "image", image: PNG, mediaType: "image/png" }];
    equal((await ai.generateText({ ...once, messages: user(content) })).text, "I see 1 picture.");
  },
  errors: async () => {
    await fails(404, () => ai.generateText({ ...once, model: createOpenAI({ baseURL, apiKey }).chat("zzz"), prompt: "plain" }));
  },
  cancel: async () => {
    const ending = new AbortController();
    const { textStream } = ai.streamText({ ...once, prompt: "slow", abortSignal: ending.signal, onError: () => {} });
    for await (const piece of textStream) if (piece) ending.abort();
    await sdk.whole();
  },
};

agents.setTracingDisabled(true);
agents.setDefaultOpenAIClient(client);
agents.setOpenAIAPI("chat_completions");
const agent = (more) => new agents.Agent({ name: "agent", instructions: "Answer.", model, ...more });
const weather = agents.tool({ name: "weather", description: "The weather", parameters: z.object({ city: z.string() }), execute: async ({ city }) => `sunny in ${city}` });
const agency = {
  whole: async () => equal((await agents.run(agent(), "plain")).finalOutput, "Hello from the model."),
  streamed: async () => {
    const run = await agents.run(agent(), "plain", { stream: true });
    let text = "";
    for await (const piece of run.toTextStream()) text += piece;
    equal(text, "Hello from the model.");
  },
  "tools of ours": async () => {
    const run = await agents.run(agent(), "ours");
    equal([run.finalOutput, run.newItems.filter((item) => /tool/.test(item.type)).length], ["The tool said apple.", 0]);
    return "nothing but the answer";
  },
  "tools of theirs": async () => equal((await agents.run(agent({ tools: [weather] }), "theirs")).finalOutput, "It is sunny in Oslo."),
  errors: async () => { await fails(404, () => agents.run(agent({ model: "zzz" }), "plain")); },
};

const http = (threadId = crypto.randomUUID()) => new agui.HttpAgent({ url: `${root}/api/runs`, headers: { Authorization: `Bearer ${apiKey}` }, threadId });
async function turn(one, input = {}) {
  const events = [];
  await one.runAgent(input, { onEvent: ({ event }) => { events.push(event); } });
  return events;
}
const asks = (text) => { const one = http(); one.messages = [{ id: crypto.randomUUID(), ...user(text)[0] }]; return one; };
const text = (events) => events.filter(({ type }) => type === "TEXT_MESSAGE_CONTENT").map(({ delta }) => delta).join("");
const agUi = {
  streamed: async () => equal(text(await turn(asks("plain"))), "Hello from the model."),
  "tools of ours": async () => {
    const events = await turn(asks("ours"));
    equal(events.filter(({ type }) => type.startsWith("TOOL_CALL")).map(({ type }) => type), ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"]);
    equal(text(events), "The tool said apple.");
    return "the call, its arguments and its result";
  },
  "interrupt and resume": async () => {
    const one = asks("asked"), events = await turn(one), { outcome } = events.at(-1);
    equal([events.at(-1).type, outcome.type, outcome.interrupts[0].metadata.tool], ["RUN_FINISHED", "interrupt", "danger"]);
    const resumed = await turn(one, { resume: [{ interruptId: outcome.interrupts[0].id, status: "resolved", payload: { decision: "once" } }] });
    equal([text(resumed), resumed.at(-1).outcome.type], ["The file is written.", "success"]);
  },
};

for (const [name, cases] of Object.entries({ "openai (JavaScript)": openai, "@ai-sdk/openai": sdk, "@openai/agents": agency, "@ag-ui/client": agUi })) {
  for (const [label, run] of Object.entries(cases)) {
    const result = { client: name, case: label };
    let timer;
    const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error("no end within 60 s")), 60_000); });
    try { result.shown = await Promise.race([run(), late]); } catch (error) { result.wrong = error.stack ?? String(error); }
    clearTimeout(timer);
    console.log(JSON.stringify(result));
  }
}
process.exit(0);
