//! Totals of a session, updated while it is written, so that lists need not read journals.

use converse_canister::{Canister, Cost, Usage};

use crate::storage::SessionStorage;
use crate::{Body, Clean, Entry, Loaded, Totals, journal, name_from, summary};

/// The totals of the journal that this process writes.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// For each canister of the conversation: its line, and whether it is the user's.
    said: Vec<(u64, bool)>,
    /// The user's first words, and their line.
    words: Option<(u64, String)>,
    name: Option<String>,
    /// The steps back that lead to the current conversation, earliest first.
    steps: Vec<(u64, u64)>,
    tokens: u64,
    cost: Cost,
    /// The conversation went back to an abandoned line, so the totals are not known without reading the journal.
    lost: bool,
    /// The journal changed since the totals were saved.
    moved: bool,
    clean: Clean,
}

impl Tally {
    pub(crate) fn of(loaded: &Loaded, clean: &Clean) -> Self {
        let (steps, cost, clean) = (loaded.steps.clone(), loaded.cost, clean.clone());
        let mut tally = Self { steps, cost, clean, ..Self::default() };
        tally.tokens = tokens(&loaded.usage);
        for (canister, place) in loaded.transcript.as_slice().iter().zip(&loaded.places) {
            tally.say(place.seq, canister);
        }
        // Repairs are written, so the journal differs from the one that the saved totals describe.
        tally.moved = !loaded.repairs.is_empty();
        tally
    }

    pub(crate) fn moved(&self) -> bool {
        self.moved
    }

    /// Marks the totals as saved.
    pub(crate) fn noted(&mut self) {
        self.moved = false;
    }

    /// Returns a name for the session from the user's first words.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Counts an entry that was written.
    pub(crate) fn count(&mut self, entry: &Entry) {
        self.moved = true;
        match &entry.body {
            Body::Canister { canister } => self.say(entry.seq, canister),
            Body::Used { usage, cost, .. } => {
                self.tokens = self.tokens.saturating_add(tokens(usage));
                self.cost = self.cost.plus(cost.unwrap_or_default());
            }
            Body::Rewound { to } => self.go_back(*to, entry.seq),
            _ => {}
        }
    }

    /// Returns the totals for the journal on disk; `None` if they are not known.
    pub(crate) fn totals(&self, at: &dyn SessionStorage) -> Option<Totals> {
        let (length, updated) = journal::state(at).filter(|_| !self.lost)?;
        // The largest integer in TOML.
        let number = |number: u64| number.min(i64::MAX as u64);
        Some(Totals {
            turns: self.said.iter().filter(|(_, user)| *user).count() as u64,
            canisters: self.said.len() as u64,
            tokens: number(self.tokens),
            cost: Cost(number(self.cost.0)),
            words: self.words.as_ref().map(|(_, words)| words.clone()).unwrap_or_default(),
            journal: number(length),
            updated,
        })
    }

    fn say(&mut self, seq: u64, canister: &Canister) {
        self.said.push((seq, matches!(canister, Canister::User(_))));
        if self.name.is_some() && self.words.is_some() {
            return;
        }
        // Secrets are removed before cutting, because a part of a secret would not be recognised.
        let Some(text) = summary::user_text(canister).map(|text| self.clean.text(&text)) else { return };
        if self.name.is_none() {
            self.name = Some(name_from(&text)).filter(|name| !name.is_empty());
        }
        if self.words.is_none() {
            self.words = Some((seq, summary::in_one_line(&text)));
        }
    }

    fn go_back(&mut self, to: u64, from: u64) {
        while let Some((earlier, _)) = self.steps.pop_if(|(_, from)| *from > to) {
            self.lost |= to > earlier;
        }
        self.steps.push((to, from));
        self.said.truncate(self.said.partition_point(|(seq, _)| *seq <= to));
        self.words.take_if(|(seq, _)| *seq > to);
    }
}

fn tokens(usage: &Usage) -> u64 {
    usage.input.unwrap_or_default().saturating_add(usage.output.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use converse_canister::{InvocationId, InvocationResult, Outcome, TurnId, User};
    use jiff::Timestamp;

    use super::*;
    use crate::storage::SessionDirectory;

    #[test]
    fn a_secret_is_taken_out_before_anything_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(journal::FILE), "12345").unwrap();
        let secret = "sk-0123456789abcdef";
        let clean = Clean::new(move |text| text.replace(secret, "[redacted]"));
        let mut tally = Tally { clean, ..Tally::default() };
        // The cut of the name goes through it, and that of the words too.
        let text = format!("{} {secret} {secret} x", "w".repeat(50));
        tally.count(&Entry {
            seq: 2,
            at: Timestamp::UNIX_EPOCH,
            body: Canister::User(User::text(&text)).into(),
        });
        let words = tally.totals(&SessionDirectory::new(dir.path())).unwrap().words;
        let name = tally.name().unwrap();
        assert!(name.ends_with("[redacte…") || name.ends_with("w…"), "{name}");
        assert!(words.contains("[redacted]"), "{words}");
        assert!(!name.contains("sk-") && !words.contains("sk-"), "{name} {words}");
    }

    #[test]
    fn what_was_gone_back_behind_counts_for_money_only() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(journal::FILE), "12345").unwrap();
        let user = |text: &str| Canister::User(User::text(text)).into();
        let id = InvocationId::of(TurnId(1), 0);
        let used = || Body::Used {
            provider: None,
            usage: Usage { input: Some(3), output: Some(4), ..Usage::default() },
            cost: Some(Cost(5)),
            model: "m".into(),
        };
        let back = |to| Body::Rewound { to };
        let mut tally = Tally::default();
        for (seq, body, expected) in [
            (2, user("one\ntwo"), Some((1, 1, 0, 0, "one two"))),
            (3, used(), Some((1, 1, 7, 5, "one two"))),
            (
                4,
                Canister::Result(InvocationResult::new(id, Outcome::Success, "")).into(),
                Some((1, 2, 7, 5, "one two")),
            ),
            (5, user("more"), Some((2, 3, 7, 5, "one two"))),
            (6, back(4), Some((1, 2, 7, 5, "one two"))),
            (7, user("other"), Some((2, 3, 7, 5, "one two"))),
            (8, back(3), Some((1, 1, 7, 5, "one two"))),
            (9, back(1), Some((0, 0, 7, 5, ""))),
            (10, user("anew"), Some((1, 1, 7, 5, "anew"))),
            // A line that was left.
            (11, back(5), None),
            (12, user("x"), None),
        ] {
            tally.count(&Entry { seq, at: Timestamp::UNIX_EPOCH, body });
            let totals = tally.totals(&SessionDirectory::new(dir.path()));
            let seen = totals.as_ref().map(|t| (t.turns, t.canisters, t.tokens, t.cost.0, t.words.as_str()));
            assert_eq!(seen, expected, "{seq}");
        }
    }
}
