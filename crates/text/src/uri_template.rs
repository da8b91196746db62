//! Templates of URIs.

/// Greatest product of the bytes of a template and of a URI that are compared.
const MAX_WORK: usize = 256 * 1024;
/// Greatest length of a URI that is compared with templates, in bytes.
const MAX_URI: usize = 8 * 1024;

/// A part of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'t> {
    Literal(&'t str),
    /// One character or more, without `/`.
    Segment,
    /// Any text, also none.
    Anything,
}

/// Returns whether a URI comes from a template (RFC 6570). The value of a simple variable is not empty and has no `/`;
/// variables with an operator have any value. A template that is malformed or too long fits nothing.
pub fn fits(template: &str, uri: &str) -> bool {
    let Some(parts) = parts(template) else { return false };
    is_bounded(template, uri) && is_match(parts, uri)
}

/// Returns whether a URI may come from a template, whatever the values of its variables are. Where that cannot be decided,
/// because the template is malformed or too long, the text before its first variable decides.
pub fn may_fit(template: &str, uri: &str) -> bool {
    let literal = template.split('{').next().unwrap_or_default();
    match parts(template).filter(|_| is_bounded(template, uri)) {
        Some(parts) => is_match(
            parts.into_iter().map(|part| if part == Part::Segment { Part::Anything } else { part }),
            uri,
        ),
        None => uri.starts_with(literal),
    }
}

fn is_bounded(template: &str, uri: &str) -> bool {
    uri.len() <= MAX_URI && template.len().saturating_mul(uri.len()) <= MAX_WORK
}

/// Returns the parts of a template; `None` if a brace is not closed.
fn parts(template: &str) -> Option<Vec<Part<'_>>> {
    let mut pieces = template.split('{');
    let mut parts = vec![Part::Literal(pieces.next()?)];
    for piece in pieces {
        let (variable, literal) = piece.split_once('}')?;
        let has_operator = variable.starts_with(['+', '#', '.', '/', ';', '?', '&']);
        parts.push(if has_operator { Part::Anything } else { Part::Segment });
        parts.push(Part::Literal(literal));
    }
    Some(parts)
}

/// Follows all ways to divide the URI at once: `reached` has the places at which a part may begin.
fn is_match<'t>(parts: impl IntoIterator<Item = Part<'t>>, uri: &str) -> bool {
    let mut reached = vec![0];
    for part in parts {
        reached = ends(part, &reached, uri);
        if reached.is_empty() {
            return false;
        }
    }
    reached.last() == Some(&uri.len())
}

/// Returns the places at which a part may end that begins at one of these, in order.
fn ends(part: Part<'_>, begins: &[usize], uri: &str) -> Vec<usize> {
    let is_boundary = |at: &usize| uri.is_char_boundary(*at);
    match part {
        Part::Literal(text) => {
            let has_text = |at: &&usize| uri.get(**at..).is_some_and(|rest| rest.starts_with(text));
            begins.iter().filter(has_text).map(|at| at + text.len()).collect()
        }
        Part::Anything => match begins.first() {
            Some(first) => (*first..=uri.len()).filter(is_boundary).collect(),
            None => Vec::new(),
        },
        Part::Segment => {
            let (mut begins, mut ends, mut is_open) = (begins.iter().peekable(), Vec::new(), false);
            for (at, character) in uri.char_indices() {
                if is_open {
                    ends.push(at);
                }
                let may_begin = begins.next_if_eq(&&at).is_some();
                is_open = character != '/' && (is_open || may_begin);
            }
            ends.extend(is_open.then_some(uri.len()));
            ends
        }
    }
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
            // The first place where a literal is found need not be the right one.
            ("x://{+path}/a/{id}", "x://1/a/2/a/3", true),
            ("x://{a}-{b}/c", "x://1-2/c", true),
            ("x://{+a}-{b}.c", "x://1-/-2.c", true),
            ("x://{a}b{c}b", "x://bbb", false),
            ("x://{a}b{c}b", "x://bbbb", true),
            ("x://{a}{b}", "x://é", false),
            ("x://{a}{b}", "x://éü", true),
            ("x://{a}{/b}{c}", "x://1/2/3", true),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(fits(template, uri), wanted, "{template} {uri}");
            assert!(!wanted || may_fit(template, uri), "{template} {uri}");
        }
    }

    #[test]
    fn a_uri_that_a_template_may_lead_to_is_found() {
        for (template, uri, wanted) in [
            ("x://{id}", "x://1/2", true),
            ("x://{id}", "x://", true),
            ("x://{id}/data", "x://1/date", false),
            ("x://{broken", "x://1", true),
            ("x://{broken", "y://1", false),
            ("x://a", "x://ab", false),
        ] {
            assert_eq!(may_fit(template, uri), wanted, "{template} {uri}");
        }
    }

    #[test]
    fn long_templates_are_bounded_and_may_fit() {
        let (template, uri) =
            ("x://".to_owned() + &"{+a}b".repeat(2000), "x://".to_owned() + &"b".repeat(2000));
        assert!(!fits(&template, &uri) && may_fit(&template, &uri) && !may_fit(&template, "y://"));
        let (template, uri) =
            ("x://".to_owned() + &"{+a}b".repeat(25), "x://".to_owned() + &"b".repeat(2000));
        assert!(fits(&template, &uri));
        assert!(!fits(&template, &format!("{uri}c")));
    }
}
