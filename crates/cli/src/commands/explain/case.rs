//! What is known of a tool from its descriptor alone.

use converse_canister::{Digest, InvokerName};
use converse_config::{Binding, Effects, EnsemblePlan, InvokerKind, InvokerPlan, Permission};
use converse_ensemble::{declared_definition, own_permission, reached};
use serde_json::{Value, json};

use converse_host::catalogue::Catalogue;
use converse_host::failure::Failure;

/// Why a tool is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    /// It is left out with its ensemble, or by it.
    Unavailable,
    /// The lockfile holds it back.
    Held,
}

pub(super) struct Case {
    pub(super) effects: Effects,
    /// `None`: known only once its server is connected.
    pub(super) schema: Option<Value>,
    pub(super) definition: Option<Digest>,
    pub(super) local: bool,
    pub(super) own: (Permission, String),
    pub(super) trusted: bool,
    /// Of how its ensemble is reached.
    pub(super) reached: Digest,
    /// Why it does not get so far that a rule is asked.
    pub(super) absent: Option<Absent>,
    /// What else decides whether it runs, or is not known.
    pub(super) notes: Vec<String>,
}

impl Case {
    pub(super) fn of(tool: &str, catalogue: &Catalogue) -> Result<Self, Failure> {
        let (ensemble, invoker) = tool.split_once('.').ok_or_else(|| {
            Failure::usage("bad-tool", format!("`{tool}` is not a tool name: write ensemble.invoker"))
        })?;
        // One that is held back can be explained all the same.
        let plan = match catalogue.plans.iter().find(|plan| plan.name.as_str() == ensemble) {
            Some(plan) => plan,
            None => catalogue.named(ensemble)?,
        };
        let mut case = match &plan.connection {
            Some(_) => Self::discovered(plan, invoker),
            None => Self::declared(plan, invoker)?,
        };
        let name = InvokerName::new(invoker).ok();
        let pins = catalogue.lockfiles().pins(plan);
        if let Some(held) = name.and_then(|name| pins.hold_reason(&name, || case.definition)) {
            case.is_absent(Absent::Held, format!("the lockfile holds it back: {}", held.reason()));
        }
        if plan.connection.is_some() && !plan.filter.lets_in(invoker) {
            let why = format!("`[tools]` of {} leaves it out", place(plan));
            case.is_absent(Absent::Unavailable, why);
        }
        if plan.reaches_out() && !plan.trusted {
            let why = "it cannot run: the project is not trusted, so its ensemble is left out";
            case.is_absent(Absent::Unavailable, why.to_owned());
        }
        if !plan.enabled {
            case.notes.push("its ensemble is not enabled: it is there only where it is named".to_owned());
        }
        Ok(case)
    }

    fn is_absent(&mut self, absent: Absent, why: String) {
        self.absent = Some(absent);
        self.notes.push(why);
    }

    fn declared(plan: &EnsemblePlan, invoker: &str) -> Result<Self, Failure> {
        let found = plan.invokers.iter().find(|one| one.name.as_str() == invoker);
        let found: &InvokerPlan = found.ok_or_else(|| {
            let names = plan.invokers.iter().map(|one| one.name.as_str());
            let message = format!("the ensemble `{}` has no tool `{invoker}`", plan.name);
            let otherwise = format!("`converse ensembles show {}` lists its tools", plan.name);
            Failure::usage("unknown-tool", message).did_you_mean(invoker, names, &otherwise)
        })?;
        let builtin = matches!(found.kind, InvokerKind::Builtin(_));
        let nothing = || json!({ "type": "object", "properties": {} });
        Ok(Self {
            effects: found.policy.effects,
            schema: Some(found.arguments.clone().unwrap_or_else(nothing)),
            definition: Some(declared_definition(found).digest()),
            local: Binding::is_local(plan.origin.scope),
            own: own_permission(&found.policy, builtin, plan.trusted, &place(plan)),
            trusted: plan.trusted,
            reached: reached(plan),
            absent: None,
            notes: Vec::new(),
        })
    }

    fn discovered(plan: &EnsemblePlan, invoker: &str) -> Self {
        let said = plan.tools.iter().find(|(name, _)| name.as_str() == invoker);
        let policy = said.map_or(&plan.defaults, |(_, policy)| policy);
        let note = "its server is not asked here: whether there is such a tool is not known, its effects are as declared, \
                    and the arguments are not checked";
        Self {
            effects: policy.effects,
            schema: None,
            definition: None,
            local: Binding::is_local(plan.origin.scope),
            own: own_permission(policy, false, plan.trusted, &place(plan)),
            trusted: plan.trusted,
            reached: reached(plan),
            absent: None,
            notes: vec![note.to_owned()],
        }
    }
}

fn place(plan: &EnsemblePlan) -> String {
    format!("{}:{}", plan.origin.file, plan.origin.line)
}
