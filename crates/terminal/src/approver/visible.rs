//! Text of which nothing is hidden: what a person is to judge may not hold what they cannot see.

use converse_text::invisible::is_invisible;

/// Minimum length of a run of spaces that is shown as a number.
const RUN: usize = 4;
/// Of indentation: code is not read without it, and behind a gutter it hides nothing.
const INDENT: usize = 32;

/// Returns one line with invisible characters, unusual blanks, long runs of spaces and trailing spaces made visible.
/// `indented`: leading blanks stay.
pub(crate) fn visible(line: &str, indented: bool) -> String {
    let mut out = String::with_capacity(line.len());
    let (end, mut chars) = (line.trim_end_matches([' ', '\t']).len(), line.char_indices().peekable());
    while let Some((at, c)) = chars.next() {
        if c != ' ' && c != '\t' {
            out.push_str(&if is_invisible(c) || c.is_whitespace() {
                c.escape_unicode().to_string()
            } else {
                c.to_string()
            });
            continue;
        }
        let mut count = 1;
        while chars.next_if(|(_, next)| *next == c).is_some() {
            count += 1;
        }
        let leads = indented && out.trim_start_matches([' ', '→', '\t']).is_empty() && at < end;
        let blanks = match (c, at >= end) {
            (' ', false) if count < RUN || (leads && count <= INDENT) => " ".repeat(count),
            ('\t', false) if count < RUN || (leads && count <= INDENT / RUN) => "→\t".repeat(count),
            (' ', _) => format!("␣×{count}"),
            _ => format!("→×{count}"),
        };
        out.push_str(&blanks);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_without_a_shape() {
        for (line, indented, shown) in [
            ("rm -rf  x", false, "rm -rf  x"),
            ("ls    ; rm", false, "ls␣×4; rm"),
            ("ls  ", false, "ls␣×2"),
            ("ls\t", true, "ls→×1"),
            ("        let a", true, "        let a"),
            ("        let a", false, "␣×8let a"),
            ("\t\tmake", true, "→\t→\tmake"),
            (&format!("{}x", " ".repeat(40)), true, "␣×40x"),
            ("    ", true, "␣×4"),
            ("a\u{200d}b\u{a0}c\u{202e}", true, "a\\u{200d}b\\u{a0}c\\u{202e}"),
            ("a\u{1b}[2J\r", true, "a\\u{1b}[2J\\u{d}"),
            ("e\u{301} 日本 👍", false, "e\u{301} 日本 👍"),
        ] {
            assert_eq!(visible(line, indented), shown, "{line:?}");
        }
    }
}
