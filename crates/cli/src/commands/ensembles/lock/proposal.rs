//! What one lockfile would become, and what of that needs a yes.

use std::collections::BTreeMap;

use converse_config::EnsemblePlan;
use converse_config::lock::{Drift, Kind, Lockfile, Pinned, Subject};

use super::found::DiscoveredTools;
use converse_host::lockfiles::{Locked, State};

pub(super) struct Proposal<'a> {
    pub(super) locked: &'a Locked,
    pub(super) next: Lockfile,
    /// As it was, if it could be read.
    before: Option<&'a Lockfile>,
    /// Why it could not.
    pub(super) damage: Option<&'a str>,
    /// Of a damaged one, ensembles that will not be in it any more, if they ever were.
    pub(super) dropped: Vec<String>,
    /// Ensembles that are new in it.
    pub(super) fresh: Vec<String>,
    pub(super) drifts: Vec<Drift>,
}

impl<'a> Proposal<'a> {
    /// `None`: there is nothing to lock here, and no lockfile. `gone` tells of a name that no descriptor has any more.
    pub(super) fn of(
        locked: &'a Locked,
        plans: &[EnsemblePlan],
        found: &DiscoveredTools,
        gone: &dyn Fn(&str) -> bool,
    ) -> Option<Self> {
        let (before, damage) = match &locked.state {
            State::Absent => (None, None),
            State::Sound(lockfile) => (Some(lockfile), None),
            State::Damaged(why) => (None, Some(why.as_str())),
        };
        let next = before.cloned().unwrap_or_default();
        let (dropped, fresh, drifts) = (Vec::new(), Vec::new(), Vec::new());
        let mut proposal = Self { locked, next, before, damage, dropped, fresh, drifts };
        let covered = plans.iter().filter(|plan| locked.covers(plan));
        for plan in covered {
            let name = plan.name.as_str();
            match found.get(name) {
                Some(now) => proposal.take(name, now),
                None if damage.is_some() => proposal.dropped.push(name.to_owned()),
                None => {}
            }
        }
        proposal.drop_gone(gone);
        (before.is_some() || damage.is_some() || !proposal.fresh.is_empty()).then_some(proposal)
    }

    fn take(&mut self, name: &str, now: &Pinned) {
        let Some(old) = self.next.ensembles.get_mut(name) else {
            self.fresh.push(name.to_owned());
            // Nobody knows what was accepted: all of it is to be seen, and to be accepted anew.
            if self.damage.is_some() {
                self.drifts.extend(Pinned::default().drifts(name, now));
            }
            self.next.ensembles.insert(name.to_owned(), now.clone());
            return;
        };
        self.drifts.extend(old.drifts(name, now));
        old.declared.clone_from(&now.declared);
        old.server.clone_from(&now.server);
        old.tools.retain(|tool, _| now.tools.contains_key(tool));
        for (tool, now) in &now.tools {
            // One that is the same stays as it is written.
            let is_same = old.tools.get(tool).is_some_and(|old| old.sha256() == now.sha256());
            if !is_same {
                old.tools.insert(tool.clone(), now.clone());
            }
        }
    }

    fn drop_gone(&mut self, gone: &dyn Fn(&str) -> bool) {
        let drifts = &mut self.drifts;
        self.next.ensembles.retain(|name, pinned| {
            let goes = gone(name);
            if goes {
                drifts.push(Drift {
                    ensemble: name.clone(),
                    subject: Subject::Ensemble,
                    kind: Kind::Removed,
                });
                drifts.extend(pinned.drifts(name, &Pinned { tools: BTreeMap::new(), ..pinned.clone() }));
            }
            !goes
        });
    }

    pub(super) fn needs_consent(&self) -> bool {
        self.damage.is_some() || !self.drifts.is_empty()
    }

    /// Is there something to write? A server's version alone is.
    pub(super) fn differs(&self) -> bool {
        self.before != Some(&self.next)
    }

    pub(super) fn tools(&self) -> usize {
        self.next.ensembles.values().map(|pinned| pinned.tools.len()).sum()
    }
}
