//! Foreign text (of models, tools, servers, files) made harmless for a terminal, a message or a diff.
//!
//! Nothing is stripped: what could move a cursor, recolour, hide or reorder text is shown as an escape. A stripping filter
//! hides the evidence and, after an unterminated sequence, the rest of the text with it.

use std::borrow::Cow;

use crate::invisible::{is_invisible, is_treacherous, is_unsafe};

/// Makes text fit for a terminal, in many lines. Newlines and tabs stay; a carriage return before a newline goes; everything else that is not printable is shown.
pub fn safe(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            c if is_unsafe(c) => out.push_str(&shown(c)),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Makes text fit for one line of a terminal: newlines and tabs are escaped too, and at most `most` characters are kept.
pub fn safe_line(text: &str, most: usize) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == most {
            out.push('…');
            break;
        }
        if is_unsafe(c) || matches!(c, '\n' | '\t') { out.push_str(&shown(c)) } else { out.push(c) }
    }
    out
}

fn shown(c: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        c if (c as u32) < 0x100 => format!("\\x{:02x}", c as u32),
        c => format!("\\u{{{:x}}}", c as u32),
    }
}

/// Makes text fit for a one-line message: control, reordering and invisible characters become `\u{…}`.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_treacherous(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// Makes text fit for a diff: whatever cannot be seen becomes an escape, and backslashes are doubled, so that no text can
/// pretend to be an escape.
pub fn exact(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_invisible(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_is_not_copied() {
        for text in ["plain", "tab\tand\nnewline", "Привет", "日本語", "👩‍👩‍👧", "naïve"]
        {
            assert!(matches!(safe(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn what_could_act_is_shown() {
        for (text, shown) in [
            ("\x1b[31mred", "\\x1b[31mred"),
            ("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"),
            ("\u{9b}31m", "\\x9b31m"),
            ("a\rb", "a\\rb"),
            ("a\r\nb", "a\nb"),
            ("back\x08", "back\\x08"),
            ("nul\0", "nul\\x00"),
            ("\u{202e}evil", "\\u{202e}evil"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
            ("\x1b]0;unterminated", "\\x1b]0;unterminated"),
        ] {
            assert_eq!(safe(text), shown);
        }
    }

    #[test]
    fn a_line_stays_one_line_and_short() {
        assert_eq!(safe_line("a\nb\tc", 10), "a\\nb\\tc");
        assert_eq!(safe_line("abcdef", 3), "abc…");
    }

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
    fn what_nobody_sees_is_shown() {
        for (text, shown) in [
            ("plain text, 日本語, naïve, हिन्दी", "plain text, 日本語, naïve, हिन्दी"),
            ("a\u{200b}b", "a\\u{200b}b"),
            ("\u{202e}turned", "\\u{202e}turned"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
            ("selected\u{fe0f}\u{e0101}", "selected\\u{fe0f}\\u{e0101}"),
            ("soft\u{ad}hyphen\u{a0}blank", "soft\\u{ad}hyphen\\u{a0}blank"),
            ("filler\u{3164}", "filler\\u{3164}"),
            ("\u{1d159}\u{16fe4}\u{13441}\u{2800}", "\\u{1d159}\\u{16fe4}\\u{13441}\\u{2800}"),
            ("\u{fff0}\u{1bca1}\u{1d173}", "\\u{fff0}\\u{1bca1}\\u{1d173}"),
            ("\u{600}\u{e000}\u{378}\u{10ffff}", "\\u{600}\\u{e000}\\u{378}\\u{10ffff}"),
            ("ខ្មែរ 👍 𝄞 ½ €", "ខ្មែរ 👍 𝄞 ½ €"),
            ("line\nend\x1b[31m\r", "line\\nend\\u{1b}[31m\\r"),
            ("\\u{200b} is what it says", "\\\\u{200b} is what it says"),
        ] {
            assert_eq!(exact(text), shown);
        }
        let long = "x".repeat(100_000);
        assert_eq!(exact(&long), long);
    }
}
