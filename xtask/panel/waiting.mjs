// Waiting for conditions.

/// Resolves to the first true value of `isSo`; rejects after `limit` milliseconds.
export async function until(what, isSo, limit = 15_000) {
  const end = Date.now() + limit;
  for (;;) {
    const value = await isSo();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within ${limit} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
