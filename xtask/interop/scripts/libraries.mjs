// Agent frameworks on Node, without a model: `libraries.mjs SPEC LIBRARY`. Each lists the gateway's tools and calls some
// with its own client; a result becomes `{ failed, text }`.

import { asked, briefly, tell } from './steps.mjs';

const { command, url, token } = asked();
const headers = { Authorization: `Bearer ${token}` };
const [program, ...args] = command ?? [];
const text = (content) =>
  content.filter((part) => part.type === 'text').map((part) => part.text).join('\n');
const whole = (result) => ({ failed: result.isError ?? false, text: text(result.content) });

const LIBRARIES = {
  async ai() {
    const { createMCPClient } = await import('@ai-sdk/mcp');
    const { Experimental_StdioMCPTransport: Stdio } = await import('@ai-sdk/mcp/mcp-stdio');
    const transport = url ? { type: 'http', url, headers } : new Stdio({ command: program, args });
    const tools = await (await createMCPClient({ transport })).tools();
    const call = (name, input) => tools[name].execute(input, { toolCallId: name, messages: [] });
    return { names: Object.keys(tools), call, read: whole };
  },

  async langchain() {
    const { MultiServerMCPClient } = await import('@langchain/mcp-adapters');
    const gateway = url
      ? { transport: 'http', url, headers }
      : { transport: 'stdio', command: program, args };
    const client = new MultiServerMCPClient({ mcpServers: { gateway } });
    const tools = Object.fromEntries((await client.getTools()).map((tool) => [tool.name, tool]));
    const read = (result) => ({ failed: false, text: JSON.stringify(result) });
    return { names: Object.keys(tools), call: (name, input) => tools[name].invoke(input), read };
  },

  async mcp_use() {
    const { MCPClient } = await import('mcp-use/client');
    const gateway = url ? { url, headers } : { command: program, args };
    const client = new MCPClient({ mcpServers: { gateway } });
    const session = await client.createSession('gateway');
    const names = (await session.listTools()).map((tool) => tool.name);
    return { names, call: (name, input) => session.callTool(name, input), read: whole };
  },
};

tell(await briefly(await LIBRARIES[process.argv[3]]()));
