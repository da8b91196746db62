//! The frame of an exported page and what it looks like.

/// What is put in must be HTML already. `facts` are `<li>` elements.
pub(super) fn page(title: &str, facts: &str, talk: &str, program: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n<ul>{facts}</ul>\n</header>\n<main>\n{talk}</main>\n\
         <footer>A conversation kept by {program}. Times are UTC.</footer>\n</body>\n</html>\n"
    )
}

const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

const STYLE: &str = "\
:root { --paper: #fbfaf8; --card: #ffffff; --ink: #22211f; --soft: #6d6a64; --line: #e6e2da; --user: #eef3fb;
  --user-line: #cfdcf1; --code: #f4f2ee; --good: #2e7d4f; --bad: #b3403a; --accent: #2f5d9e; --keyword: #8a3f97;
  --type: #8a5a12; --string: #2e6f48; --number: #20688a; --comment: #767168; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16171a; --card: #1d1f23; --ink: #e4e2dd; --soft: #97948d; --line: #2f3238; --user: #1e2836;
    --user-line: #2f4160; --code: #121316; --good: #6cc08b; --bad: #e58a83; --accent: #8db4ea; --keyword: #d49be0;
    --type: #e0b96f; --string: #8fcf9f; --number: #7cc4dd; --comment: #8b877e; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100%;
  font: 16px/1.6 system-ui, -apple-system, \"Segoe UI\", Roboto, \"Helvetica Neue\", sans-serif; }
header, main, footer { max-width: 48rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 3rem; padding-bottom: 1.5rem; border-bottom: 1px solid var(--line); }
h1 { margin: 0 0 .75rem; font-size: 1.7rem; line-height: 1.25; letter-spacing: -.015em; overflow-wrap: anywhere; }
header ul { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .35rem; }
header li { font-size: .8rem; color: var(--soft); border: 1px solid var(--line); border-radius: 99px;
  padding: .1rem .65rem; background: var(--card); overflow-wrap: anywhere; }
header li.tag { color: var(--accent); }
main { padding-top: 1.5rem; padding-bottom: 2rem; }
article { margin: 0 0 .6rem; }
article h2 { margin: 1.6rem 0 .4rem; font-size: .8rem; font-weight: 600; color: var(--soft);
  display: flex; gap: .6rem; align-items: baseline; }
article h2 .name { color: var(--ink); }
article.model h2 .name { color: var(--accent); }
time { font-weight: 400; font-variant-numeric: tabular-nums; }
article.user .body { background: var(--user); border: 1px solid var(--user-line); border-radius: .75rem;
  padding: .7rem 1rem .1rem; }
.typed, .plain { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; margin: 0 0 .6rem; }
.prose { overflow-wrap: anywhere; }
.prose > * { margin: 0 0 .8rem; }
.prose > :last-child { margin-bottom: .6rem; }
.prose p, .prose li, .prose td, .prose th { unicode-bidi: plaintext; }
.prose h3, .prose h4, .prose h5, .prose h6 { margin: 1.5rem 0 .5rem; line-height: 1.3; letter-spacing: -.01em; }
.prose > :first-child { margin-top: 0; }
.prose h3 { font-size: 1.3rem; }
.prose h4 { font-size: 1.13rem; }
.prose h5 { font-size: 1rem; }
.prose h6 { font-size: .92rem; color: var(--soft); }
.prose ul, .prose ol { padding-left: 1.5rem; }
.prose li ul, .prose li ol { margin: .2rem 0; }
.prose li { margin: .2rem 0; }
.prose li::marker { color: var(--soft); }
.prose li p { margin: 0 0 .5rem; }
.prose li:has(> .task) { list-style: none; margin-left: -1.25rem; }
.task { color: var(--accent); }
.prose blockquote { margin-left: 0; margin-right: 0; padding: .1rem 0 .1rem 1rem; border-left: 3px solid var(--line);
  color: var(--soft); }
.prose blockquote > :last-child { margin-bottom: 0; }
.prose hr { border: 0; border-top: 1px solid var(--line); margin: 1.5rem 0; }
.prose a { color: var(--accent); text-underline-offset: .15em; text-decoration-thickness: 1px; }
.to, .image, .raw { color: var(--soft); }
.to { font-size: .85em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .8rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line);
  overflow-wrap: normal; }
th { font-weight: 600; border-bottom: 2px solid var(--line); }
th:first-child, td:first-child { padding-left: 0; }
.centre { text-align: center; }
.right { text-align: right; }
code { font: .88em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, \"Liberation Mono\", monospace; direction: ltr;
  unicode-bidi: isolate; }
.prose :not(pre) > code, summary code { background: var(--code); border: 1px solid var(--line); border-radius: .3rem;
  padding: .05em .35em; }
.code { position: relative; margin: 0 0 .6rem; border: 1px solid var(--line); border-radius: .6rem;
  background: var(--code); overflow: hidden; }
.prose .code { margin-bottom: .8rem; }
.code > span { position: absolute; top: .3rem; right: .7rem; font-size: .7rem; color: var(--soft); }
pre { margin: 0; padding: .8rem 1rem; overflow: auto; max-height: 34rem; tab-size: 4; overflow-wrap: normal; }
.keyword { color: var(--keyword); } .type { color: var(--type); } .number { color: var(--number); }
.string { color: var(--string); } .comment { color: var(--comment); font-style: italic; } .dim { color: var(--soft); }
.added { color: var(--good); } .removed { color: var(--bad); } pre .strong { font-weight: 600; }
details { border: 1px solid var(--line); border-radius: .6rem; background: var(--card); margin: 0 0 .6rem;
  padding: 0 .9rem; }
summary { cursor: pointer; padding: .5rem 0; font-size: .88rem; display: flex; gap: .55rem; align-items: baseline; }
summary::-webkit-details-marker { display: none; }
details[open] > summary { border-bottom: 1px solid var(--line); margin-bottom: .8rem; }
summary .short { flex: 1; min-width: 0; color: var(--soft); white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .8rem; }
summary i { font-style: normal; color: var(--soft); white-space: nowrap; }
.call.good b { color: var(--good); }
.call.bad b, .call.bad i { color: var(--bad); }
.aside > summary { color: var(--soft); }
.aside > summary::before { content: \"\\25B8\"; }
.aside[open] > summary::before { content: \"\\25BE\"; }
.call > h3 { margin: 0 0 .35rem; font-size: .72rem; text-transform: uppercase; letter-spacing: .06em; color: var(--soft); }
figure { margin: 0 0 .6rem; }
img { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: .6rem; display: block; }
.file, .cut { font-size: .85rem; color: var(--soft); margin: 0 0 .6rem; overflow-wrap: anywhere; }
.file::before { content: \"\\1F4CE\\00A0\"; }
.break { border-top: 1px dashed var(--line); padding-top: 1rem; margin: 1.2rem 0; }
footer { border-top: 1px solid var(--line); padding-top: 1rem; padding-bottom: 3rem; font-size: .78rem;
  color: var(--soft); }
@media print {
  :root { --paper: #fff; --card: #fff; --ink: #000; --soft: #555; --line: #ccc; --user: #f4f7fc; --user-line: #cfdcf1;
    --code: #f7f7f5; --good: #2e7d4f; --bad: #b3403a; --accent: #2f5d9e; --keyword: #8a3f97; --type: #8a5a12;
    --string: #2e6f48; --number: #20688a; --comment: #666; }
  body { font-size: 11pt; } header { padding-top: 0; } header, main, footer { max-width: none; padding-inline: 0; }
  pre { max-height: none; white-space: pre-wrap; overflow-wrap: anywhere; } .wide { overflow: visible; }
  h2, h3, h4, h5, h6 { break-after: avoid; } pre, table, blockquote, figure, details { break-inside: avoid; }
}
";
