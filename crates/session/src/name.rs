//! Makes a session's name from the user's first words.

use converse_text::invisible::is_ignorable;

/// Limit on the characters of a name.
const LENGTH: usize = 60;

/// Returns the first non-empty line with at most 60 characters, cut between words if possible. It contains no control,
/// invisible or bidirectional characters, and may be empty.
pub fn name_from(text: &str) -> String {
    let line = text.lines().map(cleaned).find(|line| !line.is_empty()).unwrap_or_default();
    let Some((cut, _)) = line.char_indices().nth(LENGTH) else { return line };
    let last = line.char_indices().map(|(at, _)| at).take_while(|at| *at < cut).last().unwrap_or_default();
    let kept = line.get(..last).unwrap_or_default();
    // If a cut between words would remove more than a third, cut within a word.
    let within_a_word = !line.get(last..).is_some_and(|rest| rest.starts_with(' '));
    let words = kept.rsplit_once(' ').map(|(words, _)| words).filter(|_| within_a_word);
    let shorter = words.filter(|words| words.chars().count() >= LENGTH * 2 / 3).unwrap_or(kept);
    format!("{}…", shorter.trim_end())
}

/// Removes characters that are not shown as they are. A part of a long line is enough.
fn cleaned(line: &str) -> String {
    let visible = line.chars().take(LENGTH * 20).filter(|c| !is_ignorable(*c));
    let visible: String =
        visible.map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c }).collect();
    visible.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_first_line_short_and_plain() {
        for (text, name) in [
            ("", String::new()),
            ("\n \u{200b}\n\t\n", String::new()),
            ("hello", "hello".to_owned()),
            ("\n\n  two\twords \nand more", "two words".to_owned()),
            ("a\u{1b}[2Jb\u{7}\u{9b}c\u{85}d", "a [2Jb c d".to_owned()),
            ("ab\u{202e}cd\u{2066}e\u{e0041}\u{feff}f", "abcdef".to_owned()),
            (&"x".repeat(60), "x".repeat(60)),
            (&"я".repeat(61), "я".repeat(59) + "…"),
            (&"word ".repeat(100), "word ".repeat(11) + "word…"),
            (&format!("short {}", "x".repeat(100)), format!("short {}…", "x".repeat(53))),
        ] {
            let made = name_from(text);
            assert_eq!(made, name, "{text:?}");
            assert!(made.chars().count() <= LENGTH);
        }
        assert!(name_from(&"x ".repeat(1_000_000)).chars().count() <= LENGTH);
    }
}
