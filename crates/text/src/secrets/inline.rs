//! Secrets inside a longer text: a field, an option, or a credential behind the name of its scheme.
//!
//! A text may be built to be searched again and again, so each look ahead is bounded.

use super::{MIN_SECRET, is_secret, is_secret_name, scheme};

/// Bytes of a value that are looked at: enough to see that it is harmless.
const MAX_LOOK: usize = 128;

/// Words that make a switch of a flag that is called like a secret.
const SWITCHES: [&str; 4] = ["no", "disable", "without", "skip"];

/// `…password=…`, `"apiKey": "…"` and the like.
pub(super) fn has_inline(value: &str) -> bool {
    value.match_indices(['=', ':']).any(|(at, _)| {
        let (before, after) = (value.get(..at).unwrap_or_default(), value.get(at + 1..).unwrap_or_default());
        let name = last_name(before);
        is_secret_name(name) && is_given(name, after)
    })
}

fn last_name(before: &str) -> &str {
    let before = before.trim_end_matches(|c: char| c == ' ' || is_quote(c));
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let start = before.rfind(|c: char| !word(c)).map_or(0, |at| at + 1);
    before.get(start..).unwrap_or_default()
}

fn is_given(name: &str, after: &str) -> bool {
    let looked = after.get(..after.floor_char_boundary(MAX_LOOK)).unwrap_or_default();
    let value = looked.trim_start_matches(|c: char| c == ' ' || is_quote(c));
    if value.is_empty() {
        return looked.len() < after.len();
    }
    let value = value.get(scheme(value).len()..).unwrap_or_default();
    let end = value.find(|c: char| ends(c) || c == '}').unwrap_or(value.len());
    let inside = value.get(..end).unwrap_or_default();
    inside.len() >= MIN_SECRET && is_secret(name, inside) && !is_reference(value)
}

/// Returns whether an option such as `--token value` of a shell command is in the text.
pub fn has_option(value: &str) -> bool {
    let mut before = "";
    let between = |c: char| c.is_whitespace() || is_quote(c) || "=,()[]".contains(c);
    value.split(between).filter(|word| !word.is_empty()).any(|word| {
        let name = telling_flag(std::mem::replace(&mut before, word));
        name.is_some_and(|name| !looks_like_flag(word) && is_secret(name, word) && !is_reference(word))
    })
}

/// Returns the name of a flag that takes a secret as the next word.
pub fn telling_flag(word: &str) -> Option<&str> {
    let name = word.trim_start_matches('-');
    let is_flag = name.len() < word.len() && !name.is_empty() && !name.contains(['=', ' ']);
    let is_switch = || name.split('-').next().is_some_and(|first| SWITCHES.contains(&first));
    (is_flag && !is_switch() && is_secret_name(name)).then_some(name)
}

/// Returns whether the word is another flag (`--port`, `-v`) in the place of a value.
pub fn looks_like_flag(text: &str) -> bool {
    let rest = text.trim_start_matches('-');
    let dashes = text.len() - rest.len();
    let word = |c: char| c.is_ascii_lowercase() || c == '-' || c == '=';
    (dashes == 2
        && rest.starts_with(|c: char| c.is_ascii_lowercase())
        && rest.split('=').next().is_some_and(|name| name.chars().all(word)))
        || (dashes == 1 && rest.len() == 1)
}

/// `Bearer …`, whatever it is the value of. `Basic` is a word too, so it must stand where a value begins.
pub(super) fn has_scheme(value: &str) -> bool {
    let (mut before, mut waiting) = ("", false);
    value.split_whitespace().any(|word| {
        let credential = word.trim_matches(is_quote);
        let is_credential = waiting && credential.len() >= MIN_SECRET && !is_reference(credential);
        let start = word.rfind(|c: char| is_quote(c) || ":={[,(".contains(c)).map_or(0, |at| at + 1);
        let name = word.get(start..).unwrap_or_default();
        let begins = start > 0 || before.is_empty() || before.ends_with([':', '=']);
        waiting = name.eq_ignore_ascii_case("bearer") || (begins && name.eq_ignore_ascii_case("basic"));
        before = word;
        is_credential
    })
}

/// `$NAME` or `${NAME}`, and nothing behind it: a shell fills it in. `$ecret` is none.
fn is_reference(value: &str) -> bool {
    let Some(rest) = value.strip_prefix('$') else { return false };
    let whole = |rest: &str| rest.chars().next().is_none_or(|c| ends(c) || c == '}');
    if let Some((name, rest)) = rest.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
        return is_variable(name) && whole(rest);
    }
    let end = rest
        .find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'))
        .unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    let telling = is_secret_name(name) || !name.contains(|c: char| c.is_ascii_digit());
    is_variable(name) && telling && whole(rest)
}

/// A name of a variable, as a shell takes it.
fn is_variable(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c| word(c) && !c.is_ascii_digit()) && name.chars().all(word)
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\')
}

fn ends(c: char) -> bool {
    c.is_whitespace() || is_quote(c) || matches!(c, '&' | ';' | ',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_inside_of_texts_are_seen() {
        for (text, seen) in [
            ("password=hunter2", true),
            ("password=$ecret", true),
            ("password=$PASSWORD", false),
            ("password=$K3YXQZ", true),
            ("password=${pw}", false),
            ("password=${pw}hunter2", true),
            ("password=${pw", true),
            ("{\"password\": \"$ecret\"}", true),
            ("curl -H 'Authorization: Bearer $TOKEN' x", false),
            ("curl -H 'Authorization: Bearer $oken' x", true),
            ("curl -H 'X-Any: Bearer hunter2' x", true),
            ("curl -H 'X-Any: Basic hunter2' x", true),
            ("bearer hunter2", true),
            ("a guide to Basic things", false),
            ("npx -y srv --api-key X --token Y", true),
            ("npx -y srv --api-key $API_KEY", false),
            ("ARGS=--api-key X", true),
            ("[\"--api-key\",\"X\"]", true),
            ("npx -y srv --token --verbose", false),
            ("npx -y srv --no-auth dir", false),
            ("npx -y srv --with-token X", true),
            ("tokens: many", true),
            ("max_tokens: 4096", false),
            ("see https://a.example/x", false),
        ] {
            assert_eq!(has_inline(text) || has_option(text) || has_scheme(text), seen, "{text}");
        }
        assert!(has_inline(&format!("key={}x", " ".repeat(MAX_LOOK))));
    }
}
