// `@modelcontextprotocol/client` 2.x, told to speak whatever the server speaks.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { asked, intruder, steps, tell } from './steps.mjs';

const { command, url, token } = asked();

const transport = (headers) => {
  if (url) return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  const [program, ...args] = command;
  return new StdioClientTransport({ command: program, args });
};

const connect = async (headers) => {
  const client = new Client(
    { name: 'typescript-2', version: '1.0.0' },
    { versionNegotiation: { mode: 'auto' } },
  );
  await client.connect(transport(headers));
  return client;
};

const client = await connect({ Authorization: `Bearer ${token}` });
const seen = await steps({
  list: async () => (await client.listTools()).tools,
  call: (name, input, onprogress) => client.callTool({ name, arguments: input }, { onprogress }),
});
seen.server = client.getServerVersion();
seen.protocol = client.getNegotiatedProtocolVersion();
if (url) seen.intruder = await intruder(() => connect({}));
await client.close();
tell(seen);
