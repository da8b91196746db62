//! A list of changes, cut to a readable size. Each key of a definition has its own share, so that changes cannot be hidden
//! behind others, and the list says what was left out.

use std::fmt;

use converse_text::escape::exact;
use converse_text::shorten;

use crate::lock::Change;

/// Limit on the changes of one key of a definition.
const MAX_CHANGES: usize = 200;
/// Limit on the characters of one key: more than the old and new description that reach a model.
const MAX_CHARACTERS: usize = 64 * 1024;

/// Changes to show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeList {
    pub changes: Vec<Change>,
    /// What was left out; empty if nothing was.
    pub cut: Vec<Omitted>,
}

/// What was left out of one key of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Omitted {
    /// As written in the definition.
    pub key: String,
    pub changes: usize,
    /// Characters left out of shortened changes.
    pub characters: usize,
}

impl ChangeList {
    /// Cuts the changes of one definition, in the order of [`diff`](crate::lock::diff()).
    pub fn of(changes: Vec<Change>) -> Self {
        let mut shown = Self::default();
        let mut key = None;
        let (mut lines, mut characters) = (0, 0);
        for mut change in changes {
            let own = top(&change.pointer);
            if key.as_ref() != Some(&own) {
                (lines, characters) = (MAX_CHANGES, MAX_CHARACTERS);
                key = Some(own.clone());
            }
            if lines == 0 || characters == 0 {
                shown.leave_out(own, 1, 0);
                continue;
            }
            let count = change.line.chars().count();
            let excess = count.saturating_sub(characters);
            if excess > 0 {
                change.line = shorten::chars(&change.line, characters).into_owned();
                shown.leave_out(own, 0, excess);
            }
            lines -= 1;
            characters = characters.saturating_sub(count);
            shown.changes.push(change);
        }
        shown
    }

    /// Counts what is left out. The changes of one key are consecutive.
    fn leave_out(&mut self, key: String, changes: usize, characters: usize) {
        match self.cut.last_mut().filter(|cut| cut.key == key) {
            Some(cut) => {
                cut.changes += changes;
                cut.characters += characters;
            }
            None => self.cut.push(Omitted { key, changes, characters }),
        }
    }
}

/// ``not shown of `_meta`: 800 changes``.
impl fmt::Display for Omitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes = (self.changes > 0).then(|| counted(self.changes, "change"));
        let characters = (self.characters > 0).then(|| counted(self.characters, "character"));
        let both: Vec<String> = changes.into_iter().chain(characters).collect();
        write!(f, "not shown of `{}`: {}", exact(&self.key), both.join(" and "))
    }
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn top(pointer: &str) -> String {
    let key = pointer.split('/').nth(1).unwrap_or_default();
    key.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(pointer: &str, line: &str) -> Change {
        Change { pointer: pointer.to_owned(), line: line.to_owned() }
    }

    #[test]
    fn every_key_has_its_own_share() {
        let many = |key: &str, count: usize| -> Vec<Change> {
            (0..count).map(|n| change(&format!("/{key}/{n}"), "x")).collect()
        };
        let all = [many("a~1b", MAX_CHANGES + 5), many("real", 1), many("_meta", MAX_CHANGES)].concat();
        let shown = ChangeList::of(all);
        assert_eq!(shown.changes.len(), 2 * MAX_CHANGES + 1);
        assert!(shown.changes.iter().any(|change| change.pointer == "/real/0"));
        assert_eq!(shown.cut, [Omitted { key: "a/b".into(), changes: 5, characters: 0 }]);
        assert_eq!(shown.cut[0].to_string(), "not shown of `a/b`: 5 changes");
    }

    #[test]
    fn long_texts_share_what_a_key_has() {
        let (half, whole) = ("é".repeat(MAX_CHARACTERS / 2), "y".repeat(MAX_CHARACTERS));
        let all = vec![
            change("/a/1", &half),
            change("/a/2", &whole),
            change("/a/3", "hidden"),
            change("/b", &whole),
        ];
        let shown = ChangeList::of(all);
        let lengths: Vec<usize> = shown.changes.iter().map(|change| change.line.chars().count()).collect();
        assert_eq!(lengths, [MAX_CHARACTERS / 2, MAX_CHARACTERS / 2 + 1, MAX_CHARACTERS]);
        let cut = Omitted { key: "a".into(), changes: 1, characters: MAX_CHARACTERS / 2 };
        assert_eq!(shown.cut, [cut]);
        assert_eq!(shown.cut[0].to_string(), "not shown of `a`: 1 change and 32768 characters");
    }
}
