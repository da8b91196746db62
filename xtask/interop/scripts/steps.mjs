// What every client on Node does with the gateway: it tells what it saw, and others judge it.

const PREFIX = 'everything__';
const LONG = `${PREFIX}trigger-long-running-operation`;

/** What is asked of us: `{ command: [...] }` or `{ url, token }`. */
export const asked = () => JSON.parse(process.argv[2]);

/** So many calls at once: how many of them went well. */
const atOnce = async (call, count) => {
  const calls = Array.from({ length: count }, () => call(LONG, { duration: 1, steps: 1 }));
  return (await Promise.all(calls)).filter((result) => !result.isError).length;
};

/** `call(name, arguments, onProgress)` gives a result or throws; `list()` gives the tools. */
export async function steps({ list, call, many = (count) => atOnce(call, count) }) {
  const one = async (name, input, onProgress) => {
    try {
      const { isError, content, structuredContent } = await call(PREFIX + name, input, onProgress);
      const texts = content.filter((part) => part.type === 'text').map((part) => part.text);
      const others = content.filter((part) => part.type !== 'text').map((part) => part.type);
      return { failed: isError ?? false, text: texts.join('\n'), others, structured: structuredContent ?? null };
    } catch (error) {
      return { refused: String(error.message ?? error), code: error.code ?? null };
    }
  };
  const seen = { tools: (await list()).map((tool) => tool.name) };
  seen.good = await one('echo', { message: 'cheese on the moon' });
  seen.structured = await one('get-structured-content', { location: 'Chicago' });
  seen.image = await one('get-tiny-image', {});
  seen.bad = await one('get-resource-reference', { resourceType: 'Text', resourceId: -1 });
  seen.invalid = await one('get-sum', { a: 'x', b: 3 });
  seen.unknown = await one('no-such-tool', {});
  let progress = 0;
  seen.long = await one('trigger-long-running-operation', { duration: 1, steps: 4 }, () => (progress += 1));
  seen.progress = progress;
  const began = performance.now();
  seen.many = await many(20);
  seen.many_ms = Math.round(performance.now() - began);
  return seen;
}

/** The steps that every framework has a way for. `read(result)` gives `{ failed, text }`. */
export async function briefly({ names, call, read }) {
  const one = async (name, input) => {
    try {
      return read(await call(PREFIX + name, input));
    } catch (error) {
      // A framework tells its model of a failure by an exception.
      return { failed: true, text: String(error.message ?? error) };
    }
  };
  const seen = { tools: names };
  seen.good = await one('echo', { message: 'cheese on the moon' });
  seen.bad = await one('get-resource-reference', { resourceType: 'Text', resourceId: -1 });
  seen.invalid = await one('get-sum', { a: 'x', b: 3 });
  const began = performance.now();
  const long = () => one('trigger-long-running-operation', { duration: 1, steps: 1 });
  const many = await Promise.all(Array.from({ length: 20 }, long));
  seen.many = many.filter((result) => !result.failed).length;
  seen.many_ms = Math.round(performance.now() - began);
  return seen;
}

/** The last words of a script: all it saw, as one line. */
export function tell(seen) {
  console.log(JSON.stringify(seen));
  // A stream that a library keeps open would keep it running.
  process.exit(0);
}

/** How somebody without a token is received. */
export async function intruder(connect) {
  try {
    await connect();
    return 'let in';
  } catch (error) {
    return `kept out: ${error.code ?? ''} ${error.message}`;
  }
}
