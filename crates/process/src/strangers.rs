//! Children that we had before we started any, for who became us by exec had them (`sleep 60 & exec …`), and what
//! descends from them. None of our business, wherever it moves to.

use std::collections::{BTreeMap, BTreeSet};

use crate::kin::{self, Process};

#[derive(Debug, Default)]
pub(crate) struct Strangers {
    /// Our own session. What this crate starts leads another one, and into a session nobody can come from outside.
    home: Option<i32>,
    known: BTreeMap<i32, Process>,
    /// Theirs, but for our own.
    sessions: BTreeSet<i32>,
}

impl Strangers {
    /// All that descends from `parent` as it is now.
    pub(crate) fn of(parent: i32) -> Self {
        let mut strangers = Self::beside(kin::process(parent));
        kin::children(parent).into_iter().for_each(|child| strangers.add(child));
        strangers
    }

    /// Nobody but those who are in its session.
    pub(crate) fn beside(parent: Option<Process>) -> Self {
        Self { home: parent.map(|parent| parent.session), ..Self::default() }
    }

    /// One more, and all below it.
    pub(crate) fn add(&mut self, id: i32) {
        if !self.known.contains_key(&id) {
            self.known.extend(kin::families([id]));
            self.note_sessions();
        }
    }

    /// `children` are those of the parent now. Whoever of them descends from a stranger became its child since.
    pub(crate) fn look(&mut self, children: &[Process]) {
        let theirs = children.iter().filter(|child| self.has_begotten(child));
        let alive = self.known.values().filter(|known| kin::lives(known));
        self.known = kin::families(theirs.chain(alive).map(|stranger| stranger.id).collect::<Vec<_>>());
        self.note_sessions();
    }

    pub(crate) fn are(&self, process: &Process) -> bool {
        self.home == Some(process.session) || self.has_begotten(process)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = i32> {
        self.known.keys().copied()
    }

    /// Not by our own session: a child of ours is in it until it makes another.
    fn has_begotten(&self, process: &Process) -> bool {
        let known = self.known.get(&process.id).is_some_and(|known| known.started == process.started);
        known || self.sessions.contains(&process.session)
    }

    fn note_sessions(&mut self) {
        let sessions = self.known.values().map(|stranger| stranger.session);
        self.sessions = sessions.filter(|session| Some(*session) != self.home).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(id: i32, session: i32) -> Process {
        Process { id, group: session, session, started: 7, threads: 1, dead: false }
    }

    #[test]
    fn they_are_known_by_themselves_and_by_their_session() {
        let known = [process(20, 5), process(30, 30)].map(|one| (one.id, one)).into();
        let mut strangers = Strangers { home: Some(5), known, sessions: BTreeSet::new() };
        strangers.note_sessions();
        for (other, is_one) in [
            (process(20, 5), true),
            (process(20, 20), true),
            (Process { started: 8, ..process(20, 20) }, false),
            (process(31, 30), true),
            (process(40, 5), true),
            (process(40, 40), false),
        ] {
            assert_eq!(strangers.are(&other), is_one, "{other:?}");
        }
        assert!(!strangers.has_begotten(&process(40, 5)), "it may be a child of ours, just born");
        strangers.look(&[]);
        assert_eq!(strangers.ids().count(), 0, "numbers that are others' now, or nobody's");
    }
}
