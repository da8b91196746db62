//! `check --locked`: what is not as the lockfiles say, as findings like all others.

use converse_config::lock::{Drift, Kind, Lockfile, Pinned, Shown, Subject};
use converse_config::{Code, EnsemblePlan, Finding, Scope, Severity};

use super::found::DiscoveredTools;
use super::lockable;
use converse_host::catalogue::Catalogue;
use converse_host::lockfiles::{Locked, Lockfiles, State};
use converse_host::wording::counted;
use converse_terminal::console::Console;

/// Compares what is locked with what was found of it.
pub(in crate::commands::ensembles) fn findings(
    catalogue: &Catalogue,
    lockfiles: &Lockfiles,
    found: &DiscoveredTools,
    console: &Console,
) -> Vec<Finding> {
    let plans = lockable(catalogue, lockfiles);
    let is_some_there = lockfiles.iter().any(|locked| !matches!(locked.state, State::Absent));
    let mut all = Vec::new();
    for locked in lockfiles.iter() {
        let here: Vec<&EnsemblePlan> = plans.iter().filter(|plan| locked.covers(plan)).copied().collect();
        let found = of_lockfile(locked, &here, found, is_some_there).into_iter();
        let found = found.chain(stale(locked, catalogue));
        all.extend(found.map(|finding| Finding { hint: said_here(locked, finding.hint), ..finding }));
    }
    for finding in &mut all {
        console.context.redactor.clean_text(&mut finding.message);
    }
    all
}

/// A hint as it must be typed for this directory.
fn said_here(locked: &Locked, hint: Option<String>) -> Option<String> {
    hint.map(|hint| hint.replace("ensembles lock", &format!("ensembles lock{}", locked.flag())))
}

fn of_lockfile(
    locked: &Locked,
    plans: &[&EnsemblePlan],
    found: &DiscoveredTools,
    is_some_there: bool,
) -> Vec<Finding> {
    match &locked.state {
        // The user's own directory need not be locked where a project's is.
        State::Absent if plans.is_empty() || (locked.scope == Scope::User && is_some_there) => Vec::new(),
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
    found: Option<&Pinned>,
) -> Vec<Finding> {
    let (name, file) = (plan.name.as_str(), &locked.shown);
    let drift = |message| at(plan, Code::LockDrift, message);
    let Some(pinned) = lockfile.ensembles.get(name) else {
        return vec![drift(format!("`{name}` is not in {file}"))];
    };
    let drifts = found.map(|found| pinned.drifts(name, found)).unwrap_or_default();
    drifts.iter().flat_map(|one| messages(one, file)).map(drift).collect()
}

/// One for each parameter: they are judged one by one.
fn messages(drift: &Drift, file: &str) -> Vec<String> {
    let ensemble = &drift.ensemble;
    let subject = match &drift.subject {
        Subject::Tool(tool) => format!("`{ensemble}.{tool}`"),
        Subject::Server => format!("the server of `{ensemble}`"),
        Subject::Declared => format!("the descriptor of `{ensemble}`"),
        Subject::Ensemble => format!("`{ensemble}`"),
    };
    match &drift.kind {
        Kind::Added => vec![format!("{subject} is not in {file}")],
        Kind::Removed => vec![format!("{subject} is in {file} and is there no longer")],
        Kind::Changed(changes) => {
            let Shown { changes, cut } = Shown::of(changes.clone());
            let changed = changes.iter().map(|change| format!("{subject}: {change}"));
            changed.chain(cut.iter().map(|cut| format!("{subject}: {cut}"))).collect()
        }
    }
}

/// Entries of ensembles that no descriptor declares any more.
fn stale(locked: &Locked, catalogue: &Catalogue) -> Vec<Finding> {
    let State::Sound(lockfile) = &locked.state else { return Vec::new() };
    let gone = lockfile.ensembles.keys().filter(|name| !catalogue.knows(name));
    let message = |name: &String| format!("`{name}` is in {}, and no descriptor declares it", locked.shown);
    gone.map(|name| of_file(locked, Code::LockDrift, message(name))).collect()
}

fn at(plan: &EnsemblePlan, code: Code, message: String) -> Finding {
    let (file, line) = (plan.origin.file.clone(), Some(plan.origin.line));
    let hint = Some(code.hint().to_owned());
    Finding { code, severity: Severity::Error, message, file, line, column: Some(1), hint }
}

fn of_file(locked: &Locked, code: Code, message: String) -> Finding {
    let hint = Some(code.hint().to_owned());
    Finding {
        code,
        severity: Severity::Error,
        message,
        file: locked.shown.clone(),
        line: None,
        column: None,
        hint,
    }
}
