//! Findings that need connected servers. All servers are disconnected before the findings are used.

use std::collections::BTreeSet;

use converse_canister::{Declaration, InvokerName};
use converse_config::{Code, Diagnostic, EnsemblePlan, Finding, Severity, escape};
use converse_ensemble::Tool;
use converse_mcp::UnmatchedSetting;
use converse_text::safe;

use super::{RenderedFinding, of_ensemble};
use crate::catalogue::Catalogue;
use crate::context::RunContext;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::lockfiles::{self, DiscoveredTools};
use crate::wiring::{Connected, inspect};
use crate::world::World;

#[derive(Default)]
pub(super) struct Servers<'a> {
    pub(super) findings: Vec<RenderedFinding>,
    /// One line about each server.
    pub(super) lines: Vec<String>,
    pub(super) tools: Vec<DiscoveredTool<'a>>,
}

/// A tool of a server that a run would use.
pub(super) struct DiscoveredTool<'a> {
    pub(super) plan: &'a EnsemblePlan,
    pub(super) invoker: InvokerName,
    pub(super) declaration: Declaration,
}

impl<'a> Servers<'a> {
    /// Connects the enabled and trusted servers; with `locked`, all ensembles that can be locked.
    pub(super) fn inspect(
        catalogue: &'a Catalogue,
        locked: bool,
        context: &RunContext,
        interrupt: &Interrupt,
        world: &World,
    ) -> Result<Self, Failure> {
        let is_server = |plan: &&EnsemblePlan| plan.enabled && plan.trusted && plan.connection.is_some();
        let mut plans: Vec<&EnsemblePlan> = catalogue.plans.iter().filter(is_server).collect();
        let lockfiles = locked.then(|| catalogue.lockfiles());
        let lockable = lockfiles.iter().flat_map(|lockfiles| lockfiles::lockable(catalogue, lockfiles));
        plans.extend(lockable.filter(|plan| !is_server(plan)));
        inspect(&plans, context, interrupt, world, async |connected| {
            let mut servers = Self::of(&plans, connected, catalogue);
            if let Some(lockfiles) = &lockfiles {
                let found = DiscoveredTools::of(connected, &plans).await;
                let drifts = lockfiles::findings(catalogue, lockfiles, &found, &context.redactor, world);
                servers.findings.extend(drifts.into_iter().map(RenderedFinding::from));
            }
            servers
        })
    }

    fn of(plans: &[&'a EnsemblePlan], connected: &Connected, catalogue: &Catalogue) -> Self {
        let mut servers = Self::default();
        for plan in plans {
            let of_plan = connected.failures.iter().filter(|failure| failure.ensemble == plan.name.as_str());
            let failed = |reason: &str| of_ensemble(plan, Code::ConnectFailed, Severity::Error, reason);
            servers.findings.extend(of_plan.map(|failure| RenderedFinding::from(failed(&failure.reason))));
        }
        for (name, survey) in connected.surveys() {
            if let Some(plan) = plans.iter().find(|plan| plan.name == *name) {
                let left_out = |why: &String| of_ensemble(plan, Code::ToolLeftOut, Severity::Warning, why);
                servers
                    .findings
                    .extend(survey.skipped.iter().map(|why| RenderedFinding::from(left_out(why))));
                servers.findings.extend(survey.unmatched.iter().map(|one| unmatched(catalogue, plan, one)));
            }
            servers.lines.push(format!("{name}: {}", survey.line()));
        }
        for tool in connected.roster.offer().tools() {
            let of = |plan: &&&EnsemblePlan| {
                plan.connection.is_some() && tool.qualified.starts_with(&format!("{}.", plan.name))
            };
            let invoker = tool.qualified.split_once('.').and_then(|(_, name)| InvokerName::new(name).ok());
            if let (Some(plan), Some(invoker)) = (plans.iter().find(of), invoker) {
                servers.findings.extend(refused_defaults(plan, tool).map(RenderedFinding::from));
                servers.tools.push(DiscoveredTool { plan, invoker, declaration: tool.declaration.clone() });
            }
        }
        servers
    }
}

/// The arguments of a tool whose default does not fit its own schema.
fn refused_defaults(plan: &EnsemblePlan, tool: &Tool) -> Option<Finding> {
    let faults = tool.schema().as_ref().ok()?.faults_of_defaults();
    let properties = faults.iter().filter_map(|fault| fault.pointer.split('/').nth(1));
    let names: BTreeSet<String> = properties.map(|name| format!("`{}`", safe(name))).collect();
    let (first, more) = (faults.first()?, names.into_iter().collect::<Vec<_>>().join(", "));
    let why = format!("{}: the default of {more} does not fit its schema: {}", tool.qualified, first.message);
    Some(of_ensemble(plan, Code::DefaultRefused, Severity::Warning, &why))
}

/// A setting of tools that the server does not have, at its line: the tool may have been renamed.
fn unmatched(catalogue: &Catalogue, plan: &EnsemblePlan, setting: &UnmatchedSetting) -> RenderedFinding {
    let code = Code::ToolAbsent;
    match catalogue.place_of_idle(plan, setting) {
        Some(place) => {
            let message = escape(&format!("`{}`: {setting}", plan.name));
            RenderedFinding::of(catalogue, &Diagnostic::warning(code, place, message))
        }
        None => RenderedFinding::from(of_ensemble(plan, code, Severity::Warning, &setting.to_string())),
    }
}
