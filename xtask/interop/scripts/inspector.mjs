// The MCP Inspector's command line: a process for each request.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { asked, intruder, steps, tell } from './steps.mjs';

const { command, url, token } = asked();
const CLI = fileURLToPath(
  new URL('../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url),
);

const run = (words, headers = ['--header', `Authorization: Bearer ${token}`]) => {
  // Headers take all words up to the next option: they stand last. After two dashes a server's options are its own.
  const argv = url
    ? [CLI, '--cli', url, '--transport', 'http', ...words, ...headers]
    : [CLI, '--cli', ...words, '--', ...command];
  return new Promise((done, failed) => {
    execFile(process.execPath, argv, { timeout: 60_000 }, (error, stdout, stderr) => {
      try {
        done(JSON.parse(stdout));
      } catch {
        failed(new Error(`${stdout} ${stderr} ${error?.message ?? ''}`.trim()));
      }
    });
  });
};

const pairs = (input) => Object.entries(input).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`]);

const seen = await steps({
  list: async () => (await run(['--method', 'tools/list'])).tools,
  // Its own load generator: twenty processes would measure the machine.
  many: async (count) => {
    const load = ['--load', '--load-requests', count, '--load-concurrency', count].map(String);
    const long = ['--tool-name', 'everything__trigger-long-running-operation', ...pairs({ duration: 1, steps: 1 })];
    return (await run(['--method', 'tools/call', ...long, ...load])).ok;
  },
  call: (name, input) => run(['--method', 'tools/call', '--tool-name', name, ...pairs(input)]),
});
if (url) seen.intruder = await intruder(() => run(['--method', 'tools/list'], []));
tell(seen);
