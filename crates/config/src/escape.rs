//! Foreign text made fit for a message: escaped, and no longer than it needs to be.

pub use converse_text::escape::escape;

/// At most `most` bytes of the text; a cut is marked with `…`, which counts.
pub(crate) fn bounded(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most.saturating_sub('…'.len_utf8()));
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// A name or value from a file, in backticks: escaped, at most about 80 bytes.
pub(crate) fn quoted(text: &str) -> String {
    // Cut before escaping, so that no escape is cut in two.
    format!("`{}`", escape(&bounded(text, 80)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_characters() {
        assert_eq!(bounded("абв", 6), "абв");
        assert_eq!(bounded("абвг", 7), "аб…");
        assert_eq!(bounded("abc", 0), "…");
        assert!(quoted(&"\u{1b}".repeat(500)).len() < 700);
    }
}
