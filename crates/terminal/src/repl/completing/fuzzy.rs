//! How well a path fits what is typed: its characters in this order, with anything between them.
//!
//! Our own, for `deny.toml` does not allow the licence of nucleo-matcher 0.3.1 (MPL-2.0), and frizbee 0.13.0 made a program
//! 2.5 MB larger (November 2026).

const MATCH: i32 = 16;
/// Behind the character before.
const CONSECUTIVE: i32 = 14;
/// At the start of a name, and of a word in it.
const NAME: i32 = 12;
const WORD: i32 = 9;
/// In the last name of the path.
const LAST: i32 = 2;
const SAME_CASE: i32 = 1;
/// What is left out between two characters costs its length, up to this.
const LONGEST_GAP: i32 = 12;
/// No match.
const NONE: i32 = -1_000_000;

/// Characters of a query; a longer one finds nothing.
const LONGEST: usize = 100;

/// What is searched for, with buffers for the work.
pub(super) struct Query {
    wanted: Vec<char>,
    name: Vec<char>,
    row: Vec<i32>,
    next: Vec<i32>,
}

impl Query {
    pub(super) fn new(typed: &str) -> Self {
        Self { wanted: typed.chars().collect(), name: Vec::new(), row: Vec::new(), next: Vec::new() }
    }

    /// Returns how well the path fits; more is better. `None`: not at all.
    pub(super) fn score(&mut self, path: &str) -> Option<i32> {
        if self.wanted.len() > LONGEST || !is_within(path, &self.wanted) {
            return None;
        }
        self.name.clear();
        self.name.extend(path.chars());
        let named = self.name.len() - usize::from(path.ends_with('/'));
        let last = self.name.iter().take(named).rposition(|c| *c == '/').map_or(0, |slash| slash + 1);
        // For each place, the best that ends there with the characters so far.
        self.row.clear();
        for number in 0..self.wanted.len() {
            self.fill_next(number, last);
            std::mem::swap(&mut self.row, &mut self.next);
        }
        if self.wanted.is_empty() { Some(0) } else { self.row.iter().copied().max() }
    }

    fn fill_next(&mut self, number: usize, last: usize) {
        let Some(wanted) = self.wanted.get(number).copied() else { return };
        self.next.clear();
        // The best of the row before that ends further left than the last place, and how far.
        let (mut best, mut gap) = (NONE, 0);
        let (mut previous, mut before) = (NONE, None);
        for (at, c) in self.name.iter().copied().enumerate() {
            let from = match number {
                0 => 0,
                _ => (best - gap).max(previous + CONSECUTIVE),
            };
            self.next.push(match worth(c, wanted, before) {
                Some(worth) if from > NONE / 2 => from + worth + if at >= last { LAST } else { 0 },
                _ => NONE,
            });
            gap = (gap + 1).min(LONGEST_GAP);
            if previous >= best - gap {
                (best, gap) = (previous, 1);
            }
            previous = self.row.get(at).copied().unwrap_or(NONE);
            before = Some(c);
        }
    }
}

/// What a character is worth where it matches. `before` is the one on its left.
fn worth(c: char, wanted: char, before: Option<char>) -> Option<i32> {
    if !is_same(c, wanted) {
        return None;
    }
    let place = match before {
        None | Some('/') => NAME,
        Some('_' | '-' | '.' | ' ') => WORD,
        Some(before) if before.is_lowercase() && c.is_uppercase() => WORD,
        Some(_) => 0,
    };
    Some(MATCH + place + if c == wanted { SAME_CASE } else { 0 })
}

fn is_same(c: char, wanted: char) -> bool {
    match c.is_ascii() && wanted.is_ascii() {
        true => c.eq_ignore_ascii_case(&wanted),
        false => c.to_lowercase().eq(wanted.to_lowercase()),
    }
}

fn is_within(path: &str, wanted: &[char]) -> bool {
    let mut path = path.chars();
    wanted.iter().all(|wanted| path.any(|c| is_same(c, *wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that fit, the best first.
    fn ranked<'n>(typed: &str, names: &[&'n str]) -> Vec<&'n str> {
        let mut query = Query::new(typed);
        let mut fitting: Vec<_> = names.iter().filter_map(|name| Some((query.score(name)?, *name))).collect();
        fitting.sort_by_key(|(score, name)| (-score, name.len()));
        fitting.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn the_best_comes_first() {
        for (typed, names, expected) in [
            (
                "srcma",
                "resources/camera.txt src/schema.rs src/main.rs",
                "src/main.rs src/schema.rs resources/camera.txt",
            ),
            (
                "main",
                "docs/domain.md main/src/lib.rs src/main.rs",
                "src/main.rs main/src/lib.rs docs/domain.md",
            ),
            ("sp", "crisp.md src/pictures.rs xsp.md", "src/pictures.rs xsp.md crisp.md"),
            ("fb", "src/foobar.java src/FooBar.java", "src/FooBar.java src/foobar.java"),
            (
                "repl/keys",
                "crates/repl/other/monkeys.rs crates/repl/keys.rs",
                "crates/repl/keys.rs crates/repl/other/monkeys.rs",
            ),
            (
                "edit",
                "src/x/unedited/a.rs crates/editor/src/lib.rs edit.rs",
                "edit.rs crates/editor/src/lib.rs src/x/unedited/a.rs",
            ),
            ("GRÖ", "a/grün.rs a/größe.rs", "a/größe.rs"),
        ] {
            let names: Vec<&str> = names.split(' ').collect();
            assert_eq!(ranked(typed, &names).join(" "), expected, "{typed}");
        }
    }

    #[test]
    fn what_is_not_there_in_order_does_not_fit() {
        assert_eq!(ranked("rsc", &["src/"]), [""; 0]);
        assert_eq!(ranked("", &["src/"]), ["src/"]);
        assert_eq!(ranked(&"s".repeat(LONGEST + 1), &[&"s".repeat(300)]), [""; 0]);
    }
}
