//! The keys that say how an invoker may be used, as written. The same keys stand in `[defaults]`, beside a `source`,
//! under `[invoker]` and under `[tools.NAME]`; the nearest to the tool wins.

use std::time::Duration;

use converse_canister::Cost;

use crate::plan::{Effects, OnFailure, Policy, SandboxLevel};
use crate::rule::Permission;
use crate::source::{SourceMap, Spanned};
use crate::table::Table;

/// Longest time one invocation may be given.
pub(crate) const MAX_TIMEOUT: Duration = Duration::from_secs(600);
pub(crate) const MAX_RESULT: usize = 16 * 1024 * 1024;
pub(crate) const MAX_RETRIES: u32 = 10;
pub(crate) const MAX_INVOCATIONS: u32 = 10_000;
/// Longest time a result may be kept.
pub(crate) const MAX_CACHE: Duration = Duration::from_secs(7 * 24 * 3600);
/// USD a call.
pub(crate) const MAX_COST: f64 = 1000.0;

pub(crate) const PERMISSIONS: [(&str, Permission); 3] =
    [("allow", Permission::Allow), ("ask", Permission::Ask), ("deny", Permission::Deny)];
pub(crate) const EFFECTS: [(&str, Effects); 4] = [
    ("none", Effects::None),
    ("read", Effects::Read),
    ("write", Effects::Write),
    ("external", Effects::External),
];
pub(crate) const SANDBOX_LEVELS: [(&str, SandboxLevel); 3] = [
    ("off", SandboxLevel::Off),
    ("best-effort", SandboxLevel::BestEffort),
    ("require", SandboxLevel::Require),
];
pub(crate) const ON_FAILURE: [(&str, OnFailure); 2] =
    [("report", OnFailure::Report), ("stop", OnFailure::Stop)];

/// What was said; `None` is "not said".
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PolicyDescriptor {
    pub timeout: Option<Spanned<Duration>>,
    pub idle_timeout: Option<Spanned<Duration>>,
    pub max_retries: Option<Spanned<u32>>,
    pub permission: Option<Spanned<Permission>>,
    pub effects: Option<Spanned<Effects>>,
    pub idempotent: Option<Spanned<bool>>,
    pub parallel: Option<Spanned<bool>>,
    pub result_limit: Option<Spanned<usize>>,
    pub on_failure: Option<Spanned<OnFailure>>,
    pub max_invocations: Option<Spanned<u32>>,
    pub cache: Option<Spanned<Duration>>,
    pub sandbox: Option<Spanned<SandboxLevel>>,
    /// USD.
    pub cost: Option<Spanned<f64>>,
}

impl PolicyDescriptor {
    pub(crate) fn read(table: &Table<'_, '_>) -> Self {
        Self {
            timeout: table.duration("timeout", MAX_TIMEOUT),
            idle_timeout: table.duration("idle_timeout", MAX_TIMEOUT),
            max_retries: table.count("max_retries", 0..=MAX_RETRIES),
            permission: table.choice("permission", &PERMISSIONS),
            effects: table.choice("effects", &EFFECTS),
            idempotent: table.boolean("idempotent"),
            parallel: table.boolean("parallel"),
            result_limit: table.size("result_limit", MAX_RESULT),
            on_failure: table.choice("on_failure", &ON_FAILURE),
            max_invocations: table.count("max_invocations", 1..=MAX_INVOCATIONS),
            cache: table.duration("cache", MAX_CACHE),
            sandbox: table.choice("sandbox", &SANDBOX_LEVELS),
            cost: table.float("cost", 0.0..=MAX_COST),
        }
    }

    /// What this says, and what `base` says of the rest.
    pub(crate) fn over(&self, base: &Policy, sources: &SourceMap) -> Policy {
        fn said<T: Copy>(said: &Option<Spanned<T>>, base: T) -> T {
            said.as_ref().map_or(base, |said| said.value)
        }
        Policy {
            timeout: said(&self.timeout, base.timeout),
            idle_timeout: said(&self.idle_timeout, base.idle_timeout),
            max_retries: said(&self.max_retries, base.max_retries),
            permission: self.permission.as_ref().map(|said| said.value).or(base.permission),
            permission_at: match &self.permission {
                Some(said) => Some(sources.shown(said.span).into()),
                None => base.permission_at.clone(),
            },
            effects: said(&self.effects, base.effects),
            idempotent: said(&self.idempotent, base.idempotent),
            parallel: said(&self.parallel, base.parallel),
            result_limit: said(&self.result_limit, base.result_limit),
            on_failure: said(&self.on_failure, base.on_failure),
            max_invocations: self.max_invocations.as_ref().map(|said| said.value).or(base.max_invocations),
            cache: self.cache.as_ref().map(|said| said.value).or(base.cache),
            sandbox: said(&self.sandbox, base.sandbox),
            cost: self.cost.as_ref().map(|said| Cost::of_dollars(said.value)).or(base.cost),
        }
    }
}
