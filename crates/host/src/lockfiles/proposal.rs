//! The next content of a lockfile, and the changes in it that need consent.

use converse_config::EnsemblePlan;
use converse_config::lock::{Drift, LockError, Lockfile, PinnedEnsemble};

use super::{DiscoveredTools, Locked, Lockfiles, State, texts};
use crate::catalogue::Catalogue;
use crate::failure::{Failure, Kind as FailureKind};
use crate::world::World;
use converse_text::wording::they_are;

/// What one lockfile would become.
#[derive(Debug)]
pub struct Proposal<'a> {
    pub locked: &'a Locked,
    pub next: Lockfile,
    /// The present content, if it can be read.
    before: Option<&'a Lockfile>,
    /// Why the present content cannot be read.
    pub damage: Option<&'a str>,
    /// Ensembles that a damaged lockfile may contain and the next one will not.
    pub dropped: Vec<String>,
    /// Ensembles that are new in the lockfile.
    pub added: Vec<String>,
    pub drifts: Vec<Drift>,
}

impl<'a> Proposal<'a> {
    /// The proposals for all lockfiles that may be written. With `whole`, ensembles without a descriptor are removed, and
    /// commands and skills are locked.
    pub fn all(
        lockfiles: &'a Lockfiles,
        catalogue: &Catalogue,
        found: &DiscoveredTools,
        whole: bool,
        world: &World,
    ) -> Vec<Self> {
        let is_gone = |name: &str| whole && !texts::is_of_texts(name) && !catalogue.contains(name);
        let writable = lockfiles.iter().filter(|locked| locked.trusted);
        let of = |locked: &'a Locked| {
            let texts = whole.then(|| texts::found(locked.scope, catalogue, world));
            Self::of(locked, &catalogue.plans, found, texts.as_ref().map(<[_; 2]>::as_slice), &is_gone)
        };
        writable.filter_map(of).collect()
    }

    /// `None`: there is no lockfile, and nothing to lock.
    fn of(
        locked: &'a Locked,
        plans: &[EnsemblePlan],
        found: &DiscoveredTools,
        texts: Option<&[(&str, PinnedEnsemble)]>,
        is_gone: &dyn Fn(&str) -> bool,
    ) -> Option<Self> {
        let (before, damage) = match &locked.state {
            State::Absent => (None, None),
            State::Sound(lockfile) => (Some(lockfile), None),
            State::Damaged(why) => (None, Some(why.as_str())),
        };
        let next = before.cloned().unwrap_or_default();
        let (dropped, added, drifts) = (Vec::new(), Vec::new(), Vec::new());
        let mut proposal = Self { locked, next, before, damage, dropped, added, drifts };
        let covered = plans.iter().filter(|plan| locked.covers(plan));
        for plan in covered {
            let name = plan.name.as_str();
            match found.get(name) {
                Some(now) => proposal.take(name, now),
                None if damage.is_some() => proposal.dropped.push(name.to_owned()),
                None => {}
            }
        }
        for (name, now) in texts.unwrap_or_default() {
            if !now.tools.is_empty() || proposal.next.ensembles.contains_key(*name) {
                proposal.take(name, now);
            }
        }
        let removed = proposal.next.remove(is_gone);
        proposal.drifts.extend(removed);
        (before.is_some() || damage.is_some() || !proposal.added.is_empty()).then_some(proposal)
    }

    fn take(&mut self, name: &str, now: &PinnedEnsemble) {
        match self.next.update(name, now) {
            Some(drifts) => self.drifts.extend(drifts),
            None => {
                self.added.push(name.to_owned());
                // What was accepted before is unknown, so all of it has to be shown and accepted again.
                if self.damage.is_some() {
                    self.drifts.extend(PinnedEnsemble::default().drifts(name, now));
                }
            }
        }
    }

    /// Whether something in it must be accepted.
    pub fn needs_consent(&self) -> bool {
        self.damage.is_some() || !self.drifts.is_empty()
    }

    /// Whether there is something to write. A new version of a server is enough.
    pub fn differs(&self) -> bool {
        self.before != Some(&self.next)
    }

    /// The numbers of ensembles, of their tools, and of commands and skills in the next lockfile.
    pub fn counts(&self) -> (usize, usize, usize) {
        let (texts, ensembles): (Vec<_>, Vec<_>) =
            self.next.ensembles.iter().partition(|(name, _)| texts::is_of_texts(name));
        let tools = |all: &[(&String, &PinnedEnsemble)]| all.iter().map(|(_, one)| one.tools.len()).sum();
        (ensembles.len(), tools(&ensembles), tools(&texts))
    }

    /// Writes all proposals that differ. No file is written unless all texts can be made.
    pub fn write(proposals: &[Self]) -> Result<(), Failure> {
        let failed = |proposal: &Self, why: &dyn std::fmt::Display| {
            let message = format!("{} could not be written: {why}", proposal.locked.shown);
            Failure::new(FailureKind::Output, "lock", message)
        };
        let text = |one: &'_ Self| one.next.text().map_err(|error: LockError| failed(one, &error));
        let changed = proposals.iter().filter(|proposal| proposal.differs());
        let texts: Vec<_> = changed.map(|one| Ok((one, text(one)?))).collect::<Result<_, Failure>>()?;
        texts.iter().try_for_each(|(one, text)| one.locked.replace(text).map_err(|error| failed(one, &error)))
    }

    /// The failure of a run in which the proposals were not accepted.
    pub fn refusal(proposals: &[Self]) -> Failure {
        let refused: Vec<&Self> = proposals.iter().filter(|proposal| proposal.needs_consent()).collect();
        if let Some((proposal, why)) = refused.iter().find_map(|one| Some((one, one.damage?))) {
            return damaged(&proposal.locked.shown, why).hint(
                "restore it, for example from version control; `--accept` writes it again from the current tools",
            );
        }
        let count: usize = refused.iter().map(|proposal| proposal.drifts.len()).sum();
        let names: Vec<&str> = refused.iter().map(|proposal| proposal.locked.shown.as_str()).collect();
        let (changes, names) = (they_are(count, "change"), names.join(", "));
        let message = format!("{changes} not accepted (against {names}); nothing was written");
        Failure::new(FailureKind::Configuration, "lock-drift", message)
            .hint("review the changes above; `--accept` writes them to the lockfile")
    }
}

/// The ensembles to lock: those that are named, or all that can be locked.
pub fn plans_to_lock<'c>(
    catalogue: &'c Catalogue,
    lockfiles: &Lockfiles,
    names: &[String],
) -> Result<Vec<&'c EnsemblePlan>, Failure> {
    catalogue.stop_for_own_errors()?;
    if names.is_empty() {
        return Ok(lockable(catalogue, lockfiles));
    }
    // A damaged lockfile is written as a whole: with some ensembles only, the others would silently be gone.
    for locked in lockfiles.iter().filter(|locked| locked.trusted) {
        if let State::Damaged(why) = &locked.state {
            return Err(damaged(&locked.shown, why)
                .hint("restore it, or write all of it again: `converse ensembles lock` without names"));
        }
    }
    let named = |name: &String| {
        let plan = catalogue.named(name)?;
        if !plan.trusted {
            catalogue.stop_for_skipped("locked")?;
        }
        if plan.trusted && lockfiles.of(plan).is_some() {
            return Ok(plan);
        }
        let message = format!("`{name}` of {} has no lockfile", plan.origin.file);
        Err(Failure::usage("not-lockable", message)
            .hint("only the ensembles of a trusted directory are locked"))
    };
    names.iter().map(named).collect()
}

/// The ensembles that are locked without being named: trusted, from a directory, and enabled or locked already.
pub(crate) fn lockable<'c>(catalogue: &'c Catalogue, lockfiles: &Lockfiles) -> Vec<&'c EnsemblePlan> {
    let may = |plan: &&EnsemblePlan| {
        plan.trusted && lockfiles.of(plan).is_some() && (plan.enabled || lockfiles.speak_of(plan))
    };
    catalogue.plans.iter().filter(may).collect()
}

fn damaged(file: &str, why: &str) -> Failure {
    let message = format!("{file} is damaged: {why}; nothing was written");
    Failure::new(FailureKind::Configuration, "lock-damaged", message)
}
