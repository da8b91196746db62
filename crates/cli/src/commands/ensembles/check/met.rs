//! What connecting the servers brings to light. They are all ended again before anything is judged.

use converse_canister::{Declaration, InvokerName};
use converse_config::{Code, Diagnostic, EnsemblePlan, Severity, escape};
use converse_mcp::UnmatchedSetting;

use super::Check;
use super::gather::{Told, of_ensemble};
use crate::commands::ensembles::{lock, looked, survey};
use converse_host::catalogue::Catalogue;
use converse_host::failure::Failure;
use converse_host::wiring::Connected;

#[derive(Default)]
pub(super) struct Met<'a> {
    pub(super) told: Vec<Told>,
    /// Of each server in a line.
    pub(super) lines: Vec<String>,
    pub(super) discovered: Vec<Discovered<'a>>,
}

/// A tool that a server has and that would be used.
pub(super) struct Discovered<'a> {
    pub(super) plan: &'a EnsemblePlan,
    pub(super) invoker: InvokerName,
    pub(super) declaration: Declaration,
}

impl<'a> Met<'a> {
    /// Connects what is enabled and may be, servers only unless it is compared with lockfiles, and ends it again.
    pub(super) fn of(check: &Check<'_>, catalogue: &'a Catalogue) -> Result<Self, Failure> {
        let is_server = |plan: &&EnsemblePlan| plan.enabled && plan.trusted && plan.connection.is_some();
        let mut plans: Vec<&EnsemblePlan> = catalogue.plans.iter().filter(is_server).collect();
        let locked = check.args.locked.then(|| catalogue.lockfiles());
        let of_locked = locked.iter().flat_map(|lockfiles| lock::lockable(catalogue, lockfiles));
        plans.extend(of_locked.filter(|plan| !is_server(plan)));
        looked::look(&plans, check.console, check.world, |connected| {
            let mut met = Self::in_them(&plans, connected, catalogue);
            if let Some(lockfiles) = &locked {
                let found = lock::DiscoveredTools::of(connected, &plans);
                let drifts = lock::findings(catalogue, lockfiles, &found, check.console);
                met.told.extend(drifts.into_iter().map(Told::from));
            }
            met
        })
    }

    fn in_them(plans: &[&'a EnsemblePlan], connected: &Connected, catalogue: &Catalogue) -> Self {
        let mut met = Self::default();
        for plan in plans {
            let of_plan = connected.failures.iter().filter(|failure| failure.ensemble == plan.name.as_str());
            let unconnected = |reason: &str| of_ensemble(plan, Code::ConnectFailed, Severity::Error, reason);
            met.told.extend(of_plan.map(|failure| Told::from(unconnected(&failure.reason))));
        }
        for (name, survey) in connected.surveys() {
            if let Some(plan) = plans.iter().find(|plan| plan.name == *name) {
                let left_out = |why: &String| of_ensemble(plan, Code::ToolLeftOut, Severity::Warning, why);
                met.told.extend(survey.skipped.iter().map(|why| Told::from(left_out(why))));
                met.told.extend(survey.unmatched.iter().map(|idle| absent(catalogue, plan, idle)));
            }
            met.lines.push(format!("{name}: {}", survey::line(&survey)));
        }
        for tool in connected.roster.offer().tools() {
            let of = |plan: &&&EnsemblePlan| {
                plan.connection.is_some() && tool.qualified.starts_with(&format!("{}.", plan.name))
            };
            let invoker = tool.qualified.split_once('.').and_then(|(_, name)| InvokerName::new(name).ok());
            if let (Some(plan), Some(invoker)) = (plans.iter().find(of), invoker) {
                let declaration = tool.declaration.clone();
                met.discovered.push(Discovered { plan, invoker, declaration });
            }
        }
        met
    }
}

/// At its line: a tool that was renamed is no longer what the descriptor denies or leaves out.
fn absent(catalogue: &Catalogue, plan: &EnsemblePlan, idle: &UnmatchedSetting) -> Told {
    let code = Code::ToolAbsent;
    match catalogue.place_of_idle(plan, idle) {
        Some(place) => {
            let message = escape(&format!("`{}`: {idle}", plan.name));
            Told::of(catalogue, &Diagnostic::warning(code, place, message))
        }
        None => Told::from(of_ensemble(plan, code, Severity::Warning, &idle.to_string())),
    }
}
