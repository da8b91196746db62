//! Children that existed before the first spawn (the program that became converse by exec had them: `sleep 60 & exec
//! …`) and their descendants. They are ignored, even after a change of the process group.

use std::collections::{BTreeMap, BTreeSet};

use crate::process_tree::{self, Process};

#[derive(Debug, Default)]
pub(crate) struct Preexisting {
    /// Session of this process. What this crate starts leads a session of its own, and no process can enter one from outside.
    home: Option<i32>,
    known: BTreeMap<i32, Process>,
    /// Their sessions, without our own.
    sessions: BTreeSet<i32>,
}

impl Preexisting {
    /// Returns all descendants of `parent` as of now.
    pub(crate) fn of(parent: i32) -> Self {
        let mut preexisting = Self::in_session_of(process_tree::process(parent));
        process_tree::children(parent).into_iter().for_each(|child| preexisting.add(child));
        preexisting
    }

    /// Returns a set that matches only the processes in the session of `parent`.
    pub(crate) fn in_session_of(parent: Option<Process>) -> Self {
        Self { home: parent.map(|parent| parent.session), ..Self::default() }
    }

    /// Adds a process and its descendants.
    pub(crate) fn add(&mut self, id: i32) {
        if !self.known.contains_key(&id) {
            self.known.extend(process_tree::descendants([id]));
            self.note_sessions();
        }
    }

    /// Updates the set from the current `children` of the parent: a child that descends from a known process was reparented.
    pub(crate) fn look(&mut self, children: &[Process]) {
        let theirs = children.iter().filter(|child| self.is_known(child));
        let alive = self.known.values().filter(|known| process_tree::is_alive(known));
        self.known =
            process_tree::descendants(theirs.chain(alive).map(|outsider| outsider.id).collect::<Vec<_>>());
        self.note_sessions();
    }

    pub(crate) fn contains(&self, process: &Process) -> bool {
        self.home == Some(process.session) || self.is_known(process)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = i32> {
        self.known.keys().copied()
    }

    /// Does not look at our own session: a child of ours is in it until it calls setsid.
    fn is_known(&self, process: &Process) -> bool {
        let known = self.known.get(&process.id).is_some_and(|known| known.started == process.started);
        known || self.sessions.contains(&process.session)
    }

    fn note_sessions(&mut self) {
        let sessions = self.known.values().map(|outsider| outsider.session);
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
        let mut preexisting = Preexisting { home: Some(5), known, sessions: BTreeSet::new() };
        preexisting.note_sessions();
        for (other, is_one) in [
            (process(20, 5), true),
            (process(20, 20), true),
            (Process { started: 8, ..process(20, 20) }, false),
            (process(31, 30), true),
            (process(40, 5), true),
            (process(40, 40), false),
        ] {
            assert_eq!(preexisting.contains(&other), is_one, "{other:?}");
        }
        assert!(!preexisting.is_known(&process(40, 5)), "it may be a child of table, just born");
        preexisting.look(&[]);
        assert_eq!(preexisting.ids().count(), 0, "numbers that are others' now, or nobody's");
    }
}
