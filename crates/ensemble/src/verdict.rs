//! What judging makes of an invocation. [`Approved`] holds the very arguments that will run, so that nothing else can.

use std::sync::Arc;

use converse_canister::{Arguments, Cost, InvocationId, InvocationResult};
use converse_config::{Binding, Effects, Judgement, OnFailure, Permission};
use serde_json::{Map, Value};

use crate::checked::checked;
use crate::rules::Rules;
use crate::tool::Tool;

/// What becomes of an invocation before anything runs.
#[derive(Debug)]
pub enum Verdict {
    /// It cannot run: no such tool, bad arguments, a rule against it. This is its answer.
    Answered(Denied),
    Allowed(Approved),
    /// Somebody must be asked; [`Pending::approve`] turns a yes into an [`Approved`].
    Ask(Pending),
}

/// An answer given without running, and the rule behind it if there was one.
#[derive(Debug)]
pub struct Denied {
    pub result: InvocationResult,
    pub rule: Option<String>,
}

/// A tool and the very arguments it will run with. Made by judging only.
#[derive(Debug, Clone)]
pub struct Approved {
    pub(crate) id: InvocationId,
    pub(crate) tool: Arc<Tool>,
    pub(crate) arguments: Arguments,
    pub rule: String,
}

impl Approved {
    pub fn id(&self) -> &InvocationId {
        &self.id
    }

    /// The very arguments it will run with, defaults filled in.
    pub fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// May it run beside others?
    pub fn is_parallel(&self) -> bool {
        self.tool.policy.parallel
    }

    /// Calls of it in one turn of the user.
    pub fn max_invocations(&self) -> Option<u32> {
        self.tool.policy.max_invocations
    }

    /// What one call of it is declared to cost.
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

/// An invocation that waits for a yes.
#[derive(Debug, Clone)]
pub struct Pending {
    pub(crate) approved: Approved,
    pub(crate) judgement: Judgement,
}

impl Pending {
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

    /// Why it must be asked.
    pub fn rule(&self) -> &str {
        &self.approved.rule
    }

    /// The reason that the rule gives.
    pub fn reason(&self) -> Option<&str> {
        self.judgement.reason.as_deref()
    }

    /// A rule says that it must be asked; else it is the tool's own permission. No answer outdoes a rule.
    pub fn by_rule(&self) -> bool {
        self.judgement.by_rule
    }

    /// The very tool: what an answer "always" is bound to.
    pub fn binding(&self) -> Binding {
        let tool = &self.approved.tool;
        Binding { definition: tool.digest(), connection: tool.reached, local: tool.local }
    }

    /// False for tools of a project that nobody has trusted: nothing that is kept allows them.
    pub fn is_trusted(&self) -> bool {
        self.approved.tool.trusted
    }

    /// What the rules say by now: an answer to another question may have added one.
    pub fn judged_anew(&self, rules: &Rules) -> Judgement {
        rules.judge(&self.approved.tool, self.arguments())
    }

    /// The same with other arguments, which are checked and judged like any others; why they cannot run, in words.
    pub fn edited(&self, arguments: Map<String, Value>, rules: &Rules) -> Result<Self, String> {
        let tool = &self.approved.tool;
        let arguments = checked(tool, &Arguments::from_object(arguments))?;
        let judgement = rules.judge(tool, &arguments.object);
        if judgement.permission == Permission::Deny {
            return Err(format!("not allowed by the rule {}", judgement.because()));
        }
        let approved = Approved { arguments, rule: judgement.rule.clone(), ..self.approved.clone() };
        Ok(Self { approved, judgement })
    }

    /// The definition, if a descriptor has declared the tool: of a server's own words nothing is taken for what it does.
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
        self.approved
    }
}
