//! Everybody who can be invoked in this run.
//!
//! The roster connects ensembles, shows their tools to models as an [`Offer`], judges invocations and runs the approved
//! ones. `judge` is shared by the loop, `ensembles call` and the gateway; what it approves is a value ([`Approved`])
//! that holds the very arguments that will run, so that nothing else can.

use std::collections::HashMap;
use std::sync::Arc;

use converse_canister::{
    Arguments, Declaration, Digest, Invocation, InvocationId, InvocationResult, Outcome, ToolName,
};
use converse_config::{Effects, OnFailure, Permission, Rule, SchemaFault, Subject, judge};
use futures_util::future::join_all;
use serde_json::{Map, Value};

use crate::ensemble::{ConnectError, Ensemble};
use crate::near::near_names;
use crate::tool::Tool;

/// Keeps the full text of a result that was cut for the model.
pub trait Artefacts: Send + Sync {
    /// The digest to find it by, or `None` if it could not be kept.
    fn keep(&self, bytes: &[u8]) -> Option<Digest>;
}

pub struct Roster {
    ensembles: Vec<Ensemble>,
    rules: Vec<Rule>,
    offer: Arc<Offer>,
    pub(crate) artefacts: Arc<dyn Artefacts>,
    /// Tools that may not run beside others take it alone; the rest share it.
    pub(crate) gate: tokio::sync::RwLock<()>,
}

/// What a model is shown for one call: immutable, in a stable order (prompt caches depend on it).
#[derive(Debug, Default)]
pub struct Offer {
    pub declarations: Vec<Declaration>,
    tools: HashMap<ToolName, Arc<Tool>>,
}

impl Offer {
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.declarations.iter().filter_map(|declaration| self.tools.get(&declaration.name).map(Arc::as_ref))
    }

    /// By the exact name a model sees; a near miss is not found.
    pub fn find(&self, shown: &str) -> Option<&Arc<Tool>> {
        self.tools.get(&ToolName::new(shown).ok()?)
    }
}

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
    approved: Approved,
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

    /// Calls of it in one turn of the user.
    pub fn max_invocations(&self) -> Option<u32> {
        self.approved.max_invocations()
    }

    pub fn approve(self) -> Approved {
        self.approved
    }
}

impl Roster {
    /// Connects all ensembles at once. One that fails is left out and reported; two tools that are shown by the same
    /// name are both left out and reported.
    pub async fn connect(
        ensembles: Vec<Ensemble>,
        rules: Vec<Rule>,
        artefacts: Arc<dyn Artefacts>,
    ) -> (Self, Vec<ConnectError>) {
        let outcomes = join_all(ensembles.iter().map(Ensemble::connect)).await;
        let mut failures = Vec::new();
        let mut tools = Vec::new();
        for outcome in outcomes {
            match outcome {
                Ok(found) => tools.extend(found.into_iter().map(Arc::new)),
                Err(error) => failures.push(error),
            }
        }
        let offer = Arc::new(offer(tools, &mut failures));
        (Self { ensembles, rules, offer, artefacts, gate: tokio::sync::RwLock::default() }, failures)
    }

    pub fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer)
    }

    /// Parse, check against the schema, ask the rules: in this order, so that nobody is asked about arguments that
    /// could not run.
    pub fn judge(&self, invocation: &Invocation) -> Verdict {
        let answered = |outcome, text: String, rule| {
            let result = InvocationResult::new(invocation.id.clone(), outcome, text);
            Verdict::Answered(Denied { result, rule })
        };
        let Some(tool) = self.offer.find(&invocation.tool) else {
            return answered(Outcome::NoSuchTool, self.no_such_tool(&invocation.tool), None);
        };
        let arguments = match checked(tool, &invocation.arguments) {
            Ok(arguments) => arguments,
            Err(fault) => return answered(Outcome::Invalid, fault, None),
        };
        let (own, own_source) = &tool.own;
        let subject = Subject { tool: &tool.qualified, own: *own, own_source, trusted: tool.trusted };
        let judgement = judge(&self.rules, subject);
        let id = invocation.id.clone();
        let approved = Approved { id, tool: Arc::clone(tool), arguments, rule: judgement.rule };
        match judgement.permission {
            Permission::Allow => Verdict::Allowed(approved),
            Permission::Ask => Verdict::Ask(Pending { approved }),
            Permission::Deny => {
                let text = format!("refused: not allowed by the rule {}; nothing was run", approved.rule);
                answered(Outcome::Refused, text, Some(approved.rule))
            }
        }
    }

    fn no_such_tool(&self, asked: &str) -> String {
        let names: Vec<&str> = self.offer.declarations.iter().map(|d| d.name.as_str()).collect();
        let shown: String = asked.chars().take(80).collect();
        let near = near_names(asked, &names, 10);
        match (near.is_empty(), names.is_empty()) {
            (_, true) => format!("there is no tool `{shown}`: no tools are offered"),
            (true, false) => format!("there is no tool `{shown}`"),
            (false, false) => format!("there is no tool `{shown}`; the nearest are: {}", near.join(", ")),
        }
    }

    pub async fn disconnect(&self) {
        join_all(self.ensembles.iter().map(Ensemble::disconnect)).await;
    }
}

impl std::fmt::Debug for Roster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Roster").field("ensembles", &self.ensembles).finish_non_exhaustive()
    }
}

fn offer(tools: Vec<Arc<Tool>>, failures: &mut Vec<ConnectError>) -> Offer {
    let mut count: HashMap<ToolName, usize> = HashMap::new();
    for tool in &tools {
        *count.entry(tool.declaration.name.clone()).or_default() += 1;
    }
    let mut offer = Offer::default();
    for tool in tools {
        let name = tool.declaration.name.clone();
        if count.get(&name) == Some(&1) {
            offer.declarations.push(tool.declaration.clone());
            offer.tools.insert(name, tool);
        } else {
            let ensemble = tool.qualified.split('.').next().unwrap_or_default().to_owned();
            let reason = format!("`{}` and another tool would both be shown as `{name}`", tool.qualified);
            failures.push(ConnectError { ensemble, reason });
        }
    }
    offer.declarations.sort_by(|a, b| a.name.cmp(&b.name));
    offer
}

/// The arguments with defaults filled in, or what is wrong with them, in words for the model.
fn checked(tool: &Tool, arguments: &Arguments) -> Result<Arguments, String> {
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
