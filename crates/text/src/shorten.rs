//! Text cut to a number of characters, bytes or columns, with a mark where something is missing.
//!
//! `chars` and `bytes` keep so much of the text and put the mark behind it; `within_…` count the mark too, so that the
//! result is never longer.

use std::borrow::Cow;

use crate::width::{clusters, width};

/// Keeps at most `most` characters.
pub fn chars(text: &str, most: usize) -> Cow<'_, str> {
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    cut(text, end)
}

/// Returns at most `most` characters, the mark included.
pub fn within_chars(text: &str, most: usize) -> Cow<'_, str> {
    if text.chars().nth(most).is_none() { Cow::Borrowed(text) } else { chars(text, most.saturating_sub(1)) }
}

/// Keeps at most `most` bytes, without tearing a character apart.
pub fn bytes(text: &str, most: usize) -> Cow<'_, str> {
    cut(text, text.floor_char_boundary(most))
}

/// Returns at most `most` bytes, the mark included (which is there even if `most` is less than its three bytes).
pub fn within_bytes(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most { Cow::Borrowed(text) } else { bytes(text, most.saturating_sub('…'.len_utf8())) }
}

/// Returns at most `most` columns of a terminal, the mark included: `…`, or `~` where only ASCII is shown.
pub fn within_columns<'t>(text: &'t str, most: usize, mark: &str) -> Cow<'t, str> {
    if width(text) <= most {
        return Cow::Borrowed(text);
    }
    let Some(mut left) = most.checked_sub(width(mark)) else { return Cow::Borrowed("") };
    let fits = |(_, columns): &(&str, usize)| {
        let rest = left.checked_sub(*columns);
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    let kept: String = clusters(text, most).take_while(fits).map(|(cluster, _)| cluster).collect();
    Cow::Owned(kept.trim_end().to_owned() + mark)
}

/// Does the same with the end of the text, with the mark before it.
pub fn end_within_columns<'t>(text: &'t str, most: usize, mark: &str) -> Cow<'t, str> {
    let columns = width(text);
    if columns <= most {
        return Cow::Borrowed(text);
    }
    let Some(left) = most.checked_sub(width(mark)) else { return Cow::Borrowed("") };
    let mut surplus = columns - left;
    let hides = |(_, columns): &(&str, usize)| {
        let is_hidden = surplus > 0;
        surplus = surplus.saturating_sub(*columns);
        is_hidden
    };
    let kept = clusters(text, usize::MAX).skip_while(hides).map(|(cluster, _)| cluster);
    Cow::Owned(std::iter::once(mark).chain(kept).collect())
}

fn cut(text: &str, end: usize) -> Cow<'_, str> {
    match text.get(..end) {
        Some(kept) if kept.len() < text.len() => Cow::Owned(format!("{kept}…")),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_fits_with_its_mark() {
        for (text, most, mark, kept) in [
            ("src/main.rs", 11, "…", "src/main.rs"),
            ("src/main.rs", 8, "…", "…main.rs"),
            ("src/main.rs", 7, "", "main.rs"),
            ("日本語", 5, "", "本語"),
            ("日本語", 4, "~", "~語"),
            ("abc", 1, "…", "…"),
            ("abc", 0, "…", ""),
            ("abc", 0, "", ""),
        ] {
            assert_eq!(end_within_columns(text, most, mark), kept, "{text:?} {most} {mark:?}");
        }
    }

    #[test]
    fn characters_are_counted_with_the_mark_or_without_it() {
        for (text, most, kept, within) in [
            ("abc", 3, "abc", "abc"),
            ("abcd", 3, "abc…", "ab…"),
            ("яяя", 2, "яя…", "я…"),
            ("ab", 0, "…", "…"),
            ("", 0, "", ""),
        ] {
            assert_eq!((&*chars(text, most), &*within_chars(text, most)), (kept, within), "{text} {most}");
        }
    }

    #[test]
    fn bytes_are_cut_at_characters() {
        for (text, most, kept, within) in
            [("абв", 6, "абв", "абв"), ("абвг", 7, "абв…", "аб…"), ("abc", 0, "…", "…"), ("", 0, "", "")]
        {
            assert_eq!((&*bytes(text, most), &*within_bytes(text, most)), (kept, within), "{text} {most}");
        }
    }

    #[test]
    fn columns_are_what_a_text_takes_on_a_screen() {
        for (text, most, mark, kept) in [
            ("abc", 3, "…", "abc"),
            ("abcd", 3, "…", "ab…"),
            ("日本語", 6, "…", "日本語"),
            ("日本語", 5, "…", "日本…"),
            ("日本語", 4, "…", "日…"),
            ("abcd", 3, "~", "ab~"),
            ("ab cd", 4, "…", "ab…"),
            ("e\u{301}e\u{301}e\u{301}", 2, "…", "e\u{301}…"),
            ("abcdef", 4, "...", "a..."),
            ("a", 0, "…", ""),
        ] {
            assert_eq!(within_columns(text, most, mark), kept, "{text} {most}");
        }
    }
}
