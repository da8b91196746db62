//! What providers reject in each tool, as findings at the place that its author can change.

use std::collections::{BTreeMap, BTreeSet};

use converse_canister::{Declaration, InvokerName};
use converse_config::{Code, Diagnostic, EnsemblePlan, Finding, InvokerPlan, Scope, Severity, escape};
use converse_ensemble::tool_name;
use converse_provider::{LintTarget, Objection, Remedy, lint, lint_name};
use converse_text::wording::counted;

use super::servers::DiscoveredTool;
use super::{RenderedFinding, of_ensemble};
use crate::catalogue::Catalogue;

/// Findings about declared tools, at the line of `[arguments]` or of the declaration. The tools in the binary are not
/// checked, because their user cannot change them.
pub(super) fn of_declared(providers: &[LintTarget], catalogue: &Catalogue) -> Vec<RenderedFinding> {
    let mut findings = Vec::new();
    for plan in catalogue.declared().filter(|plan| plan.origin.scope != Scope::Shipped) {
        for invoker in &plan.invokers {
            let Some(declaration) = declaration(plan, invoker) else { continue };
            for (which, objection) in objections(providers, plan, &invoker.name, &declaration) {
                let (code, severity) = classify(objection.remedy);
                let message = message(which, &invoker.name, &objection);
                let span = catalogue.place_in(plan, &invoker.name, &objection.pointer);
                findings.push(match span {
                    Some(span) => {
                        let message = format!("`{}`: {message}", plan.name);
                        let diagnostic = match severity {
                            Severity::Error => Diagnostic::error(code, span, message),
                            Severity::Warning => Diagnostic::warning(code, span, message),
                        };
                        RenderedFinding::of(catalogue, &diagnostic)
                    }
                    None => RenderedFinding::from(of_ensemble(plan, code, severity, &message)),
                });
            }
        }
    }
    findings
}

/// Findings about tools of servers that a provider rejects, at the ensemble: the schema belongs to the server. What needs no
/// change is counted, in one line for each provider, because nobody here can change it.
pub(super) fn of_discovered(
    providers: &[LintTarget],
    discovered: &[DiscoveredTool<'_>],
) -> (Vec<Finding>, Vec<String>) {
    let (mut findings, mut harmless) = (Vec::new(), BTreeMap::<_, BTreeSet<usize>>::new());
    for (number, tool) in discovered.iter().enumerate() {
        for (which, objection) in objections(providers, tool.plan, &tool.invoker, &tool.declaration) {
            match classify(objection.remedy) {
                (_, Severity::Warning) => {
                    harmless.entry((which, objection.remedy)).or_default().insert(number);
                }
                (code, severity) => {
                    let message = message(which, &tool.invoker, &objection);
                    findings.push(of_ensemble(tool.plan, code, severity, &message));
                }
            }
        }
    }
    let line = |((which, remedy), tools): (&(LintTarget, Remedy), &BTreeSet<usize>)| {
        let (which, tools) = (which.label(), counted(tools.len(), "tool"));
        match remedy {
            Remedy::Adapted => format!("{which}: converse adapts {tools} of servers; no change is needed"),
            _ => format!("{which}: ignores parts of {tools} of servers; no change is needed"),
        }
    };
    (findings, harmless.iter().map(line).collect())
}

/// The declaration that the roster would make.
fn declaration(plan: &EnsemblePlan, invoker: &InvokerPlan) -> Option<Declaration> {
    let name = tool_name(prefix(plan), &invoker.name);
    Some(Declaration {
        name,
        description: invoker.description.clone(),
        arguments: invoker.arguments.clone()?,
    })
}

fn prefix(plan: &EnsemblePlan) -> &str {
    plan.prefix.as_deref().unwrap_or(plan.name.as_str())
}

fn objections(
    providers: &[LintTarget],
    plan: &EnsemblePlan,
    invoker: &InvokerName,
    declaration: &Declaration,
) -> Vec<(LintTarget, Objection)> {
    let wanted = match prefix(plan) {
        "" => invoker.to_string(),
        prefix => format!("{prefix}__{invoker}"),
    };
    let which: BTreeSet<LintTarget> = providers.iter().copied().collect();
    let of = |which| {
        let of_name = lint_name(which, &wanted, &declaration.name);
        of_name.into_iter().chain(lint(which, declaration)).map(move |objection| (which, objection))
    };
    which.into_iter().flat_map(of).collect()
}

fn classify(remedy: Remedy) -> (Code, Severity) {
    match remedy {
        Remedy::Adapted => (Code::ProviderAdapts, Severity::Warning),
        Remedy::Ignored => (Code::ProviderIgnores, Severity::Warning),
        Remedy::MustChange => (Code::ProviderRejects, Severity::Error),
    }
}

/// The message, escaped: names in it come from schemas of other people.
fn message(which: LintTarget, invoker: &InvokerName, objection: &Objection) -> String {
    let place = match objection.pointer.as_str() {
        "" => String::new(),
        pointer => format!(" at `{pointer}`"),
    };
    escape(&format!("`{invoker}`{place}: {} {}", which.label(), objection.message))
}
