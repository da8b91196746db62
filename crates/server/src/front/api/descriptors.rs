//! What descriptors and lockfiles say about the ensembles of a server, read when it is asked for.

use std::path::PathBuf;

use converse_config::lock::{DriftKind, DriftSubject, PinnedEnsemble, PinnedTool};
use converse_config::{EnsemblePlan, Finding, TransportPlan};
use converse_ensemble::{Roster, declared_ensemble};
use converse_host::catalogue::Catalogue;
use converse_host::lockfiles::{Lockfiles, State};
use converse_host::secrets::Redactor;
use converse_host::world::World;
use converse_text::difference::{Difference, Side};
use serde_json::{Value, json};

/// Limits on the lines of a comparison, and on the characters of a line.
const MAX_LINES: usize = 5_000;
const MAX_LINE: usize = 2_000;

/// The descriptors as they are now.
pub(super) struct Descriptors {
    catalogue: Catalogue,
    lockfiles: Lockfiles,
    findings: Vec<Finding>,
}

impl Descriptors {
    pub(super) fn read(world: &World, directories: &[PathBuf]) -> Self {
        let catalogue = Catalogue::find(world, directories);
        let lockfiles = catalogue.lockfiles();
        let mut findings = Catalogue::check(world, &[], false).findings();
        if !directories.is_empty() {
            findings.extend(Catalogue::check(world, directories, false).findings());
        }
        Self { catalogue, lockfiles, findings }
    }

    /// Returns all ensembles, including those with errors and those that are not used.
    pub(super) fn all(&self) -> impl Iterator<Item = &EnsemblePlan> {
        self.catalogue.declared()
    }

    pub(super) fn plan(&self, name: &str) -> Option<&EnsemblePlan> {
        self.all().find(|plan| plan.name.as_str() == name)
    }

    /// Returns the findings of `check` about the files of an ensemble.
    pub(super) fn findings(&self, plan: &EnsemblePlan, redactor: &Redactor) -> Vec<Value> {
        let is_of = |finding: &&Finding| {
            finding.file == plan.origin.file
                || plan.invokers.iter().any(|invoker| invoker.origin.file == finding.file)
        };
        let of_plan = self.findings.iter().filter(is_of).map(|finding| {
            let mut finding = finding.to_json();
            redactor.clean_json(&mut finding);
            finding
        });
        of_plan.collect()
    }

    /// Returns whether the tools of an ensemble are those that were accepted.
    pub(super) fn lock(&self, plan: &EnsemblePlan, roster: &Roster) -> &'static str {
        match self.lockfiles.of(plan).map(|locked| &locked.state) {
            None => "off",
            Some(State::Absent) => "unpinned",
            Some(State::Damaged(_)) => "drifted",
            Some(State::Sound(_)) => {
                let drifts =
                    self.pinned(plan).map(|old| old.drifts(plan.name.as_str(), &now(plan, old, roster)));
                if drifts.is_some_and(|drifts| drifts.is_empty()) { "pinned" } else { "drifted" }
            }
        }
    }

    fn pinned(&self, plan: &EnsemblePlan) -> Option<&PinnedEnsemble> {
        self.lockfiles.of(plan)?.sound()?.ensembles.get(plan.name.as_str())
    }

    /// Compares an ensemble with its lockfile, line by line.
    pub(super) fn drift(&self, plan: &EnsemblePlan, roster: &Roster, redactor: &Redactor) -> Vec<Value> {
        let mut lines = Lines { redactor, list: Vec::new() };
        if let Some(State::Damaged(why)) = self.lockfiles.of(plan).map(|locked| &locked.state) {
            lines.push("same", &format!("the lockfile is damaged: {why}"));
            return lines.list;
        }
        if self.lockfiles.of(plan).is_none_or(|locked| locked.sound().is_none()) {
            return lines.list;
        }
        let none = PinnedEnsemble::default();
        let old = self.pinned(plan).unwrap_or(&none);
        let new = now(plan, old, roster);
        for drift in old.drifts(plan.name.as_str(), &new) {
            match &drift.subject {
                DriftSubject::Tool(tool) => {
                    lines.push("same", &format!("{}.{tool}", plan.name));
                    let text = |of: &PinnedEnsemble| of.tools.get(tool).map(|tool| tool.definition().clone());
                    lines.compare(text(old), text(&new));
                }
                DriftSubject::Declared => {
                    lines.push("same", &format!("the descriptor of {}", plan.name));
                    lines.compare(old.declared.clone(), new.declared.clone());
                }
                DriftSubject::Server | DriftSubject::Offers(_) | DriftSubject::Ensemble => {
                    if let DriftKind::Changed(changes) = &drift.kind {
                        changes.iter().for_each(|change| lines.push("added", &change.line));
                    }
                }
            }
        }
        lines.list
    }
}

/// Returns the ensemble as it is served. The identity of its server is checked where it is connected.
fn now(plan: &EnsemblePlan, locked: &PinnedEnsemble, roster: &Roster) -> PinnedEnsemble {
    let tools = match roster.tools_of(plan.name.as_str()) {
        Some(tools) => {
            let pinned = |tool: &converse_ensemble::Tool| PinnedTool::new(tool.definition().value());
            tools.iter().map(|tool| (tool.invoker.to_string(), pinned(tool))).collect()
        }
        None => locked.tools.clone(),
    };
    PinnedEnsemble { declared: Some(declared_ensemble(plan)), tools, ..locked.clone() }
}

struct Lines<'r> {
    redactor: &'r Redactor,
    list: Vec<Value>,
}

impl Lines<'_> {
    fn push(&mut self, kind: &str, text: &str) {
        if self.list.len() < MAX_LINES {
            let text = self.redactor.clean(text);
            let text = converse_text::shorten::chars(text.trim_end_matches('\n'), MAX_LINE);
            self.list.push(json!({ "kind": kind, "text": text }));
        }
    }

    fn compare(&mut self, old: Option<Value>, new: Option<Value>) {
        let text = |value: Option<Value>| value.map(|value| format!("{value:#}\n")).unwrap_or_default();
        let (old, new) = (text(old), text(new));
        for (side, line) in Difference::between(&old, &new).lines() {
            let kind = match side {
                Side::Both => "same",
                Side::Old => "removed",
                Side::New => "added",
            };
            self.push(kind, line);
        }
    }
}

/// How the tools of an ensemble are reached.
pub(super) fn transport(plan: &EnsemblePlan) -> &'static str {
    match plan.connection.as_ref().map(|connection| &connection.transport) {
        Some(TransportPlan::Stdio { .. }) => "stdio",
        Some(TransportPlan::Http { .. }) => "http",
        None => "declared",
    }
}
