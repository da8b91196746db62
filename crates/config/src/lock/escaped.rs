//! Foreign text in quotes, with what a reader would not see shown as an escape: a change that cannot be seen is the one
//! that matters.

use converse_text::escape::exact;

/// Characters before and after what differs.
const AROUND: usize = 30;
/// Texts of no more characters are shown whole.
const SHORT: usize = 80;

pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", exact(text).replace('"', "\\\""))
}

/// Both texts in quotes; of long ones only the part that differs, with what stands around it.
pub(crate) fn contrast(old: &str, new: &str) -> (String, String) {
    let (olds, news): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    if olds.len().max(news.len()) <= SHORT {
        return (quoted(old), quoted(new));
    }
    let before = olds.iter().zip(&news).take_while(|(a, b)| a == b).count();
    let shorter = olds.len().min(news.len()) - before;
    let after = olds.iter().rev().zip(news.iter().rev()).take(shorter).take_while(|(a, b)| a == b).count();
    let part = |chars: &[char]| {
        let (from, to) = (before.saturating_sub(AROUND), (chars.len() - after + AROUND).min(chars.len()));
        let text: String = chars.iter().take(to).skip(from).collect();
        let dots = |cut: bool| if cut { "…" } else { "" };
        format!("{}{}{}", dots(from > 0), quoted(&text), dots(to < chars.len()))
    };
    (part(&olds), part(&news))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_escaped() {
        assert_eq!(quoted("say \"hi\""), "\"say \\\"hi\\\"\"");
    }

    #[test]
    fn of_long_texts_the_part_that_differs_is_shown() {
        let (before, after) = ("b".repeat(200), "a".repeat(200));
        let (old, new) = contrast(&format!("{before}OLD{after}"), &format!("{before}N\u{200b}EW{after}"));
        assert_eq!(old, format!("…\"{}OLD{}\"…", &before[..30], &after[..30]));
        assert_eq!(new, format!("…\"{}N\\u{{200b}}EW{}\"…", &before[..30], &after[..30]));
        let (old, new) = contrast(&before, &format!("{before}b"));
        assert_eq!((old.matches('b').count(), new.matches('b').count()), (30, 31));
        assert_eq!(contrast("a", "b"), ("\"a\"".to_owned(), "\"b\"".to_owned()));
        let (old, new) = contrast("", &before);
        assert_eq!((old.as_str(), new.len()), ("\"\"", 202));
    }
}
