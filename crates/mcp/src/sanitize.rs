//! Cleans text from servers for messages: bounded, on one line, with control characters escaped.

/// Bytes of a server's error message in our messages.
pub(crate) const MAX_ERROR: usize = 2048;

/// Returns about `most` bytes of the text. Line breaks and tabs become a space, other control characters are escaped
/// (`\x1b`), and `…` marks a truncation.
pub(crate) fn clean(text: &str, most: usize) -> String {
    let cut = text.floor_char_boundary(most);
    let mut clean = String::with_capacity(cut + '…'.len_utf8());
    for c in text.get(..cut).unwrap_or_default().chars() {
        match c {
            '\n' | '\r' | '\t' if clean.ends_with(' ') => {}
            '\n' | '\r' | '\t' => clean.push(' '),
            c if c.is_control() => clean.push_str(&format!("\\x{:02x}", c as u32)),
            c => clean.push(c),
        }
    }
    let mut clean = clean.trim().to_owned();
    if cut < text.len() {
        clean.push('…');
    }
    clean
}

/// Replaces the secrets in a text by `…`.
pub(crate) fn redact(secrets: &[String], text: String) -> String {
    // A short secret could be part of ordinary words.
    let worth_hiding = secrets.iter().filter(|secret| secret.len() >= 6);
    worth_hiding
        .fold(text, |text, secret| if text.contains(secret) { text.replace(secret, "…") } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_bounded_and_plain() {
        for (text, most, wanted) in [
            ("plain", 5, "plain"),
            ("a\r\n\tb\u{1b}[31m", 99, "a b\\x1b[31m"),
            ("\u{9b}1m\u{7}", 99, "\\x9b1m\\x07"),
            ("\nжжж", 4, "ж…"),
            ("", 0, ""),
            ("x", 0, "…"),
        ] {
            assert_eq!(clean(text, most), wanted, "{text:?}");
        }
    }

    #[test]
    fn secrets_are_redacted() {
        let secrets = ["s3cret-token".to_owned(), "abc".to_owned(), String::new()];
        assert_eq!(redact(&secrets, "bad s3cret-token, abc".into()), "bad …, abc");
    }
}
