// `@modelcontextprotocol/sdk` 1.x, of the era of sessions.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { asked, intruder, steps, tell } from './steps.mjs';

const { command, url, token } = asked();

const transport = (headers) => {
  if (url) return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  const [program, ...args] = command;
  return new StdioClientTransport({ command: program, args });
};

const connect = async (headers) => {
  const client = new Client({ name: 'typescript-1', version: '1.0.0' });
  const way = transport(headers);
  await client.connect(way);
  return { client, way };
};

const { client, way } = await connect({ Authorization: `Bearer ${token}` });
const seen = await steps({
  list: async () => (await client.listTools()).tools,
  call: (name, input, onprogress) => client.callTool({ name, arguments: input }, undefined, { onprogress }),
});
seen.server = client.getServerVersion();
seen.protocol = way.protocolVersion ?? null;
if (url) {
  await way.terminateSession();
  seen.intruder = await intruder(() => connect({}));
}
await client.close();
tell(seen);
