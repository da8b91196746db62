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

const STYLE: &str = include_str!("page.css");
