//! How many there are of something, in words.

/// `1 tool`, `2 tools`: for nouns of ours, which all take an s.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// `1 tool is`, `2 tools are`.
pub(crate) fn they_are(count: usize, noun: &str) -> String {
    format!("{} {}", counted(count, noun), if count == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_told_from_many() {
        for (count, words, are) in [
            (0, "0 tools", "0 tools are"),
            (1, "1 tool", "1 tool is"),
            (2, "2 tools", "2 tools are"),
            (21, "21 tools", "21 tools are"),
        ] {
            assert_eq!((counted(count, "tool").as_str(), they_are(count, "tool").as_str()), (words, are));
        }
    }
}
