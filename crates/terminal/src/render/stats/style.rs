//! The frame of the page and what it looks like, by day and by night.

/// Colours of models; those that took least share the last one.
pub(super) const SERIES: usize = 8;

/// What is put in must be HTML already.
pub(super) fn page(period: &str, facts: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>What was used, {period}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>What was used</h1>\n<p>{period}</p>\n<dl>{facts}</dl>\n</header>\n<main>\n{body}</main>\n\
         <footer>From the sessions that are kept here, by converse {}. p50 and p95: half of all times, and 95 of 100, \
         are no longer (to 1&nbsp;%).</footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const STYLE: &str = "\
:root { --paper: #fbfaf8; --card: #ffffff; --ink: #22211f; --soft: #6d6a64; --line: #e6e2da; --accent: #2f5d9e;
  --bad: #c0564b; --s0: #3f6fb5; --s1: #e0953f; --s2: #4c9a72; --s3: #b0568f; --s4: #6f63b8; --s5: #3fa3ad;
  --s6: #c9705d; --s7: #a09a8f; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16171a; --card: #1d1f23; --ink: #e4e2dd; --soft: #97948d; --line: #2f3238; --accent: #8db4ea;
    --bad: #e58a83; --s0: #7aa5e6; --s1: #e8b06a; --s2: #7cc29c; --s3: #d68dbb; --s4: #a49be3; --s5: #72c6cf;
    --s6: #e39b8b; --s7: #8b877f; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100%;
  font: 16px/1.55 system-ui, -apple-system, \"Segoe UI\", Roboto, \"Helvetica Neue\", sans-serif; }
header, main, footer { max-width: 56rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 3rem; }
h1 { margin: 0; font-size: 1.8rem; line-height: 1.2; letter-spacing: -.02em; }
header p { margin: .3rem 0 1.4rem; color: var(--soft); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.6rem, 1fr)); gap: .75rem; margin: 0 0 .5rem; }
dl div { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; padding: .7rem .9rem; }
dt { font-size: .75rem; color: var(--soft); }
dd { margin: 0; font-size: 1.35rem; font-weight: 600; letter-spacing: -.01em; font-variant-numeric: tabular-nums; }
dd small { display: block; font-size: .72rem; font-weight: 400; color: var(--soft); letter-spacing: 0; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .9rem; padding: 1.1rem 1.2rem;
  margin: 1rem 0; }
h2 { margin: 0 0 .7rem; font-size: 1rem; letter-spacing: -.005em; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { font-size: 11px; fill: var(--soft); font-variant-numeric: tabular-nums; }
svg text.name { fill: var(--ink); font-size: 12px; }
.grid { stroke: var(--line); stroke-width: 1; }
rect:hover { opacity: .8; }
.s0 { fill: var(--s0); background: var(--s0); } .s1 { fill: var(--s1); background: var(--s1); }
.s2 { fill: var(--s2); background: var(--s2); } .s3 { fill: var(--s3); background: var(--s3); }
.s4 { fill: var(--s4); background: var(--s4); } .s5 { fill: var(--s5); background: var(--s5); }
.s6 { fill: var(--s6); background: var(--s6); } .s7 { fill: var(--s7); background: var(--s7); }
.half { fill: var(--accent); background: var(--accent); }
.most { fill: var(--accent); background: var(--accent); opacity: .45; }
.bad { fill: var(--bad); background: var(--bad); }
.key { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem .9rem; margin: .7rem 0 0; padding: 0;
  font-size: .8rem; color: var(--soft); }
.key li { overflow-wrap: anywhere; }
.key i { display: inline-block; width: .65rem; height: .65rem; border-radius: .2rem; margin-right: .4rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); font-size: .75rem; }
th:first-child, td:first-child { text-align: left; padding-left: 0; white-space: normal; overflow-wrap: anywhere;
  min-width: 9rem; }
tr:last-child td { border-bottom: 0; }
.note { font-size: .85rem; color: var(--soft); margin: 1rem 0; }
footer { padding-top: .5rem; padding-bottom: 3rem; font-size: .78rem; color: var(--soft); }
@media print { body { background: none; } section { break-inside: avoid; } }
";
