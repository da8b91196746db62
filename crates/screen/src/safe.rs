//! Text of others (models, tools, servers, files) made harmless for a terminal.
//!
//! Nothing is stripped: what could move a cursor, recolour, hide or reorder text is shown instead, as an escape. A
//! stripping filter hides the evidence and, after an unterminated sequence, the rest of the text with it.

use std::borrow::Cow;

/// Newlines and tabs stay; a carriage return before a newline goes; everything else that is not printable is shown.
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

/// For one line: newlines and tabs are shown too, and at most `most` characters are kept.
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

pub fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        // Line and paragraph separators, bidi embeddings, overrides and isolates, invisible characters, language tags.
        // Joiners, direction marks, soft hyphens and variation selectors stay: several scripts need them.
        '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        '\u{200b}' | '\u{180e}' | '\u{feff}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' => true,
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}' => true,
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => true,
        _ => false,
    }
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
}
