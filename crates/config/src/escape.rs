//! Foreign text made fit for a message.
//!
//! What stands in a file, or comes from a model, may try to move the cursor, to reverse the reading order or to hide
//! parts of itself. Such characters are shown as `\u{…}`, and nothing is longer than it needs to be.

/// Replaces control characters, bidirectional overrides and invisible characters by `\u{…}`.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_treacherous(c) { escaped.extend(c.escape_unicode()) } else { escaped.push(c) }
    }
    escaped
}

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

pub(crate) fn is_treacherous(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' // controls
        | '\u{ad}' | '\u{61c}' | '\u{180e}' // soft hyphen, Arabic letter mark, Mongolian vowel separator
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' // zero width, marks, separators, overrides
        | '\u{2060}'..='\u{206f}' | '\u{feff}' // joiners, isolates, byte order mark
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' // annotations, tags, supplementary selectors
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // Hangul fillers
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn treacherous_characters_are_shown() {
        assert_eq!(
            escape("a\u{1b}[31m\r\n\u{202e}b\u{9b}\u{200b}"),
            "a\\u{1b}[31m\\u{d}\\u{a}\\u{202e}b\\u{9b}\\u{200b}"
        );
        assert_eq!(escape("\u{3164}\u{e0100}\u{ffa0}"), "\\u{3164}\\u{e0100}\\u{ffa0}");
        assert_eq!(escape("Привет, 世界 – “ok” 🙂"), "Привет, 世界 – “ok” 🙂");
    }

    #[test]
    fn texts_are_cut_at_characters() {
        assert_eq!(bounded("абв", 6), "абв");
        assert_eq!(bounded("абвг", 7), "аб…");
        assert_eq!(bounded("abc", 0), "…");
        assert!(quoted(&"\u{1b}".repeat(500)).len() < 700);
    }
}
