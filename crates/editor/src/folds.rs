//! Long pastes, which are marks in the line, such as `[pasted 200 lines]`.
//!
//! A mark ends with a character that nothing typed or pasted puts into the line: what is typed by hand or was changed is
//! text. The text is sent in its place as it was pasted.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::entry::{MARK, is_like_command};

/// A paste of more lines, or of more characters, is folded.
const MOST_LINES: usize = 10;
const MOST_CHARS: usize = 1_000;
/// Bytes of earlier pastes that are remembered, for marks that are put back into a later entry.
const MOST_KEPT: usize = 16 * 1024 * 1024;
const BEGINS: &str = "[pasted ";
const LONGEST: usize = 64;

/// The folded pastes of this run.
#[derive(Debug, Default)]
pub(crate) struct Folds(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// How many marks there have been of each size. No mark is given twice.
    sizes: HashMap<String, usize>,
    /// Marks with what they stand for, the oldest first.
    pastes: Vec<(String, Arc<str>)>,
}

impl Folds {
    /// Returns the mark of a paste that is long. One that begins like a command is not folded: what a line does is seen.
    pub(crate) fn fold(&self, paste: &str) -> Option<String> {
        let lines = paste.lines().count();
        let chars = paste.chars().count();
        if (lines <= MOST_LINES && chars <= MOST_CHARS) || is_like_command(paste) {
            return None;
        }
        let known = self.known(paste);
        known.or_else(|| {
            let mut known = self.0.lock();
            let size = if lines > 1 { format!("{lines} lines") } else { format!("{chars} characters") };
            let times = known.sizes.entry(size.clone()).or_default();
            *times += 1;
            let number = if *times > 1 { format!(" #{times}") } else { String::new() };
            let mark = format!("{BEGINS}{size}{number}]{MARK}");
            known.pastes.push((mark.clone(), paste.into()));
            Some(mark)
        })
    }

    /// Returns the mark of a paste that was folded before.
    fn known(&self, paste: &str) -> Option<String> {
        let known = self.0.lock();
        known.pastes.iter().find(|(_, text)| **text == *paste).map(|(mark, _)| mark.clone())
    }

    /// Returns a text with the marks of those of its pastes that were folded before, and what `rest` makes of the rest. One that
    /// begins like a command is seen as a whole.
    pub(crate) fn folded(&self, text: &str, pastes: &[String], rest: impl Fn(&str) -> String) -> String {
        if is_like_command(text) {
            return rest(text);
        }
        let (mut line, mut behind) = (String::new(), text);
        for paste in pastes {
            let Some((mark, (before, after))) = self.known(paste).zip(behind.split_once(paste.as_str()))
            else {
                continue;
            };
            line.push_str(&rest(before));
            line.push_str(&mark);
            behind = after;
        }
        line + &rest(behind)
    }

    /// Returns where marks are in a line, in bytes.
    pub(crate) fn marks(&self, line: &str) -> Vec<(usize, usize)> {
        self.in_line(line).into_iter().map(|(from, to, _)| (from, to)).collect()
    }

    /// Returns the line with what `paste` makes of the pastes, and `rest` of the rest.
    pub(crate) fn unfolded(
        &self,
        line: &str,
        paste: impl Fn(&str) -> String,
        rest: impl Fn(&str) -> String,
    ) -> String {
        let (mut text, mut at) = (String::new(), 0);
        // Of a mark that was changed its end is left.
        let plain = |part: &str| rest(&part.replace(&format!("]{MARK}"), "]"));
        for (from, to, of_mark) in self.in_line(line) {
            text.push_str(&plain(line.get(at..from).unwrap_or_default()));
            text.push_str(&paste(&of_mark));
            at = to;
        }
        text + &plain(line.get(at..).unwrap_or_default())
    }

    /// Forgets the oldest ones. Not while a line has marks that are not sent.
    pub(crate) fn forget_oldest(&self) {
        let mut known = self.0.lock();
        let mut bytes: usize = known.pastes.iter().map(|(_, text)| text.len()).sum();
        let surplus = known.pastes.iter().take_while(|(_, text)| {
            let is_surplus = bytes > MOST_KEPT;
            bytes -= text.len();
            is_surplus
        });
        let surplus = surplus.count();
        known.pastes.drain(..surplus);
    }

    /// The marks of a line, with what they stand for.
    fn in_line(&self, line: &str) -> Vec<(usize, usize, Arc<str>)> {
        let known = self.0.lock();
        let ends = line.match_indices(MARK).map(|(end, _)| end + MARK.len_utf8());
        let marks = ends.filter_map(|to| {
            let from = line.get(..to)?.rfind(BEGINS).filter(|from| to - from <= LONGEST)?;
            let mark = line.get(from..to)?;
            known.pastes.iter().find(|(one, _)| one == mark).map(|(_, text)| (from, to, Arc::clone(text)))
        });
        marks.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize) -> String {
        (1..=count).map(|number| format!("line {number}\n")).collect()
    }

    fn meant(folds: &Folds, line: &str) -> String {
        folds.unfolded(line, str::to_owned, str::to_owned)
    }

    #[test]
    fn long_pastes_are_marks() {
        let folds = Folds::default();
        for (paste, mark) in [
            (lines(MOST_LINES), None),
            (lines(11), Some("[pasted 11 lines]")),
            ("é".repeat(MOST_CHARS), None),
            ("é".repeat(1_001), Some("[pasted 1001 characters]")),
            (lines(11), Some("[pasted 11 lines]")),
            (lines(12), Some("[pasted 12 lines]")),
            (lines(12).replace("line", "another"), Some("[pasted 12 lines #2]")),
            (format!("\n !rm {}", lines(20)), None),
            (format!("/system {}", "x".repeat(2_000)), None),
        ] {
            let mark = mark.map(|mark| format!("{mark}{MARK}"));
            assert_eq!(folds.fold(&paste), mark, "{paste}");
        }
    }

    #[test]
    fn a_mark_is_what_was_pasted_and_nothing_else_is() {
        let folds = Folds::default();
        let (one, two) = (lines(20), format!("[pasted 20 lines] \\\n{}", lines(30)));
        let marks = [folds.fold(&one).unwrap(), folds.fold(&two).unwrap()];
        let line = format!("é {} and {}{}!", marks[0], marks[1], marks[0]);
        assert_eq!(meant(&folds, &line), format!("é {one} and {two}{one}!"));
        assert_eq!(folds.marks(&line).first(), Some(&(3, 3 + marks[0].len())));
        for line in
            ["[pasted 20 lines]".to_owned(), marks[0].replace("20", "21"), marks[0].replace("[p", "p")]
        {
            assert_eq!(meant(&folds, &line), line.replace(MARK, ""), "{line}");
            assert_eq!(folds.marks(&line), []);
        }
    }

    #[test]
    fn what_was_folded_is_folded_again() {
        let folds = Folds::default();
        let (one, two, other) = (lines(20), lines(30), "another line\n".repeat(40));
        let marks = [folds.fold(&one).unwrap(), folds.fold(&two).unwrap()];
        let text = format!("a {one} b {other} c {two}");
        let line = folds.folded(&text, &[one.clone(), other.clone(), two], |rest| rest.to_uppercase());
        assert_eq!(line, format!("A {} B {} C {}", marks[0], other.to_uppercase(), marks[1]));
        let command = format!("!{one}");
        for text in ["none", &command] {
            assert_eq!(folds.folded(text, std::slice::from_ref(&one), str::to_owned), text);
        }
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let folds = Folds::default();
        let large = |first: &str| first.to_owned() + &"x".repeat(MOST_KEPT / 2);
        let marks: Vec<String> =
            ["a", "b", "c"].iter().map(|first| folds.fold(&large(first)).unwrap()).collect();
        assert_eq!(folds.marks(&marks.concat()).len(), 3);
        folds.forget_oldest();
        assert_eq!(folds.marks(&marks.concat()).len(), 1);
    }
}
