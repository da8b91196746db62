//! Differences of two texts, line by line or word by word.
//!
//! The comparison is generic in its crate, and each crate that uses it gets copies of every algorithm: 2.7 MB when four of
//! ours did. Here it is compiled once, on numbers, with one algorithm.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use similar::DiffOp;
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;

/// Texts that have little in common are compared for no longer than this, then coarsely.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The lines or words that two texts share, and those that only one of them has. Lines keep their line breaks.
#[derive(Debug)]
pub struct Difference<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    operations: Vec<DiffOp>,
}

/// Where a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Both,
    Old,
    New,
}

impl<'a> Difference<'a> {
    /// Compares two texts. After a second the rest is taken as changed.
    pub fn between(old: &'a str, new: &'a str) -> Self {
        Self::of(lines(old), lines(new))
    }

    /// Compares two texts word by word; what is between words is a word for each character.
    pub fn of_words(old: &'a str, new: &'a str) -> Self {
        Self::of(words(old), words(new))
    }

    fn of(old: Vec<&'a str>, new: Vec<&'a str>) -> Self {
        let mut known = HashMap::new();
        let (a, b) = (numbered(&old, &mut known), numbered(&new, &mut known));
        let mut found = Compact::new(Replace::new(Capture::new()), a.as_slice(), b.as_slice());
        let (deadline, whole) = (Instant::now().checked_add(TIMEOUT), (0..a.len(), 0..b.len()));
        let Ok(()) = myers::diff_deadline(&mut found, a.as_slice(), whole.0, b.as_slice(), whole.1, deadline);
        Self { old, new, operations: found.into_inner().into_inner().into_ops() }
    }

    /// Returns all lines or words in order, those of the old text before those that replace them.
    pub fn lines(&self) -> impl Iterator<Item = (Side, &'a str)> {
        self.operations.iter().flat_map(|operation| self.lines_of(operation))
    }

    /// Returns the changed lines with so many lines around them in the unified format, below these two names. Equal texts
    /// give an empty string.
    pub fn unified(&self, context: usize, names: Option<(&str, &str)>) -> String {
        let mut text = String::new();
        for hunk in similar::group_diff_ops(self.operations.clone(), context) {
            if hunk.is_empty() {
                continue;
            }
            if let (true, Some((old, new))) = (text.is_empty(), names) {
                text.push_str(&format!("--- {old}\n+++ {new}\n"));
            }
            text.push_str(&format!("{}\n", UnifiedHunkHeader::new(&hunk)));
            for (side, line) in hunk.iter().flat_map(|operation| self.lines_of(operation)) {
                text.push(match side {
                    Side::Both => ' ',
                    Side::Old => '-',
                    Side::New => '+',
                });
                text.push_str(line);
                if !line.ends_with('\n') {
                    text.push_str("\n\\ No newline at end of file\n");
                }
            }
        }
        text
    }

    fn lines_of(&self, operation: &DiffOp) -> impl Iterator<Item = (Side, &'a str)> {
        let is_equal = matches!(operation, DiffOp::Equal { .. });
        let old = self.old.get(operation.old_range()).unwrap_or_default().iter();
        let new = self.new.get(operation.new_range()).unwrap_or_default().iter();
        let added = if is_equal { [].iter() } else { new };
        let side = if is_equal { Side::Both } else { Side::Old };
        old.map(move |line| (side, *line)).chain(added.map(|line| (Side::New, *line)))
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn words(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut words, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let end =
            if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, behind) = rest.split_at(end);
        words.push(word);
        rest = behind;
    }
    words
}

fn numbered<'a>(lines: &[&'a str], known: &mut HashMap<&'a str, usize>) -> Vec<usize> {
    lines
        .iter()
        .map(|line| {
            let next = known.len();
            *known.entry(line).or_insert(next)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_on_one_side_or_on_both() {
        let difference = Difference::between("a\nb\nc\n", "a\nx\ny\nc\n");
        let lines: Vec<_> = difference.lines().collect();
        let expected = [
            (Side::Both, "a\n"),
            (Side::Old, "b\n"),
            (Side::New, "x\n"),
            (Side::New, "y\n"),
            (Side::Both, "c\n"),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn words_are_compared_as_lines_are() {
        let difference = Difference::of_words("let a_b = 41; // é", "let a_b = 42; // é");
        let words: Vec<_> = difference.lines().filter(|(side, _)| *side != Side::Both).collect();
        assert_eq!(words, [(Side::Old, "41"), (Side::New, "42")]);
        let whole: String =
            difference.lines().filter(|(side, _)| *side != Side::Old).map(|(_, word)| word).collect();
        assert_eq!(whole, "let a_b = 42; // é");
    }

    #[test]
    fn the_unified_format_is_that_of_diff() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let difference = Difference::between(old, "1\n2\n3\nfour\n5\n6\n7\n8\n9");
        assert_eq!(
            difference.unified(1, Some(("a", "b"))),
            "--- a\n+++ b\n@@ -3,3 +3,3 @@\n 3\n-4\n+four\n 5\n@@ -8,2 +8,2 @@\n 8\n-9\n+9\n\\ No newline at end of file\n"
        );
        assert_eq!(Difference::between("", "1\n").unified(3, None), "@@ -0,0 +1 @@\n+1\n");
    }

    #[test]
    fn equal_texts_have_no_difference() {
        for text in ["", "a", "a\nb\n"] {
            let difference = Difference::between(text, text);
            assert_eq!(difference.unified(3, Some(("a", "b"))), "", "{text:?}");
            assert!(difference.lines().all(|(side, _)| side == Side::Both), "{text:?}");
        }
    }

    #[test]
    fn both_texts_are_in_the_lines() {
        let old: String = (0..400).map(|n| format!("{}\n", n % 7 * (n % 11))).collect();
        let new: String = (0..380).map(|n| format!("{}\n", n % 5 * (n % 13))).collect();
        let difference = Difference::between(&old, &new);
        let of = |side| difference.lines().filter(move |(at, _)| *at != side).map(|(_, line)| line);
        assert_eq!(of(Side::New).collect::<String>(), old);
        assert_eq!(of(Side::Old).collect::<String>(), new);
    }
}
