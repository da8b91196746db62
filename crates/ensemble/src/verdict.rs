//! Verdicts about invocations. [`Approved`] has exactly the arguments that will run, so that nothing else can run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use converse_canister::{Arguments, Cost, InvocationId, InvocationResult};
use converse_config::{Binding, Effects, Judgement, OnFailure, Permission, SchemaFault};
use serde_json::{Map, Value};

use crate::named_path::NamedPath;
use crate::path_policy::PathPolicy;
use crate::rules::Rules;
use crate::tool::Tool;

/// The verdict about an invocation, before anything runs.
#[derive(Debug)]
pub enum Verdict {
    /// The invocation does not run: no such tool, invalid arguments, or a rule against it. This is its result.
    Answered(Denied),
    Allowed(Approved),
    /// A person must be asked. [`Pending::approve`] turns a yes into an [`Approved`].
    Ask(Pending),
}

/// The result of an invocation that does not run, and the rule against it if there is one.
#[derive(Debug)]
pub struct Denied {
    pub result: InvocationResult,
    pub rule: Option<String>,
}

/// A tool and exactly the arguments it will run with. Only a judgement makes one.
#[derive(Debug, Clone)]
pub struct Approved {
    pub(crate) id: InvocationId,
    pub(crate) tool: Arc<Tool>,
    pub(crate) arguments: Arguments,
    /// What the arguments name, as it was when the call was judged.
    pub(crate) named: Option<NamedPath>,
    pub(crate) paths: PathPolicy,
    pub rule: String,
    /// Keeps the ensemble from being idle.
    pub(crate) _open: Arc<()>,
}

impl Approved {
    pub fn id(&self) -> &InvocationId {
        &self.id
    }

    /// Returns the arguments of the run, with defaults filled in.
    pub fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// Returns whether the tool does more than read, according to its declaration.
    pub fn has_effects(&self) -> bool {
        !self.tool.reads()
    }

    /// Returns whether the tool may run in parallel with others.
    pub fn is_parallel(&self) -> bool {
        self.tool.policy.parallel
    }

    /// Returns the limit of calls of this tool in one turn of the user.
    pub fn max_invocations(&self) -> Option<u32> {
        self.tool.policy.max_invocations
    }

    /// Returns the declared cost of one call.
    pub fn cost(&self) -> Option<Cost> {
        self.tool.policy.cost
    }

    /// `ensemble.invoker`.
    pub fn tool(&self) -> &str {
        &self.tool.qualified
    }

    pub fn stops_on_failure(&self) -> bool {
        self.tool.policy.on_failure == OnFailure::Stop
    }
}

/// An invocation that waits for an approval.
#[derive(Debug, Clone)]
pub struct Pending {
    pub(crate) approved: Approved,
    pub(crate) judgement: Judgement,
    /// See [`Pending::named_elsewhere`].
    pub(crate) notice: Option<String>,
    /// Set by a yes, if it counts for all further calls of the run.
    pub(crate) confirms: Option<Arc<AtomicBool>>,
}

impl Pending {
    pub(crate) fn of(approved: Approved, judgement: Judgement, rules: &Rules) -> Self {
        let notice = approved.named.as_ref().and_then(|named| named.notice(rules.workspace()));
        let confirms = rules.confirmed_by(&judgement);
        Self { approved, judgement, notice, confirms }
    }

    pub fn id(&self) -> &InvocationId {
        &self.approved.id
    }

    /// `ensemble.invoker`.
    pub fn tool(&self) -> &str {
        &self.approved.tool.qualified
    }

    pub fn effects(&self) -> Effects {
        self.approved.tool.policy.effects
    }

    pub fn arguments(&self) -> &Map<String, Value> {
        &self.approved.arguments.object
    }

    /// Returns the arguments of a built-in tool that have the default of its descriptor, and whether the model wrote them
    /// itself. Required arguments and the path are never among them, nor is anything of a descriptor that the user has not
    /// trusted.
    pub fn defaults(&self) -> Vec<(&str, bool)> {
        let tool = &self.approved.tool;
        let Some(properties) =
            tool.declaration.arguments.get("properties").filter(|_| tool.builtin && tool.trusted)
        else {
            return Vec::new();
        };
        let required = tool.declaration.arguments.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
        let is_path = |name: &str| self.named_path().is_some_and(|named| named.argument == name);
        let written: Map<String, Value> =
            serde_json::from_str(&self.approved.arguments.raw).unwrap_or_default();
        let has_default = |(name, value): &(&String, &Value)| {
            let default = properties.get(name.as_str()).and_then(|property| property.get("default"));
            default == Some(*value) && !is_required(name) && !is_path(name)
        };
        let defaults = self.arguments().iter().filter(has_default);
        defaults.map(|(name, _)| (name.as_str(), written.contains_key(name))).collect()
    }

    /// Describes the file or directory that the call reaches, if its arguments do not say it: behind a symbolic link, or
    /// below another root than the workspace.
    pub fn named_elsewhere(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// Returns the file or directory that the call names, as it was when the call was judged.
    pub fn named_path(&self) -> Option<&NamedPath> {
        self.approved.named.as_ref()
    }

    /// Returns the source of the permission that asks.
    pub fn rule(&self) -> &str {
        &self.approved.rule
    }

    /// Returns the reason that the rule gives.
    pub fn reason(&self) -> Option<&str> {
        self.judgement.reason.as_deref()
    }

    /// Returns whether a rule asks, and not only the tool's own permission. No kept answer overrides such a rule.
    pub fn by_rule(&self) -> bool {
        self.judgement.by_rule
    }

    /// Returns what an answer "always" is bound to: exactly this tool.
    pub fn binding(&self) -> Binding {
        let tool = &self.approved.tool;
        Binding { definition: tool.digest(), connection: tool.reached, local: tool.local }
    }

    /// Returns false for tools of a project that the user has not trusted: no kept answer allows them.
    pub fn is_trusted(&self) -> bool {
        self.approved.tool.trusted
    }

    /// Judges the invocation again: an answer to another question may have added a rule.
    pub fn judged_anew(&self, rules: &Rules) -> Judgement {
        rules.judge_call(&self.approved.tool, self.arguments(), self.approved.named.as_ref())
    }

    /// Returns the same invocation with other arguments, which are checked and judged like any others.
    ///
    /// # Errors
    ///
    /// Why they cannot run, in words.
    pub fn edited(&self, arguments: Map<String, Value>, rules: &Rules) -> Result<Self, String> {
        let tool = &self.approved.tool;
        let arguments = check_arguments(tool, &Arguments::from_object(arguments))?;
        let named = tool.named_path(&arguments.object);
        let judgement = rules.judge_call(tool, &arguments.object, named.as_ref());
        if judgement.permission == Permission::Deny {
            return Err(format!("not allowed by the rule {}", judgement.because()));
        }
        let paths = rules.path_policy(tool, &arguments.object, named.as_ref());
        let rule = judgement.rule.clone();
        let approved = Approved { arguments, named, paths, rule, ..self.approved.clone() };
        Ok(Self::of(approved, judgement, rules))
    }

    /// Returns the definition if a descriptor declares the tool. Declarations of servers are not shown as facts.
    pub fn declared(&self) -> Option<Value> {
        self.approved.tool.declared_here().then(|| self.approved.tool.definition().value())
    }

    /// Calls of it in one turn of the user.
    pub fn max_invocations(&self) -> Option<u32> {
        self.approved.max_invocations()
    }

    /// What one call of it is declared to cost.
    pub fn cost(&self) -> Option<Cost> {
        self.approved.cost()
    }

    pub fn approve(self) -> Approved {
        if let Some(confirmed) = &self.confirms {
            confirmed.store(true, Ordering::Relaxed);
        }
        self.approved
    }
}

/// Checks arguments against the schema of a tool. Returns them with defaults filled in, or what is wrong with them, in words
/// for the model.
pub(crate) fn check_arguments(tool: &Tool, arguments: &Arguments) -> Result<Arguments, String> {
    if let Some(malformed) = &arguments.malformed {
        return Err(format!("invalid arguments: {malformed}"));
    }
    let schema = match tool.schema() {
        Ok(schema) => schema,
        Err(error) => return Err(format!("the tool's own schema is unusable: {error}")),
    };
    match schema.check(&arguments.object) {
        Ok(object) => Ok(Arguments { object, raw: arguments.raw.clone(), malformed: None }),
        Err(faults) => Err(format!(
            "invalid arguments: {}",
            faults.iter().map(fault_line).collect::<Vec<_>>().join("; ")
        )),
    }
}

fn fault_line(fault: &SchemaFault) -> String {
    if fault.pointer.is_empty() {
        fault.message.clone()
    } else {
        format!("{}: {}", fault.pointer, fault.message)
    }
}
