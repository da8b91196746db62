//! What becomes of an answer that counts for more than one call.
//!
//! An answer is bound to the very tool that was shown. It is a rule that allows, so it cannot outdo one that asks: where
//! a rule asks, nothing more than a yes is offered.

use converse_canister::canonical;
use converse_config::{
    Approval, ArgumentPattern, ArgumentPatterns, BadPattern, Binding, Permission, Rule, proposed_patterns,
};
use converse_ensemble::{Pending, Rules};
use serde_json::{Map, Value};

use super::Approvals;
use crate::secrets::Redactor;
use crate::world::World;

/// Maximum bytes of stored arguments: users read them again later.
pub const MAX_ARGUMENTS: usize = 8 * 1024;

/// Where answers go.
pub struct Memory {
    pub rules: Rules,
    pub redactor: Redactor,
    kept: Option<Approvals>,
    cwd: Option<String>,
}

crate::opaque_debug!(Memory);

/// For what more than this call a yes may be given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offered {
    /// Kept, for just these arguments.
    pub arguments: bool,
    /// Stored for texts that match a pattern of the user.
    pub pattern: bool,
    /// Kept, for the tool.
    pub tool: bool,
    /// For the rest of the run.
    pub run: bool,
}

/// How far a yes reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Arguments,
    Pattern,
    Tool,
    Run,
}

impl Offered {
    pub fn has(self, reach: Reach) -> bool {
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
            kept: Approvals::of(world),
            cwd: world.cwd.to_str().map(str::to_owned),
        }
    }

    pub fn offered(&self, pending: &Pending) -> Offered {
        if pending.by_rule() {
            return Offered::default();
        }
        let placed = !pending.binding().local || self.cwd.is_some();
        let kept = pending.is_trusted() && placed && self.kept.is_some() && !self.holds_secret(pending);
        let texts = pending.arguments().values().any(Value::is_string);
        let short = written(pending.arguments()).len() <= MAX_ARGUMENTS;
        Offered { arguments: kept && short, pattern: kept && texts, tool: kept, run: true }
    }

    /// Returns the patterns that may be proposed for a call, each for one of its texts.
    pub fn proposals(&self, pending: &Pending) -> Vec<(String, ArgumentPattern)> {
        let made = proposed_patterns(pending.arguments()).into_iter();
        made.filter(|(name, vary)| self.covers(pending, &[(name.clone(), vary.clone())].into())).collect()
    }

    /// Returns whether the call would be allowed if this were kept. It is judged like every call.
    pub fn covers(&self, pending: &Pending, varying: &ArgumentPatterns) -> bool {
        let Ok(rule) = Rule::exactly(pending.tool(), Permission::Allow, "") else { return false };
        let rules = self.rules.only(|_| false);
        rules.add(rule.with_patterns(fixed(pending, varying), varying.clone()).bound_to(pending.binding()));
        pending.judged_anew(&rules).permission == Permission::Allow
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
    pub fn remember(
        &self,
        pending: &Pending,
        reach: Reach,
        varying: ArgumentPatterns,
        at: String,
    ) -> Result<String, String> {
        let tool = pending.tool();
        let (arguments, words) = match reach {
            Reach::Run => {
                let rule = Rule::exactly(tool, Permission::Allow, "your answer in this run")
                    .map_err(pattern_failure)?;
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
        self.rules.add(approval.rule("your answer in this run").map_err(pattern_failure)?);
        Ok(words)
    }
}

fn pattern_failure(error: BadPattern) -> String {
    error.to_string()
}

/// Those that do not vary.
pub fn fixed(pending: &Pending, varying: &ArgumentPatterns) -> Map<String, Value> {
    let fixed = pending.arguments().iter().filter(|(name, _)| !varying.contains_key(name.as_str()));
    fixed.map(|(name, value)| (name.clone(), value.clone())).collect()
}

pub fn written(arguments: &Map<String, Value>) -> String {
    canonical(&Value::Object(arguments.clone()))
}
