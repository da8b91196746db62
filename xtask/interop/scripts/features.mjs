// Uses every feature of the server `everything` with the official client, and tells what came of each: directly, or
// through a gateway that puts its own prefix before names. `{ command, root }` or `{ url, token, root }` in, `{ feature: result }` out.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { asked, tell } from './steps.mjs';

const { command, url, token, root: ROOT } = asked();
const LIMIT = 10_000;
// Log messages and changes of resources come every five seconds.
const PATIENCE = 8_000;
const DOCUMENT = 'demo://resource/static/document/architecture.md';
const DYNAMIC = 'demo://resource/dynamic/text/1';

const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };
const client = new Client({ name: 'features', version: '1.0.0' }, { capabilities });

/** What came in, by method, and who waits for it. */
const heard = {};
const hear = (method, params) => {
  (heard[method] ??= []).push(params);
};
client.setRequestHandler(types.ListRootsRequestSchema, async () => {
  hear('roots', {});
  return { roots: [{ uri: ROOT, name: 'cheese' }] };
});
client.setRequestHandler(types.CreateMessageRequestSchema, async ({ params }) => {
  hear('sampling', params);
  return { role: 'assistant', model: 'the-moon', content: { type: 'text', text: 'green cheese' } };
});
client.setRequestHandler(types.ElicitRequestSchema, async ({ params }) => {
  hear('elicitation', params);
  return { action: 'accept', content: { name: 'Io', check: true } };
});
client.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) => hear('message', params));
client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, ({ params }) => hear('updated', params));

const headers = { Authorization: `Bearer ${token}` };
const transport = () => {
  if (url) return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  const [program, ...args] = command;
  return new StdioClientTransport({ command: program, args, stderr: 'ignore' });
};
await client.connect(transport());
// The server offers some tools only after it asked what its client can do.
await new Promise((done) => setTimeout(done, 1000));

const within = (promise, limit = LIMIT) =>
  Promise.race([promise, new Promise((_, failed) => setTimeout(() => failed(new Error('no answer')), limit).unref())]);
const arrives = async (method, limit = PATIENCE) => {
  const end = Date.now() + limit;
  while (!heard[method]?.length && Date.now() < end) await new Promise((done) => setTimeout(done, 20));
  return heard[method]?.length > 0;
};
/** The name by which this side has it: its own, or one behind a prefix. */
const own = (names, name) => names.find((one) => one === name || one.endsWith(`__${name}`)) ?? name;
const plain = (name) => name.replace(/^.*__/, '');

const all = async (list, key) => {
  const found = [];
  let cursor;
  do {
    const page = await list({ cursor });
    found.push(...page[key]);
    cursor = page.nextCursor;
  } while (cursor);
  return found;
};
const tools = () => all((params) => client.listTools(params), 'tools');
const names = (await tools()).map((tool) => tool.name);
const call = (name, input = {}, options) =>
  client.callTool({ name: own(names, name), arguments: input }, undefined, { timeout: LIMIT, ...options });
const content = async (name, input) => (await call(name, input)).content;
const texts = async (name, input) =>
  (await content(name, input)).filter((part) => part.type === 'text').map((part) => part.text).join('\n');
const prompts = async () => await all((params) => client.listPrompts(params), 'prompts');
const prompt = async (name, input) =>
  (await client.getPrompt({ name: own((await prompts()).map((one) => one.name), name), arguments: input })).messages;
const resources = () => all((params) => client.listResources(params), 'resources');
const uri = async (wanted) => (await resources()).map((one) => one.uri).find((one) => one.endsWith(wanted)) ?? wanted;
const templates = () => all((params) => client.listResourceTemplates(params), 'resourceTemplates');

const FEATURES = {
  'tools: names': async () => names.map(plain).sort(),
  'tools: titles and annotations': async () =>
    (await tools()).map(({ name, title, annotations }) => [plain(name), title, annotations]).sort(),
  'tools: input and output schemas': async () =>
    (await tools()).map(({ name, inputSchema, outputSchema }) => [plain(name), Object.keys(inputSchema.properties ?? {}), outputSchema?.required]).sort(),
  'tools: text': () => content('echo', { message: 'cheese' }),
  'tools: an image': async () => (await content('get-tiny-image')).map(({ type, text, mimeType, data }) => [type, text, mimeType, data?.length]),
  'tools: annotated content': async () =>
    (await content('get-annotated-message', { messageType: 'error', includeImage: true })).map(({ type, text, annotations }) => [type, text, annotations]),
  'tools: resource links': () => content('get-resource-links', { count: 2 }),
  'tools: an embedded resource': async () =>
    (await content('get-resource-reference', { resourceType: 'Text', resourceId: 1 })).map((part) => [part.type, part.resource?.uri]),
  'tools: structured content': async () => Object.keys((await call('get-structured-content', { location: 'Chicago' })).structuredContent),
  'tools: an error of a tool': async () => (await call('get-resource-reference', { resourceType: 'Text', resourceId: -1 })).isError,
  'progress: each message': async () => {
    let count = 0;
    await call('trigger-long-running-operation', { duration: 2, steps: 20 }, { onprogress: () => (count += 1) });
    return count >= 19;
  },
  'cancellation: the call ends, the connection goes on': async () => {
    const stop = new AbortController();
    const long = call('trigger-long-running-operation', { duration: 8, steps: 2 }, { signal: stop.signal });
    setTimeout(() => stop.abort('enough'), 200);
    const ended = await within(long.then(() => 'finished', () => 'cancelled'), 4000);
    return [ended, await texts('echo', { message: 'still here' })];
  },
  'prompts: names and arguments': async () =>
    (await prompts()).map(({ name, arguments: given }) => [plain(name), given?.map((one) => one.name)]).sort(),
  'prompts: a simple one': () => prompt('simple-prompt'),
  'prompts: one with arguments': () => prompt('args-prompt', { city: 'Paris' }),
  'prompts: one with a resource': async () =>
    (await prompt('resource-prompt', { resourceType: 'Text', resourceId: '1' })).map((one) => one.content.type),
  'completion: of a prompt': async () => {
    const name = own((await prompts()).map((one) => one.name), 'completable-prompt');
    return (await client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: 'department', value: 'E' } })).completion.values;
  },
  'completion: of a template': async () => {
    const found = (await templates()).map((one) => one.uriTemplate).find((one) => one.endsWith('/dynamic/text/{resourceId}'));
    return (await client.complete({ ref: { type: 'ref/resource', uri: found }, argument: { name: 'resourceId', value: '1' } })).completion.values;
  },
  'resources: names': async () => (await resources()).map((one) => plain(one.name)).sort(),
  'resources: read': async () => (await client.readResource({ uri: await uri(DOCUMENT) })).contents[0].text.slice(0, 60),
  'resources: one that is not there': () =>
    client.readResource({ uri: 'demo://nowhere' }).then(() => 'read', () => 'refused'),
  'resources: templates': async () => (await templates()).map((one) => plain(one.name)).sort(),
  'resources: read by a template': async () => (await client.readResource({ uri: DYNAMIC })).contents[0].text.slice(0, 40),
  'subscriptions: a change is announced': async () => {
    await client.subscribeResource({ uri: DYNAMIC });
    await call('toggle-subscriber-updates');
    const came = await arrives('updated');
    await call('toggle-subscriber-updates');
    await client.unsubscribeResource({ uri: DYNAMIC });
    return came;
  },
  'logging: a message comes': async () => {
    await client.setLoggingLevel('debug');
    await call('toggle-simulated-logging');
    const came = await arrives('message');
    await call('toggle-simulated-logging');
    return came;
  },
  'elicitation: the client is asked': async () => {
    const said = await texts('trigger-elicitation-request');
    return [Object.keys(heard.elicitation?.[0]?.requestedSchema?.properties ?? {}), said.includes('Io')];
  },
  'sampling: the client\'s model is asked': async () => {
    const said = await texts('trigger-sampling-request', { prompt: 'what is the moon made of', maxTokens: 20 });
    return [heard.sampling?.length > 0, said.includes('green cheese')];
  },
  'roots: the server knows them': async () => (await texts('get-roots-list')).includes(ROOT),
  'roots: the client is asked': async () => heard.roots?.length > 0,
  'tasks: a call runs as one': async () => {
    const stream = client.experimental.tasks.callToolStream({ name: own(names, 'simulate-research-query'), arguments: { topic: 'moons' } });
    const kinds = [];
    for await (const { type, error } of stream) if (!kinds.includes(type)) kinds.push(error ? `${type}: ${error.message}` : type);
    return kinds;
  },
  'ping': () => client.ping(),
};

const seen = {};
for (const [name, feature] of Object.entries(FEATURES)) {
  const began = Date.now();
  try {
    seen[name] = await within(feature(), 20_000);
  } catch (error) {
    seen[name] = { failed: String(error.message ?? error) };
  }
  if (process.env.FEATURES_TIMES) console.error(Date.now() - began, name);
}
await within(client.close()).catch(() => {});
tell(seen);
