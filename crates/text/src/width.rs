//! The number of columns that a text takes.
//!
//! Terminals disagree about emoji that are put together: some draw one picture, some draw its parts. The parts are counted:
//! a line that is counted too wide only ends early, one that is counted too narrow breaks all that is drawn below it.

use unicode_width::UnicodeWidthChar as _;

const EMOJI_FORM: char = '\u{fe0f}';
const JOINER: char = '\u{200d}';
/// Of a letter; more of them are shown on letters of their own.
const MOST_MARKS: usize = 16;

/// In columns, at most; control characters count nothing (a line of a screen has none).
pub fn width(text: &str) -> usize {
    // Most text is ASCII.
    if text.is_ascii() {
        return text.bytes().filter(|byte| (0x20..0x7f).contains(byte)).count();
    }
    let (mut sum, mut before) = (0, 0);
    for c in text.chars() {
        let columns = if c == EMOJI_FORM { usize::from(before == 1) } else { c.width().unwrap_or(0) };
        sum += columns;
        before = if columns == 0 { before } else { columns };
    }
    sum
}

/// What is not torn apart, with its columns: a character and the marks on it, pictures that are joined; unless they are
/// wider than `most`.
pub fn clusters(text: &str, most: usize) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (first, left) =
            rest.split_at_checked(end_of_cluster(rest, most)).filter(|(first, _)| !first.is_empty())?;
        rest = left;
        Some((first, width(first)))
    })
}

fn end_of_cluster(text: &str, most: usize) -> usize {
    let (mut joined, mut sum) = (true, 0);
    for (count, (at, c)) in text.char_indices().enumerate() {
        let columns = if c == EMOJI_FORM { 1 } else { c.width().unwrap_or(0) };
        let belongs = joined || columns == 0 || c == EMOJI_FORM || ('\u{1f3fb}'..='\u{1f3ff}').contains(&c);
        sum += columns;
        if count > 0 && (!belongs || count > MOST_MARKS || sum > most) {
            return at;
        }
        joined = c == JOINER;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_never_counted_too_few() {
        for (text, columns) in [
            ("", 0),
            ("abc", 3),
            ("日本", 4),
            ("e\u{301}", 1),
            ("❤\u{fe0f}", 2),
            ("👩\u{200d}👧", 4),
            ("🇷🇸", 2),
            ("👍🏽", 4),
        ] {
            assert_eq!(width(text), columns, "{text}");
        }
    }

    #[test]
    fn marks_stay_on_their_letters() {
        let parts = |text| clusters(text, 80).map(|(part, _)| part).collect::<Vec<_>>();
        assert_eq!(parts("e\u{301}a"), ["e\u{301}", "a"]);
        assert_eq!(parts("👩\u{200d}👧x"), ["👩\u{200d}👧", "x"]);
        assert_eq!(parts("👍🏽日"), ["👍🏽", "日"]);
        assert_eq!(clusters("👩\u{200d}👧", 3).count(), 2);
        let many = "a".to_owned() + &"\u{301}".repeat(100);
        assert!(clusters(&many, 80).all(|(part, _)| part.chars().count() <= MOST_MARKS + 1));
    }
}
