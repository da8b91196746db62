//! The labels that people give to sessions: names and tags.

use std::collections::HashSet;

use converse_text::{is_unsafe, safe_line};

use crate::transfer::Document;

/// The longest name, in characters.
const LONGEST_NAME: usize = 120;

/// Checks the name of a session: one line of visible characters. `None` for an empty name. `last` is reserved.
///
/// # Errors
///
/// Returns what is wrong, for people.
pub fn label_name(given: &str) -> Result<Option<String>, String> {
    let name = given.trim();
    if name.is_empty() {
        return Ok(None);
    }
    if name == "last" {
        return Err("`last` is what the latest session is called".to_owned());
    }
    if name.chars().count() > LONGEST_NAME {
        return Err(format!("a name has at most {LONGEST_NAME} characters"));
    }
    if name.chars().any(|c| is_unsafe(c) || c == '\n' || c == '\t') {
        return Err("a name is one line of characters that can be seen".to_owned());
    }
    Ok(Some(name.to_owned()))
}

/// The longest tag, in characters.
const LONGEST_TAG: usize = 40;
/// The largest number of tags of a session.
pub const MOST_TAGS: usize = 50;

/// Whether the program itself puts this tag on sessions that are compared. People cannot change such tags.
pub fn is_reserved_tag(tag: &str) -> bool {
    tag.starts_with("compare:") || tag.starts_with("compared:")
}

/// Checks a tag: one word of visible characters.
///
/// # Errors
///
/// Returns what is wrong, for people.
pub fn label_tag(given: &str) -> Result<String, String> {
    if is_reserved_tag(given) {
        return Err(format!("`{given}` is reserved: converse adds and removes it"));
    }
    if given.is_empty() || given.chars().count() > LONGEST_TAG {
        return Err(format!("a tag has 1 to {LONGEST_TAG} characters"));
    }
    if given.chars().any(|c| is_unsafe(c) || c.is_whitespace()) || given.starts_with(['+', '-']) {
        let shown = safe_line(given, LONGEST_TAG);
        return Err(format!("`{shown}` is not a tag: expected one word without a leading + or -"));
    }
    Ok(given.to_owned())
}

/// Removes the name and the tags that are not valid here from an imported document. Returns a message for each.
pub fn drop_invalid_labels(document: &mut Document) -> Vec<String> {
    let mut left_out = Vec::new();
    let mut without = |kind: &str, text: &str, why: String| {
        left_out.push(format!("the {kind} `{}` is left out: {why}", safe_line(text, 60)));
    };
    document.name = document.name.take().and_then(|given| {
        label_name(&given).unwrap_or_else(|why| {
            without("name", &given, why);
            None
        })
    });
    // The imported session belongs to no comparison here.
    document.tags.retain(|tag| !is_reserved_tag(tag));
    document.tags.retain(|given| label_tag(given).map_err(|why| without("tag", given, why)).is_ok());
    let mut seen = HashSet::new();
    document.tags.retain(|tag| seen.insert(tag.clone()));
    if document.tags.len() > MOST_TAGS {
        left_out.push(format!("only {MOST_TAGS} of its {} tags are kept", document.tags.len()));
        document.tags.truncate(MOST_TAGS);
    }
    left_out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_tags_can_be_seen_and_typed() {
        assert_eq!(label_name("  tax 2026 ").unwrap(), Some("tax 2026".into()));
        assert_eq!(label_name(" ").unwrap(), None);
        for bad in ["last", "a\nb", "a\u{1b}[31m", "\u{202e}x", &"x".repeat(121)] {
            assert!(label_name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(label_tag("work").unwrap(), "work");
        for bad in ["", "a b", "+x", "-x", "a\u{7}", "compare:1", "compared:1", &"x".repeat(41)] {
            assert!(label_tag(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn invalid_labels_of_a_document_are_left_out_and_reported() {
        let read = |name: &str, tags: &[&str]| {
            let json = serde_json::json!({ "format": 1, "program": "p", "created": "2026-01-01T00:00:00Z",
                "name": name, "tags": tags, "canisters": [] });
            Document::read(json.to_string().as_bytes()).unwrap()
        };
        for bad in ["last", "a\nb", "a\u{1b}[31m", &"x".repeat(121)] {
            let mut document = read(bad, &["work", "work", "a b", "a\u{1b}[31m", "compare:1", "-x"]);
            let messages = drop_invalid_labels(&mut document);
            assert_eq!((document.name, &document.tags[..]), (None, &["work".to_owned()][..]), "{bad:?}");
            assert_eq!(messages.len(), 4, "{messages:?}");
            assert!(
                messages[0].starts_with("the name `") && !messages.concat().contains('\u{1b}'),
                "{messages:?}"
            );
        }
        let many: Vec<String> = (0..60).map(|number| number.to_string()).collect();
        let mut document = read("tax 2026", &many.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(drop_invalid_labels(&mut document), ["only 50 of its 60 tags are kept"]);
        assert_eq!((document.name.as_deref(), document.tags.len()), (Some("tax 2026"), 50));
    }
}
