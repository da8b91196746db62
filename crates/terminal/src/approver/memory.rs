//! What becomes of an answer that counts for more than one call.
//!
//! An answer is bound to the very tool that was shown. It is a rule that allows, so it cannot outdo one that asks: where
//! a rule asks, nothing more than a yes is offered.

use converse_canister::canonical;
use converse_config::{Approval, ArgumentPatterns, BadPattern, Binding, Permission, Rule};
use converse_ensemble::{Pending, Rules};
use serde_json::{Map, Value};

use super::editing::Editing;
use converse_host::approvals::Approvals;
use converse_host::secrets::Redactor;
use converse_host::world::World;

/// Maximum bytes of stored arguments: users read them again later.
pub(super) const MAX_ARGUMENTS: usize = 8 * 1024;

/// Where answers go.
pub struct Memory {
    pub rules: Rules,
    pub redactor: Redactor,
    pub(super) editing: Editing,
    kept: Option<Approvals>,
    cwd: Option<String>,
}

converse_host::opaque_debug!(Memory);

/// For what more than this call a yes may be given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Offered {
    /// Kept, for just these arguments.
    pub(super) arguments: bool,
    /// Stored for texts that match a pattern of the user.
    pub(super) pattern: bool,
    /// Kept, for the tool.
    pub(super) tool: bool,
    /// For the rest of the run.
    pub(super) run: bool,
}

/// How far a yes reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Arguments,
    Pattern,
    Tool,
    Run,
}

impl Offered {
    pub(super) fn has(self, reach: Reach) -> bool {
        match reach {
            Reach::Arguments => self.arguments,
            Reach::Pattern => self.pattern,
            Reach::Tool => self.tool,
            Reach::Run => self.run,
        }
    }
}

impl Memory {
    pub fn new(rules: &Rules, redactor: &Redactor, world: &World) -> Self {
        Self {
            rules: rules.clone(),
            redactor: redactor.clone(),
            editing: Editing::of(world),
            kept: Approvals::of(world),
            cwd: world.cwd.to_str().map(str::to_owned),
        }
    }

    pub(super) fn offered(&self, pending: &Pending) -> Offered {
        if pending.by_rule() {
            return Offered::default();
        }
        let placed = !pending.binding().local || self.cwd.is_some();
        let kept = pending.is_trusted() && placed && self.kept.is_some() && !self.holds_secret(pending);
        let texts = pending.arguments().values().any(Value::is_string);
        let short = written(pending.arguments()).len() <= MAX_ARGUMENTS;
        Offered { arguments: kept && short, pattern: kept && texts, tool: kept, run: true }
    }

    fn holds_secret(&self, pending: &Pending) -> bool {
        let arguments = Value::Object(pending.arguments().clone());
        let mut clean = arguments.clone();
        self.redactor.clean_json(&mut clean);
        // Also what is only a secret once it is written out.
        let text = written(pending.arguments());
        clean != arguments || self.redactor.clean(&text) != text
    }

    /// Takes an answer to this question in; what it reaches is said in words. `varying` is empty but for a pattern.
    pub(super) fn remember(
        &self,
        pending: &Pending,
        reach: Reach,
        varying: ArgumentPatterns,
        at: String,
    ) -> Result<String, String> {
        let tool = pending.tool();
        let (arguments, words) = match reach {
            Reach::Run => {
                let rule = Rule::exactly(tool, Permission::Allow, "your answer in this run").map_err(odd)?;
                self.rules.add(rule.bound_to(pending.binding()).for_this_run());
                return Ok(format!("{tool} for the rest of this run"));
            }
            Reach::Tool => (None, tool.to_owned()),
            Reach::Arguments => {
                (Some(pending.arguments().clone()), format!("{tool} with just these arguments"))
            }
            Reach::Pattern => {
                let pairs = varying.iter().map(|(name, vary)| format!("{name}={}", vary.text()));
                let pairs: Vec<String> = pairs.collect();
                (Some(fixed(pending, &varying)), format!("{tool} where {}", pairs.join(", ")))
            }
        };
        let binding = pending.binding();
        let project = binding.local.then(|| self.cwd.clone()).flatten();
        let Binding { definition, connection, .. } = binding;
        let tool = tool.to_owned();
        let approval =
            Approval { tool, arguments, patterns: varying, definition, connection, project, at, line: 0 };
        let store = self.kept.as_ref().ok_or("there is no home directory to save it in")?;
        store.add(approval.clone())?;
        self.rules.add(approval.rule("your answer in this run").map_err(odd)?);
        Ok(words)
    }
}

fn odd(error: BadPattern) -> String {
    error.to_string()
}

/// Those that do not vary.
pub(super) fn fixed(pending: &Pending, varying: &ArgumentPatterns) -> Map<String, Value> {
    let fixed = pending.arguments().iter().filter(|(name, _)| !varying.contains_key(name.as_str()));
    fixed.map(|(name, value)| (name.clone(), value.clone())).collect()
}

pub(super) fn written(arguments: &Map<String, Value>) -> String {
    canonical(&Value::Object(arguments.clone()))
}
