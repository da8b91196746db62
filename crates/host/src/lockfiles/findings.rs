//! Differences between lockfiles and current definitions, as findings of `check --locked`.

use converse_config::lock::{Lockfile, PinnedEnsemble};
use converse_config::{Code, EnsemblePlan, Finding, Scope, Severity};

use super::{DiscoveredTools, Locked, Lockfiles, State, lockable, texts};
use crate::catalogue::Catalogue;
use crate::secrets::Redactor;
use crate::world::World;
use converse_text::wording::counted;

/// Compares the lockfiles with the current definitions.
pub(crate) fn findings(
    catalogue: &Catalogue,
    lockfiles: &Lockfiles,
    found: &DiscoveredTools,
    redactor: &Redactor,
    world: &World,
) -> Vec<Finding> {
    let plans = lockable(catalogue, lockfiles);
    let any_present = lockfiles.iter().any(|locked| !matches!(locked.state, State::Absent));
    let mut all = Vec::new();
    for locked in lockfiles.iter() {
        let here: Vec<&EnsemblePlan> = plans.iter().filter(|plan| locked.covers(plan)).copied().collect();
        let found = of_lockfile(locked, &here, found, any_present).into_iter();
        let found = found.chain(stale(locked, catalogue)).chain(of_texts(locked, catalogue, world));
        all.extend(found.map(|finding| Finding { hint: for_directory(locked, finding.hint), ..finding }));
    }
    for finding in &mut all {
        redactor.clean_text(&mut finding.message);
    }
    all
}

/// The hint with the flag that names this directory.
fn for_directory(locked: &Locked, hint: Option<String>) -> Option<String> {
    hint.map(|hint| hint.replace("ensembles lock", &format!("ensembles lock{}", locked.flag())))
}

fn of_lockfile(
    locked: &Locked,
    plans: &[&EnsemblePlan],
    found: &DiscoveredTools,
    any_present: bool,
) -> Vec<Finding> {
    match &locked.state {
        // The user's directory need not be locked where a project's directory is.
        State::Absent if plans.is_empty() || (locked.scope == Scope::User && any_present) => Vec::new(),
        State::Absent => {
            let message =
                format!("there is no {}, and {} to lock", locked.shown, counted(plans.len(), "ensemble"));
            vec![of_file(locked, Code::LockMissing, message)]
        }
        State::Damaged(why) => {
            let message = format!("{} is damaged: {why}", locked.shown);
            vec![of_file(locked, Code::LockDamaged, message)]
        }
        State::Sound(lockfile) => plans
            .iter()
            .flat_map(|plan| of_ensemble(locked, lockfile, plan, found.get(plan.name.as_str())))
            .collect(),
    }
}

fn of_ensemble(
    locked: &Locked,
    lockfile: &Lockfile,
    plan: &EnsemblePlan,
    found: Option<&PinnedEnsemble>,
) -> Vec<Finding> {
    let (name, file) = (plan.name.as_str(), &locked.shown);
    let drift = |message| at(plan, Code::LockDrift, message);
    let Some(pinned) = lockfile.ensembles.get(name) else {
        return vec![drift(format!("`{name}` is not in {file}"))];
    };
    let drifts = found.map(|found| pinned.drifts(name, found)).unwrap_or_default();
    let unpinned =
        found.map(|found| pinned.unpinned_lists(found)).unwrap_or_default().into_iter().map(|list| {
            let message = format!("{file} does not pin the {} of `{name}`", list.label());
            Finding { severity: Severity::Warning, ..at(plan, Code::LockIncomplete, message) }
        });
    drifts.iter().flat_map(|one| one.lines(file)).map(drift).chain(unpinned).collect()
}

/// Findings for locked ensembles that no descriptor declares any more.
fn stale(locked: &Locked, catalogue: &Catalogue) -> Vec<Finding> {
    let State::Sound(lockfile) = &locked.state else { return Vec::new() };
    let is_gone = |name: &&String| !texts::is_of_texts(name) && !catalogue.contains(name);
    let gone = lockfile.ensembles.keys().filter(is_gone);
    let message = |name: &String| format!("`{name}` is in {}, and no descriptor declares it", locked.shown);
    gone.map(|name| of_file(locked, Code::LockDrift, message(name))).collect()
}

/// Findings about commands and skills.
fn of_texts(locked: &Locked, catalogue: &Catalogue, world: &World) -> Vec<Finding> {
    let State::Sound(lockfile) = &locked.state else { return Vec::new() };
    let found = texts::found(locked.scope, catalogue, world);
    let of_group = |(name, now): &(&str, PinnedEnsemble)| match lockfile.ensembles.get(*name) {
        Some(pinned) => {
            let lines = pinned.drifts(name, now).into_iter().flat_map(|drift| drift.lines(&locked.shown));
            lines.map(|line| of_file(locked, Code::LockDrift, line)).collect()
        }
        None if now.tools.is_empty() => Vec::new(),
        None => {
            let message = format!("{} does not pin the {}", locked.shown, name.trim_start_matches('*'));
            let severity = Severity::Warning;
            vec![Finding { severity, ..of_file(locked, Code::LockIncomplete, message) }]
        }
    };
    found.iter().flat_map(of_group).collect()
}

fn at(plan: &EnsemblePlan, code: Code, message: String) -> Finding {
    let (line, column) = (Some(plan.origin.line), Some(1));
    Finding { line, column, ..finding(code, message, &plan.origin.file) }
}

fn of_file(locked: &Locked, code: Code, message: String) -> Finding {
    finding(code, message, &locked.shown)
}

fn finding(code: Code, message: String, file: &str) -> Finding {
    let (file, hint) = (file.to_owned(), Some(code.hint().to_owned()));
    Finding { code, severity: Severity::Error, message, file, line: None, column: None, hint }
}
