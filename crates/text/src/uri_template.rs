//! Templates of URIs.

/// Returns whether a URI may come from a template (RFC 6570). The value of a simple variable is not empty and has no `/`;
/// variables with an operator have any value.
pub fn fits(template: &str, uri: &str) -> bool {
    let mut pieces = template.split('{');
    let Some(mut rest) = pieces.next().and_then(|literal| uri.strip_prefix(literal)) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        let Some((variable, literal)) = piece.split_once('}') else { return false };
        let is_simple = !variable.starts_with(['+', '#', '.', '/', ';', '?', '&']);
        let least = usize::from(is_simple);
        let is_last = pieces.peek().is_none();
        let end = match (is_last, literal.is_empty()) {
            (true, true) => Some(rest.len()),
            (true, false) => rest.strip_suffix(literal).map(str::len),
            // Two variables side by side: the first takes one character at least.
            (false, true) => rest.char_indices().nth(least).map_or(Some(rest.len()), |(at, _)| Some(at)),
            (false, false) => rest.get(least..).and_then(|tail| tail.find(literal)).map(|at| at + least),
        };
        let Some(value) = end.and_then(|end| rest.get(..end)) else { return false };
        if is_simple && (value.is_empty() || value.contains('/')) {
            return false;
        }
        rest = rest.get(value.len() + literal.len()..).unwrap_or_default();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_found_by_its_template() {
        for (template, uri, wanted) in [
            ("x://a", "x://a", true),
            ("x://a", "x://ab", false),
            ("x://{id}", "x://1", true),
            ("x://{id}", "x://", false),
            ("x://{id}", "x://1/2", false),
            ("x://{+path}", "x://1/2", true),
            ("x://{id}/data", "x://1/data", true),
            ("x://{id}/data", "x://1/date", false),
            ("x://{a}/{b}", "x://1/2", true),
            ("x://{a}/{b}", "x://1", false),
            ("x://{a}/{b}.txt", "x://1/2.txt", true),
            ("x://s{?q,r}", "x://s?q=1", true),
            ("x://s{?q,r}", "x://s", true),
            ("x://{é}ü", "x://éü", true),
            ("x://{broken", "x://1", false),
            ("y://{id}", "x://1", false),
        ] {
            assert_eq!(fits(template, uri), wanted, "{template} {uri}");
        }
    }
}
