//! Secrets in texts with references in them. When in doubt it is one: a variable too many costs one `export`, a key in a
//! file that is committed costs more.

use converse_text::secrets::{MIN_SECRET, has_option, holds_secret, is_scheme, scheme, shows_itself};

use crate::text::{Text, literal, looked, refers};

/// Returns whether the text is a secret, by its name or by itself.
pub(crate) fn is_secret(name: &str, text: &Text) -> bool {
    let literal = literal(text);
    // Beside a reference stand words like `Bearer`, and separators.
    (converse_text::secrets::is_secret(name, &literal) && !(refers(text) && is_short(&literal)))
        || shows(text)
}

/// Returns whether a secret is in the text, whatever it is called.
pub(crate) fn shows(text: &Text) -> bool {
    shows_itself(&literal(text)) || has_option(&looked(text))
}

/// Returns whether a text for people, such as a description, holds a secret.
pub(crate) fn is_told(text: &str) -> bool {
    holds_secret(text) || has_option(text)
}

fn is_short(literal: &str) -> bool {
    let (scheme, rest) = literal.split_at(scheme(literal).len());
    let word = if scheme.is_empty() { rest.trim() } else { rest };
    is_scheme(word) || word.chars().filter(char::is_ascii_alphanumeric).count() < MIN_SECRET
}
