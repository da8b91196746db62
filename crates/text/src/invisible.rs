//! The table of characters that hide, reorder or have no shape of their own.

use Class::{Blank, Hidden, Joiner, Selector, Sign};

/// The effect of a character, which decides where it is shown as an escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Ignorable, and needed by no script: escaped everywhere.
    Hidden,
    /// Ignorable, but some scripts need it (joiners, direction marks, soft hyphens): stays on a terminal.
    Joiner,
    /// Ignorable, and chooses the shape of the character before it: stays on a terminal and in messages.
    Selector,
    /// Not ignorable, but moves, separates or annotates text: escaped everywhere.
    Sign,
    /// Drawn as nothing or as a blank: stays on a terminal and in messages.
    Blank,
}

/// `Hidden`, `Joiner` and `Selector` together are `Default_Ignorable_Code_Point` of Unicode 17
/// (<https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt>, checked 2026-11), plus U+FFF9..FFFB and
/// the line separators as `Sign`. `Blank` are letters, marks and symbols without a shape: the blanks of Braille and of
/// hieroglyphs, the filler of Khitan, the null notehead, what only joins the shapes of others (Duployan, SignWriting,
/// Brahmi). Sorted.
const TABLE: &[(u32, u32, Class)] = &[
    (0xad, 0xad, Joiner),
    (0x34f, 0x34f, Selector),
    (0x61c, 0x61c, Joiner),
    (0x115f, 0x1160, Hidden),
    (0x17b4, 0x17b5, Selector),
    (0x180b, 0x180d, Selector),
    (0x180e, 0x180e, Hidden),
    (0x180f, 0x180f, Selector),
    (0x200b, 0x200b, Hidden),
    (0x200c, 0x200f, Joiner),
    (0x2028, 0x2029, Sign),
    (0x202a, 0x202e, Hidden),
    (0x2060, 0x206f, Hidden),
    (0x2800, 0x2800, Blank),
    (0x3164, 0x3164, Hidden),
    (0xfe00, 0xfe0f, Selector),
    (0xfeff, 0xfeff, Hidden),
    (0xffa0, 0xffa0, Hidden),
    (0xfff0, 0xfff8, Hidden),
    (0xfff9, 0xfffb, Sign),
    (0x1107f, 0x1107f, Blank),
    (0x13430, 0x13455, Blank),
    (0x16fe4, 0x16fe4, Blank),
    (0x1bc9d, 0x1bc9e, Blank),
    (0x1bca0, 0x1bca3, Hidden),
    (0x1d159, 0x1d159, Blank),
    (0x1d173, 0x1d17a, Hidden),
    (0x1da9b, 0x1da9f, Blank),
    (0x1daa1, 0x1daaf, Blank),
    (0xe0000, 0xe00ff, Hidden),
    (0xe0100, 0xe01ef, Joiner),
    (0xe01f0, 0xe0fff, Hidden),
];

/// The first character of the table. Almost all text is before it, and most output is checked character by character.
const FIRST: u32 = 0xad;

fn class(c: char) -> Option<Class> {
    let c = u32::from(c);
    if c < FIRST {
        return None;
    }
    let at = TABLE.partition_point(|(_, last, _)| *last < c);
    TABLE.get(at).filter(|(first, ..)| *first <= c).map(|(.., class)| *class)
}

/// Returns whether a terminal must not get this character: it could move the cursor, recolour, hide or reorder text.
/// Newlines and tabs are safe, as are joiners, direction marks, soft hyphens and variation selectors.
pub fn is_unsafe(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(class(c), Some(Hidden | Sign))
}

/// Returns whether a one-line message must not contain this character: control characters (newlines and tabs too) and all
/// that hides or reorders text, even where a script needs it.
pub fn is_treacherous(c: char) -> bool {
    c.is_control() || matches!(class(c), Some(Hidden | Joiner | Sign))
}

/// Returns whether the character is ignorable by Unicode's `Default_Ignorable_Code_Point`, or annotates others: text
/// without it looks the same.
pub fn is_ignorable(c: char) -> bool {
    matches!(class(c), Some(Hidden | Joiner | Selector)) || matches!(c, '\u{fff9}'..='\u{fffb}')
}

/// Returns whether the character is invisible or looks like a blank. The widest test: whatever the standard
/// library takes for unprintable, and all of the table. Newlines are visible.
pub fn is_invisible(c: char) -> bool {
    if c == '\n' || ('\u{20}'..='\u{7e}').contains(&c) {
        return false;
    }
    // A letter precedes it, because it may be a combining mark.
    let unprintable = || "a".chars().chain([c]).collect::<String>().escape_debug().count() > 2;
    class(c).is_some() || (!c.is_alphanumeric() && unprintable())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(TABLE.iter().all(|(first, last, _)| first <= last));
        assert!(TABLE.windows(2).all(|pair| pair[0].1 < pair[1].0));
        assert_eq!(TABLE[0].0, FIRST);
    }

    #[test]
    fn each_class_is_hidden_where_it_has_to_be() {
        for (c, terminal, message, ignorable, invisible) in [
            ('a', false, false, false, false),
            ('é', false, false, false, false),
            ('\n', false, true, false, false),
            ('\t', false, true, false, true),
            ('\r', true, true, false, true),
            ('\u{1b}', true, true, false, true),
            ('\u{9b}', true, true, false, true),
            ('\u{a0}', false, false, false, true),
            ('\u{ad}', false, true, true, true),
            ('\u{200b}', true, true, true, true),
            ('\u{200d}', false, true, true, true),
            ('\u{2028}', true, true, false, true),
            ('\u{202e}', true, true, true, true),
            ('\u{2066}', true, true, true, true),
            ('\u{2800}', false, false, false, true),
            ('\u{3164}', true, true, true, true),
            ('\u{fe0f}', false, false, true, true),
            ('\u{feff}', true, true, true, true),
            ('\u{fffa}', true, true, true, true),
            ('\u{e0041}', true, true, true, true),
            ('\u{e0100}', false, true, true, true),
            ('\u{e000}', false, false, false, true),
        ] {
            let actual = (is_unsafe(c), is_treacherous(c), is_ignorable(c), is_invisible(c));
            assert_eq!(actual, (terminal, message, ignorable, invisible), "{c:?}");
        }
    }
}
