//! Words as a shell tells them apart: quotes hold a word together, a backslash takes the next character as it is.

/// The words of a text. A quote that is never closed holds to the end.
pub(crate) fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().push(chars.next().unwrap_or('\\')),
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_apart_as_a_shell_does() {
        for (text, expected) in [
            ("", &[][..]),
            ("  a  b\n", &["a", "b"]),
            ("key=\"two words\" c", &["key=two words", "c"]),
            ("it\\'s 'a \"b\" \\' x", &["it's", "a \"b\" \\", "x"]),
            ("\"a \\\" b\"", &["a \" b"]),
            ("'' x", &["", "x"]),
            ("\"open to the end", &["open to the end"]),
            ("back\\", &["back\\"]),
        ] {
            assert_eq!(words(text), expected, "{text:?}");
        }
    }
}
