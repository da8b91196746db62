// What a server over stdio offers to the official client: `{ command: [...], environment: {...} }` in, names out.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { asked, tell } from './steps.mjs';

const { command, environment } = asked();
const [program, ...args] = command;
const client = new Client({ name: 'list', version: '1.0.0' });
await client.connect(new StdioClientTransport({ command: program, args, env: environment, stderr: 'ignore' }));

const tools = [];
let cursor;
do {
  const page = await client.listTools({ cursor });
  tools.push(...page.tools.map((tool) => tool.name));
  cursor = page.nextCursor;
} while (cursor);
tell({ tools: tools.sort(), server: client.getServerVersion()?.name });
