//! What providers have against each tool, as findings at the place where its author can do something about it.

use std::collections::BTreeSet;

use converse_canister::{Declaration, InvokerName};
use converse_config::{Code, Diagnostic, EnsemblePlan, Finding, InvokerPlan, Severity, escape};
use converse_ensemble::tool_name;
use converse_provider::{LintTarget, Objection, Remedy, lint, lint_name};

use super::gather::{Told, of_ensemble};
use super::met::Discovered;
use crate::args::LintedProvider;
use converse_host::catalogue::Catalogue;

/// Each at its line of `[arguments]`, or where the tool is declared.
pub(super) fn of_declared(asked: &[LintedProvider], catalogue: &Catalogue) -> Vec<Told> {
    let mut told = Vec::new();
    for plan in catalogue.declared() {
        for invoker in &plan.invokers {
            let Some(declaration) = declaration(plan, invoker) else { continue };
            for (which, objection) in objections(asked, plan, &invoker.name, &declaration) {
                let (code, severity) = sort(objection.remedy);
                let message = message(which, &invoker.name, &objection);
                let span = catalogue.place_in(plan, &invoker.name, &objection.pointer);
                told.push(match span {
                    Some(span) => {
                        let diagnostic = match severity {
                            Severity::Error => {
                                Diagnostic::error(code, span, format!("`{}`: {message}", plan.name))
                            }
                            Severity::Warning => {
                                Diagnostic::warning(code, span, format!("`{}`: {message}", plan.name))
                            }
                        };
                        Told::of(catalogue, &diagnostic)
                    }
                    None => Told::from(of_ensemble(plan, code, severity, &message)),
                });
            }
        }
    }
    told
}

/// Each at its ensemble: the schema is the server's.
pub(super) fn of_discovered<'a>(
    asked: &'a [LintedProvider],
    discovered: &'a [Discovered<'a>],
) -> impl Iterator<Item = Finding> + 'a {
    discovered.iter().flat_map(move |tool| {
        let found = objections(asked, tool.plan, &tool.invoker, &tool.declaration);
        found.into_iter().map(move |(which, objection)| {
            let (code, severity) = sort(objection.remedy);
            of_ensemble(tool.plan, code, severity, &message(which, &tool.invoker, &objection))
        })
    })
}

/// As the roster would make it.
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
    asked: &[LintedProvider],
    plan: &EnsemblePlan,
    invoker: &InvokerName,
    declaration: &Declaration,
) -> Vec<(LintTarget, Objection)> {
    let wanted = match prefix(plan) {
        "" => invoker.to_string(),
        prefix => format!("{prefix}__{invoker}"),
    };
    // Asked for twice is told once.
    let which: BTreeSet<LintTarget> = asked.iter().map(|asked| linted(*asked)).collect();
    let of = |which| {
        let of_name = lint_name(which, &wanted, &declaration.name);
        of_name.into_iter().chain(lint(which, declaration)).map(move |objection| (which, objection))
    };
    which.into_iter().flat_map(of).collect()
}

fn linted(asked: LintedProvider) -> LintTarget {
    match asked {
        LintedProvider::Anthropic => LintTarget::Anthropic,
        LintedProvider::Openai => LintTarget::OpenAi,
        LintedProvider::Gemini => LintTarget::Gemini,
    }
}

fn sort(remedy: Remedy) -> (Code, Severity) {
    match remedy {
        Remedy::Adapted => (Code::ProviderAdapts, Severity::Warning),
        Remedy::Ignored => (Code::ProviderIgnores, Severity::Warning),
        Remedy::MustChange => (Code::ProviderRejects, Severity::Error),
    }
}

/// Names in it come from schemas, which may be a stranger's.
fn message(which: LintTarget, invoker: &InvokerName, objection: &Objection) -> String {
    let place = match objection.pointer.as_str() {
        "" => String::new(),
        pointer => format!(" at `{pointer}`"),
    };
    escape(&format!("`{invoker}`{place}: {} {}", which.label(), objection.message))
}
