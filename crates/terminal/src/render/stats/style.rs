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

const STYLE: &str = include_str!("style.css");
