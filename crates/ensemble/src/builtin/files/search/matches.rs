//! Lines that match, with some lines around them.

use std::collections::VecDeque;

use regex::Regex;
use tokio_util::sync::CancellationToken;

use super::super::JobError;
use super::pieces::first;
use crate::builtin::arguments::push_visible;

/// Characters of a line that are shown.
const MOST_OF_A_LINE: usize = 300;
/// Maximum characters before the match.
const BEFORE_THE_MATCH: usize = 100;

pub(super) struct Matches {
    lines: Vec<String>,
    left: usize,
    context: usize,
}

impl Matches {
    pub(super) fn new(limit: usize, context: usize) -> Self {
        Self { lines: Vec::new(), left: limit, context }
    }

    pub(super) fn is_full(&self) -> bool {
        self.left == 0
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.lines
    }

    /// `path` is safe to show. Bytes that are not UTF-8 count as U+FFFD.
    pub(super) fn search(
        &mut self,
        path: &str,
        bytes: &[u8],
        pattern: &Regex,
        cancel: &CancellationToken,
    ) -> Result<(), JobError> {
        let text = String::from_utf8_lossy(bytes);
        let mut before: VecDeque<(usize, &str)> = VecDeque::new();
        // How many lines after a match are still to be shown, and which line was shown last.
        let (mut after, mut last) = (0, 0);
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let found = if self.left > 0 { first(pattern, line, cancel)? } else { None };
            if let Some(at) = found {
                let first = before.front().map_or(number, |(first, _)| *first);
                if self.context > 0 && last > 0 && first > last + 1 {
                    self.lines.push("--".to_owned());
                }
                for (number, line) in before.drain(..) {
                    self.lines.push(format!("{path}-{number}- {}", around(line, 0)));
                }
                self.lines.push(format!("{path}:{number}: {}", around(line, at)));
                (self.left, after, last) = (self.left - 1, self.context, number);
            } else if after > 0 {
                self.lines.push(format!("{path}-{number}- {}", around(line, 0)));
                (after, last) = (after - 1, number);
            } else if self.left == 0 {
                break;
            } else if self.context > 0 {
                if before.len() == self.context {
                    before.pop_front();
                }
                before.push_back((number, line));
            }
        }
        Ok(())
    }
}

/// The line, or the part of a long one that the match begins in.
fn around(line: &str, at: usize) -> String {
    let skipped = line.get(..at).map_or(0, |before| before.chars().count());
    let skipped =
        if line.chars().count() <= MOST_OF_A_LINE { 0 } else { skipped.saturating_sub(BEFORE_THE_MATCH) };
    let mut shown = String::new();
    if skipped > 0 {
        shown.push('…');
    }
    for (index, character) in line.chars().skip(skipped).enumerate() {
        if index == MOST_OF_A_LINE {
            shown.push('…');
            break;
        }
        if character == '\t' { shown.push('\t') } else { push_visible(&mut shown, character) }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, pattern: &str, limit: usize, context: usize) -> Vec<String> {
        let mut matches = Matches::new(limit, context);
        let pattern = Regex::new(pattern).unwrap();
        matches.search("f", text.as_bytes(), &pattern, &CancellationToken::new()).unwrap();
        matches.into_lines()
    }

    #[test]
    fn lines_are_numbered_and_context_is_told_apart() {
        let text = "a\nb\nc\nd\ne\nf\ng\nb2\n";
        assert_eq!(found(text, "b", 9, 0), ["f:2: b", "f:8: b2"]);
        assert_eq!(found(text, "b", 9, 1), ["f-1- a", "f:2: b", "f-3- c", "--", "f-7- g", "f:8: b2"]);
        assert_eq!(found(text, "[cd]", 9, 1), ["f-2- b", "f:3: c", "f:4: d", "f-5- e"]);
        assert_eq!(found(text, "b", 1, 1), ["f-1- a", "f:2: b", "f-3- c"]);
    }

    #[test]
    fn long_lines_are_cut_around_the_match_and_nothing_treacherous_is_shown() {
        let line = format!("{}NEEDLE\u{1b}[31m{}", "x".repeat(5_000), "y".repeat(5_000));
        let found = found(&line, "NEEDLE", 9, 0).remove(0);
        assert!(found.contains("NEEDLE\\u{1b}[31m") && found.chars().count() < 330, "{found}");
    }
}
