// Cases of the JavaScript clients: `node clients.mjs BASE TOKEN`, with OPENAI_PACKAGES. One line of JSON a case.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const packages = createRequire(path.join(process.env.OPENAI_PACKAGES, "package.json"));
const load = (name) => import(pathToFileURL(packages.resolve(name)).href);
const [{ default: OpenAI }, { createOpenAI }, ai, agents, agui, { z }] = await Promise.all(
  ["openai", "@ai-sdk/openai", "ai", "@openai/agents", "@ag-ui/client", "zod"].map(load));

// Its warnings would be lines among the results.
globalThis.AI_SDK_LOG_WARNINGS = false;
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

function holds(isSo, what) {
  if (!isSo) throw new Error(`expected: ${what}`);
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

const respond = (input, more) => client.responses.create({ model, input, ...more });
/// The one item of a type.
function item({ output }, type) {
  const found = output.filter((one) => one.type === type);
  if (found.length !== 1) throw new Error(`expected one ${type}, found ${output.map((one) => one.type)}`);
  return found[0];
}
const responses = {
  whole: async () => {
    const answer = await respond("plain");
    equal([answer.status, answer.output_text, answer.usage.input_tokens], ["completed", "Hello from the model.", 1200]);
  },
  streamed: async () => {
    const stream = client.responses.stream({ model, input: "plain" });
    let text = "";
    for await (const event of stream) if (event.type === "response.output_text.delta") text += event.delta;
    equal([text, (await stream.finalResponse()).output_text], ["Hello from the model.", "Hello from the model."]);
  },
  continued: async () => {
    const first = await respond("plain");
    equal((await respond("history", { previous_response_id: first.id })).output_text, "I know of 2 questions.");
  },
  background: async () => {
    let answer = await respond("plain", { background: true });
    while (["queued", "in_progress"].includes(answer.status)) answer = await client.responses.retrieve(answer.id);
    equal([answer.status, answer.output_text], ["completed", "Hello from the model."]);
  },
  cancel: async () => {
    const { id } = await respond("slow", { background: true });
    equal([(await client.responses.cancel(id)).status, (await client.responses.retrieve(id)).status], ["cancelled", "cancelled"]);
  },
  "input items": async () => {
    const { id } = await respond("plain"), { data } = await client.responses.inputItems.list(id);
    equal(data.map((one) => [one.role, one.content[0].text]), [["user", "plain"]]);
    await client.responses.delete(id);
    await fails(404, () => client.responses.retrieve(id));
  },
  "tools of ours": async () => {
    const answer = await respond("ours"), call = item(answer, "mcp_call");
    equal([call.server_label, call.name, call.arguments, call.output, answer.output_text], ["lab", "echo", '{"text":"apple"}', "apple", "The tool said apple."]);
    return "`mcp_call` items with arguments and result";
  },
  approval: async () => {
    const first = await respond("asked"), request = item(first, "mcp_approval_request");
    equal([request.server_label, request.name], ["lab", "danger"]);
    const last = await respond([{ type: "mcp_approval_response", approval_request_id: request.id, approve: true }], { previous_response_id: first.id });
    equal([item(last, "mcp_call").output, last.output_text], ["wrote note.txt", "The file is written."]);
    return "`mcp_approval_request` items";
  },
  "tools of theirs": async () => {
    const mine = [{ type: "function", ...tools[0].function, strict: false }];
    const first = await respond("theirs", { tools: mine }), call = item(first, "function_call");
    const back = { type: "function_call_output", call_id: call.call_id, output: `sunny in ${JSON.parse(call.arguments).city}` };
    equal((await respond([back], { tools: mine, previous_response_id: first.id })).output_text, "It is sunny in Oslo.");
  },
  images: async () => {
    const content = [{ type: "input_text", text: "picture" }, { type: "input_image", detail: "auto", image_url: `data:image/png;base64,${PNG}` }];
    equal((await respond(user(content))).output_text, "I see 1 picture.");
  },
  errors: async () => {
    await fails(404, () => client.responses.create({ model: "zzz", input: "plain" }));
    await fails(400, () => respond("plain", { temprature: 1 }));
    await fails(404, () => respond("plain", { previous_response_id: "resp_unknown" }));
    holds((await fails(502, () => respond("broken"))).message.includes("scripted failure"), "the provider's error is told");
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

// The default of the provider is the Responses API.
const answers = { model: createOpenAI({ baseURL, apiKey })(model), maxRetries: 0 };
/// The client keeps the messages. By default it names those of the model by their ids.
async function history(providerOptions) {
  const first = await ai.generateText({ ...answers, prompt: "plain", providerOptions });
  const messages = [...user("plain"), ...first.response.messages, ...user("history")];
  equal((await ai.generateText({ ...answers, messages, providerOptions })).text, "I know of 2 questions.");
}
const sdkResponses = {
  whole: async () => equal((await ai.generateText({ ...answers, prompt: "plain" })).text, "Hello from the model."),
  streamed: async () => equal(await ai.streamText({ ...answers, prompt: "plain" }).text, "Hello from the model."),
  continued: async () => {
    const { providerMetadata } = await ai.generateText({ ...answers, prompt: "plain" });
    const providerOptions = { openai: { previousResponseId: providerMetadata.openai.responseId } };
    equal((await ai.generateText({ ...answers, prompt: "history", providerOptions })).text, "I know of 2 questions.");
  },
  history: () => history({}),
  "history, not stored": () => history({ openai: { store: false } }),
  "tools of ours": async () => {
    const { text, content } = await ai.generateText({ ...answers, prompt: "ours" });
    const call = content.find(({ type }) => type === "tool-call"), result = content.find(({ type }) => type === "tool-result");
    equal([text, call?.toolName, call?.providerExecuted, result?.output?.output], ["The tool said apple.", "mcp.echo", true, "apple"]);
    return "the call `mcp.TOOL` and its result, run by the provider";
  },
  "tools of ours, streamed": async () => {
    const kinds = [];
    for await (const part of ai.streamText({ ...answers, prompt: "ours" }).fullStream) if (part.type.startsWith("tool-")) kinds.push(part.type);
    equal(kinds, ["tool-call", "tool-result"]);
  },
  approval: async () => {
    const first = await ai.generateText({ ...answers, prompt: "asked" });
    const request = first.content.find(({ type }) => type === "tool-approval-request");
    holds(request, `a request for approval, not ${JSON.stringify(first.content)}`);
    const answer = { role: "tool", content: [{ type: "tool-approval-response", approvalId: request.approvalId, approved: true, providerExecuted: true }] };
    const providerOptions = { openai: { previousResponseId: first.providerMetadata.openai.responseId } };
    const last = await ai.generateText({ ...answers, messages: [...first.response.messages, answer], providerOptions });
    equal(last.text, "The file is written.");
    return "requests for approval";
  },
  "tools of theirs": async () => {
    equal((await ai.generateText({ ...answers, prompt: "theirs", tools: theirs, stopWhen: ai.stepCountIs(3) })).text, "It is sunny in Oslo.");
  },
  images: async () => {
    const content = [{ type: "text", text: "picture" }, { type: "image", image: PNG, mediaType: "image/png" }];
    equal((await ai.generateText({ ...answers, messages: user(content) })).text, "I see 1 picture.");
  },
  errors: async () => {
    await fails(404, () => ai.generateText({ ...answers, model: createOpenAI({ baseURL, apiKey })("zzz"), prompt: "plain" }));
    holds((await fails(502, () => ai.generateText({ ...answers, prompt: "broken" }))).message.includes("scripted failure"), "the provider's error is told");
  },
  cancel: async () => {
    const ending = new AbortController();
    const { textStream } = ai.streamText({ ...answers, prompt: "slow", abortSignal: ending.signal, onError: () => {} });
    for await (const piece of textStream) if (piece) ending.abort();
    await sdkResponses.whole();
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

const responder = new agents.OpenAIProvider({ openAIClient: client, useResponses: true });
const runner = new agents.Runner({ modelProvider: responder, tracingDisabled: true });
const hosted = (run) => run.newItems.filter((one) => one.type === "tool_call_item").map(({ rawItem }) => rawItem);
const agencyResponses = {
  whole: async () => equal((await runner.run(agent(), "plain")).finalOutput, "Hello from the model."),
  streamed: async () => {
    const run = await runner.run(agent(), "plain", { stream: true });
    let text = "";
    for await (const piece of run.toTextStream()) text += piece;
    equal(text, "Hello from the model.");
  },
  continued: async () => {
    const { lastResponseId } = await runner.run(agent(), "plain");
    equal((await runner.run(agent(), "history", { previousResponseId: lastResponseId })).finalOutput, "I know of 2 questions.");
  },
  "tools of ours": async () => {
    const run = await runner.run(agent(), "ours"), calls = hosted(run);
    equal([run.finalOutput, calls.map(({ type, providerData, output }) => [type, providerData.server_label, output])], ["The tool said apple.", [["hosted_tool_call", "lab", "apple"]]]);
    return "hosted tool calls with their results";
  },
  approval: async () => {
    const run = await runner.run(agent(), "asked");
    equal(run.interruptions.length, 1);
    run.state.approve(run.interruptions[0]);
    equal((await runner.run(agent(), run.state)).finalOutput, "The file is written.");
  },
  "tools of theirs": async () => equal((await runner.run(agent({ tools: [weather] }), "theirs")).finalOutput, "It is sunny in Oslo."),
  images: async () => {
    const content = [{ type: "input_text", text: "picture" }, { type: "input_image", image: `data:image/png;base64,${PNG}` }];
    equal((await runner.run(agent(), user(content))).finalOutput, "I see 1 picture.");
  },
  errors: async () => { await fails(404, () => runner.run(agent({ model: "zzz" }), "plain")); },
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

const CLIENTS = {
  "openai (JavaScript)": openai, "openai (JavaScript), responses": responses, "@ai-sdk/openai": sdk, "@ai-sdk/openai, responses": sdkResponses,
  "@openai/agents": agency, "@openai/agents, responses": agencyResponses, "@ag-ui/client": agUi,
};
for (const [name, cases] of Object.entries(CLIENTS)) {
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
