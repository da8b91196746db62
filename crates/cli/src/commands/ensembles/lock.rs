//! `converse ensembles lock`: writes down what every tool is, so that a change of it is seen.
//!
//! What is new is added. What has changed of an ensemble that is locked already is shown, and written only if somebody
//! accepts it: then it is what was shown, not what a server says by the time of the answer.

mod findings;
mod found;
mod proposal;
mod told;

use converse_config::EnsemblePlan;
use converse_config::lock::LockError;
use serde_json::{Value, json};

use crate::args::LockArgs;
use converse_host::catalogue::Catalogue;
use converse_host::failure::{Failure, Kind};
use converse_host::lockfiles::{Locked, Lockfiles, State};
use converse_host::wording::{counted, they_are};
use converse_host::world::World;
use converse_terminal::approver::says_yes;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_json, write_stderr, write_stdout};

pub(super) use findings::findings;
pub(super) use found::DiscoveredTools;
use proposal::Proposal;

pub(super) fn run(args: &LockArgs, console: &Console, world: &World) -> Result<(), Failure> {
    Lock { args, console, world }.run()
}

struct Lock<'a> {
    args: &'a LockArgs,
    console: &'a Console,
    world: &'a World,
}

impl Lock<'_> {
    fn run(&self) -> Result<(), Failure> {
        // Directories that are named stand alone, as they do for `check`.
        let catalogue = Catalogue::check(self.world, &self.args.places.ensembles, false);
        self.console.warn_all(catalogue.lines());
        let lockfiles = catalogue.lockfiles();
        let plans = self.plans(&catalogue, &lockfiles)?;
        let found = DiscoveredTools::connect(&plans, self.console, self.world)?;
        let whole = self.args.names.is_empty();
        let gone = |name: &str| whole && !catalogue.knows(name);
        let proposed = |locked| Proposal::of(locked, &catalogue.plans, &found, &gone);
        let proposals: Vec<Proposal<'_>> = self.written(&lockfiles).filter_map(proposed).collect();
        let accepted = self.accepts(&proposals)?;
        // Whoever names ensembles has heard of one that is not trusted already.
        let skipped = if whole { catalogue.stop_for_skipped("locked") } else { Ok(()) };
        let outcome = if accepted { self.write(&proposals) } else { Err(refusal(&proposals)) };
        if self.args.json {
            let rows: Vec<Value> = proposals.iter().map(|one| one.json(outcome.is_ok())).collect();
            let mut report = json!({ "lockfiles": rows, "unconnected": found.unconnected_json() });
            self.console.context.redactor.clean_json(&mut report);
            write_json(&report)?;
        } else if outcome.is_ok() && !(proposals.is_empty() && skipped.is_err()) {
            self.say(&told::written(&proposals))?;
        }
        outcome.and(skipped)?;
        match found.unconnected().count() {
            0 => Ok(()),
            count => {
                let is_damaged = proposals.iter().any(|proposal| proposal.damage.is_some());
                let rest =
                    if is_damaged { "lock them when they can be" } else { "what is locked of them is kept" };
                let message = format!("{} could not be connected; {rest}", counted(count, "ensemble"));
                let reasons = found.unconnected().map(|(name, reason)| format!("{name}: {reason}"));
                Err(reasons.fold(Failure::new(Kind::Ensemble, "ensemble", message), Failure::hint))
            }
        }
    }

    fn plans<'c>(
        &self,
        catalogue: &'c Catalogue,
        lockfiles: &Lockfiles,
    ) -> Result<Vec<&'c EnsemblePlan>, Failure> {
        catalogue.stop_for_own_errors()?;
        if self.args.names.is_empty() {
            return Ok(lockable(catalogue, lockfiles));
        }
        self.stop_for_damage(lockfiles)?;
        let named = |name: &String| {
            let plan = catalogue.named(name)?;
            if !plan.trusted {
                catalogue.stop_for_skipped("locked")?;
            }
            let unlockable = || {
                let message = format!("`{name}` of {} has no lockfile", plan.origin.file);
                Failure::usage("not-lockable", message)
                    .hint("only the ensembles of a trusted directory are locked")
            };
            if plan.trusted && lockfiles.of(plan).is_some() { Ok(plan) } else { Err(unlockable()) }
        };
        self.args.names.iter().map(named).collect()
    }

    /// Those that this run may write to.
    fn written<'l>(&self, lockfiles: &'l Lockfiles) -> impl Iterator<Item = &'l Locked> {
        lockfiles.iter().filter(|locked| locked.trusted)
    }

    /// What is damaged is written anew as a whole: with some ensembles only, the others would silently be gone.
    fn stop_for_damage(&self, lockfiles: &Lockfiles) -> Result<(), Failure> {
        let damaged = |locked: &Locked| match &locked.state {
            State::Damaged(why) => Some(format!("{} is damaged: {why}; nothing was written", locked.shown)),
            State::Absent | State::Sound(_) => None,
        };
        match self.written(lockfiles).find_map(damaged) {
            None => Ok(()),
            Some(message) => Err(Failure::new(Kind::Configuration, "lock-damaged", message)
                .hint("restore it, or write all of it anew: `converse ensembles lock` without names")),
        }
    }

    /// Shows what needs a yes, and finds out whether there is one.
    fn accepts(&self, proposals: &[Proposal<'_>]) -> Result<bool, Failure> {
        if proposals.iter().all(|proposal| !proposal.needs_consent()) {
            return Ok(true);
        }
        let asks = !self.args.accept && !self.args.json && self.console.context.can_ask;
        let text = told::changes(proposals);
        match (self.args.json, asks) {
            (true, _) => {}
            (false, true) => write_stderr(&self.console.context.redactor.clean(&text)),
            (false, false) => self.say(&text)?,
        }
        let unshown = told::unshown(proposals);
        if !asks {
            if self.args.accept && !self.args.json {
                self.console.warn_all(unshown.iter().map(|what| format!("warning: accepted unseen: {what}")));
            }
            return Ok(self.args.accept);
        }
        let question = match unshown.len() {
            0 => "\naccept all of this?  y = yes, n = no: ".to_owned(),
            count => format!(
                "\n{} not shown of this (`…` above).\naccept all of this, what is not shown too?  y = yes, n = no: ",
                they_are(count, "part")
            ),
        };
        converse_host::runtime::block_on(says_yes(&self.console.progress, question))
    }

    fn write(&self, proposals: &[Proposal<'_>]) -> Result<(), Failure> {
        // All texts before the first file: one that cannot be written leaves the others as they are.
        let failed = |proposal: &Proposal<'_>, why: &dyn std::fmt::Display| {
            Failure::new(
                Kind::Output,
                "lock",
                format!("{} could not be written: {why}", proposal.locked.shown),
            )
        };
        let changed = proposals.iter().filter(|proposal| proposal.differs());
        let texts: Vec<_> = changed
            .map(|one| Ok((one, one.next.text().map_err(|error: LockError| failed(one, &error))?)))
            .collect::<Result<_, Failure>>()?;
        texts.iter().try_for_each(|(one, text)| one.locked.replace(text).map_err(|error| failed(one, &error)))
    }

    fn say(&self, text: &str) -> Result<(), Failure> {
        Ok(write_stdout(&self.console.context.redactor.clean(text))?)
    }
}

/// What is locked without being named: trusted, of a directory, and enabled or locked already.
pub(super) fn lockable<'c>(catalogue: &'c Catalogue, lockfiles: &Lockfiles) -> Vec<&'c EnsemblePlan> {
    let may = |plan: &&EnsemblePlan| {
        plan.trusted && lockfiles.of(plan).is_some() && (plan.enabled || lockfiles.speak_of(plan))
    };
    catalogue.plans.iter().filter(may).collect()
}

fn refusal(proposals: &[Proposal<'_>]) -> Failure {
    let refused: Vec<&Proposal<'_>> = proposals.iter().filter(|proposal| proposal.needs_consent()).collect();
    let hint = "look at what has changed; `--accept` writes it into the lockfile";
    if let Some((proposal, why)) = refused.iter().find_map(|one| Some((one, one.damage?))) {
        let message = format!("{} is damaged: {why}; nothing was written", proposal.locked.shown);
        let hint =
            "restore it, for example from version control; `--accept` writes it anew from what is there now";
        return Failure::new(Kind::Configuration, "lock-damaged", message).hint(hint);
    }
    let count: usize = refused.iter().map(|proposal| proposal.drifts.len()).sum();
    let names: Vec<&str> = refused.iter().map(|proposal| proposal.locked.shown.as_str()).collect();
    let message = format!(
        "{} not accepted (against {}); nothing was written",
        they_are(count, "change"),
        names.join(", ")
    );
    Failure::new(Kind::Configuration, "lock-drift", message).hint(hint)
}
