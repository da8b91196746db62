// Waiting for conditions.

/// Milliseconds that anything may take, also on a machine with other work.
export const LIMIT = 30_000;

/// Resolves to the first true value of `isSo`; rejects after `limit` milliseconds.
export async function until(what, isSo, limit = LIMIT) {
  const end = Date.now() + limit;
  for (;;) {
    const value = await isSo();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within ${limit} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
