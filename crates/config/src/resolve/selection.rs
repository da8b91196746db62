//! Selects one of several ensembles with the same name, and detects tools with the same name for models.
//!
//! The nearest scope wins. An ensemble of an untrusted project never replaces another ensemble or its tools.

use std::collections::{BTreeMap, HashMap};

use super::{BrokenEnsemble, Resolution};
use crate::Code;
use crate::diagnostic::{Diagnostic, quoted};
use crate::ensemble::EnsembleDescriptor;
use crate::plan::{EnsemblePlan, InvokerPlan, Scope};
use crate::source::{SourceMap, Span};

/// Limit on the bytes that all untrusted ensembles of a project together may send to models.
const MAX_UNTRUSTED: usize = 64 * 1024;

pub(super) struct Candidate<'a> {
    pub(super) descriptor: &'a EnsembleDescriptor,
    /// `None` if the ensemble has errors.
    pub(super) plan: Option<EnsemblePlan>,
    /// The valid parts of an ensemble with errors.
    pub(super) rest: Option<EnsemblePlan>,
    pub(super) trusted: bool,
    /// Warnings about unset variables, which are reported only if the ensemble is in use.
    pub(super) unset: Vec<Diagnostic>,
}

impl Candidate<'_> {
    fn place(&self) -> Span {
        self.descriptor.name.as_ref().map_or(self.descriptor.span, |name| name.span)
    }

    fn broken(&self, sources: &SourceMap) -> BrokenEnsemble {
        let source = self.descriptor.source;
        let name = self.descriptor.name.as_ref().map(|name| name.value.clone());
        let (scope, file) = (sources.scope(source), sources.path(source).to_owned());
        BrokenEnsemble { name, scope, source, file, rest: self.rest.clone() }
    }

    /// Returns the order of precedence: trusted before untrusted, nearer before farther.
    fn rank(&self, sources: &SourceMap) -> (bool, Scope) {
        (self.trusted, sources.scope(self.descriptor.source))
    }
}

pub(super) fn select(
    sources: &SourceMap,
    candidates: Vec<Candidate<'_>>,
    diagnostics: Vec<Diagnostic>,
) -> Resolution {
    let mut resolved = Resolution { plans: Vec::new(), broken: Vec::new(), diagnostics };
    let mut by_name: BTreeMap<String, Vec<Candidate<'_>>> = BTreeMap::new();
    for candidate in candidates {
        if candidate.plan.is_none() {
            resolved.broken.push(candidate.broken(sources));
        }
        match &candidate.descriptor.name {
            Some(name) => by_name.entry(name.value.clone()).or_default().push(candidate),
            None => continue,
        }
    }
    let mut chosen: Vec<_> =
        by_name.into_values().filter_map(|namesakes| nearest(sources, namesakes, &mut resolved)).collect();
    // Farther before nearer, untrusted last: on a clash the later ensemble is left out.
    let is_off = |candidate: &Candidate<'_>| candidate.plan.as_ref().is_some_and(|plan| !plan.enabled);
    chosen.sort_by_key(|candidate| {
        (!candidate.trusted, sources.scope(candidate.descriptor.source), is_off(candidate))
    });
    let chosen = without_excess(sources, chosen, &mut resolved);
    without_clashes(sources, chosen, &mut resolved);
    resolved.plans.sort_by(|a, b| a.name.cmp(&b.name));
    resolved
}

/// Returns the ensemble that counts among several with the same name.
fn nearest<'a>(
    sources: &SourceMap,
    namesakes: Vec<Candidate<'a>>,
    resolved: &mut Resolution,
) -> Option<Candidate<'a>> {
    let mut by_scope: BTreeMap<Scope, Candidate<'_>> = BTreeMap::new();
    for candidate in namesakes {
        let scope = sources.scope(candidate.descriptor.source);
        if let Some(first) = by_scope.get(&scope) {
            let name = candidate.descriptor.name.as_ref().map(|name| quoted(&name.value)).unwrap_or_default();
            let message = format!("there is another ensemble named {name}");
            let diagnostic = Diagnostic::error(Code::DuplicateEnsemble, candidate.place(), message);
            resolved.diagnostics.push(diagnostic.related(first.place(), "the first"));
            if candidate.plan.is_some() {
                resolved.broken.push(candidate.broken(sources));
            }
        } else {
            by_scope.insert(scope, candidate);
        }
    }
    let mut candidates: Vec<_> = by_scope.into_values().collect();
    candidates.sort_by_key(|candidate| candidate.rank(sources));
    let winner = candidates.pop();
    if winner.as_ref().is_some_and(|winner| winner.trusted) {
        for loser in candidates.iter().filter(|loser| !loser.trusted) {
            let message = "this project is not trusted: its ensemble does not replace another ensemble of the same name";
            let mut diagnostic = Diagnostic::warning(Code::UntrustedShadow, loser.place(), message);
            if let Some(winner) = &winner {
                diagnostic = diagnostic.related(winner.place(), "the other");
            }
            resolved.diagnostics.push(diagnostic);
        }
    }
    winner
}

/// Leaves out untrusted ensembles beyond the size limit, because their content is sent to a model with every request.
/// Ensembles that would start a program or contact a server are never sent.
fn without_excess<'a>(
    sources: &SourceMap,
    chosen: Vec<Candidate<'a>>,
    resolved: &mut Resolution,
) -> Vec<Candidate<'a>> {
    let mut left = MAX_UNTRUSTED;
    let fits = |candidate: &Candidate<'_>| {
        let plan = candidate.plan.as_ref().filter(|plan| !plan.trusted && !plan.reaches_out());
        let rest = left.checked_sub(plan.map_or(0, size_for_models));
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let (kept, beyond): (Vec<_>, Vec<_>) = chosen.into_iter().partition(fits);
    for candidate in beyond {
        let message = format!(
            "this project is not trusted: with this ensemble, its names, descriptions and schemas exceed \
             {MAX_UNTRUSTED} bytes"
        );
        resolved.diagnostics.push(Diagnostic::warning(Code::UntrustedExcess, candidate.place(), message));
        resolved.broken.push(candidate.broken(sources));
    }
    kept
}

/// Returns the size of what models see of an ensemble, in bytes.
fn size_for_models(plan: &EnsemblePlan) -> usize {
    let of_invoker = |invoker: &InvokerPlan| {
        let schema = invoker.arguments.as_deref().map_or(0, converse_canister::json_length);
        invoker.name.as_str().len() + invoker.description.len() + schema
    };
    plan.name.as_str().len() + plan.description.len() + plan.invokers.iter().map(of_invoker).sum::<usize>()
}

/// Leaves out ensembles whose tools would have the name of another tool.
fn without_clashes(sources: &SourceMap, chosen: Vec<Candidate<'_>>, resolved: &mut Resolution) {
    let mut taken: HashMap<(String, String), Span> = HashMap::new();
    for mut candidate in chosen {
        let Some(plan) = candidate.plan.take() else { continue };
        if !plan.enabled {
            resolved.plans.push(plan);
            continue;
        }
        let prefix = plan.prefix.clone().unwrap_or_else(|| plan.name.to_string());
        let names = || plan.invokers.iter().map(|invoker| (prefix.clone(), invoker.name.to_string()));
        if let Some((name, other)) = names().find_map(|name| taken.get(&name).map(|other| (name, *other))) {
            let message = format!("two tools would have the name {} for models", quoted(&name.1));
            let place = candidate.descriptor.prefix.as_ref().map_or(candidate.place(), |prefix| prefix.span);
            let diagnostic = Diagnostic::error(Code::NameClash, place, message);
            resolved.diagnostics.push(diagnostic.related(other, "the other ensemble"));
            resolved.broken.push(candidate.broken(sources));
            continue;
        }
        let place = candidate.place();
        taken.extend(names().map(|name| (name, place)));
        if plan.trusted || !plan.reaches_out() {
            resolved.diagnostics.append(&mut candidate.unset);
        }
        resolved.plans.push(plan);
    }
}
