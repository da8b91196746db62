//! Foreign text made fit for a message: escaped, and no longer than it needs to be.

pub use converse_text::escape::escape;
use converse_text::shorten::within_bytes;

/// Returns at most `most` bytes of the text, a mark where it is cut included.
pub(crate) fn bounded(text: &str, most: usize) -> String {
    within_bytes(text, most).into_owned()
}

/// A name or value from a file, in backticks: escaped, at most about 80 bytes.
pub(crate) fn quoted(text: &str) -> String {
    // Cut before escaping, so that no escape is cut in two.
    format!("`{}`", escape(&within_bytes(text, 80)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_is_bounded() {
        assert!(quoted(&"\u{1b}".repeat(500)).len() < 700);
    }
}
