//! Policy keys as written: in `[defaults]`, next to `source`, in `[invoker]` and in `[tools.NAME]`. The nearest to the
//! tool wins.

use std::time::Duration;

use converse_canister::Cost;

use crate::plan::{Effects, OnFailure, Policy, SandboxLevel};
use crate::rule::Permission;
use crate::source::{SourceMap, Spanned};
use crate::table::Table;

/// Limit on the time of one call.
pub(crate) const MAX_TIMEOUT: Duration = Duration::from_secs(600);
pub(crate) const MAX_RESULT: usize = 16 * 1024 * 1024;
pub(crate) const MAX_RETRIES: u32 = 10;
pub(crate) const MAX_INVOCATIONS: u32 = 10_000;
/// Limit on the time for which a result is cached.
pub(crate) const MAX_CACHE: Duration = Duration::from_secs(7 * 24 * 3600);
/// US dollars per call.
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

/// Returns the word for a value in a table that has all values.
pub(crate) fn word_for<T: PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, known)| *known == value).map_or("", |(word, _)| word)
}

/// The keys; `None` for a key that is absent.
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
    /// US dollars.
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

    /// Returns the policy with these keys over `base`.
    pub(crate) fn over(&self, base: &Policy, sources: &SourceMap) -> Policy {
        fn or<T: Copy>(given: &Option<Spanned<T>>, base: T) -> T {
            given.as_ref().map_or(base, |given| given.value)
        }
        Policy {
            timeout: or(&self.timeout, base.timeout),
            idle_timeout: or(&self.idle_timeout, base.idle_timeout),
            max_retries: or(&self.max_retries, base.max_retries),
            permission: self.permission.as_ref().map(|given| given.value).or(base.permission),
            permission_at: match &self.permission {
                Some(given) => Some(sources.shown(given.span).into()),
                None => base.permission_at.clone(),
            },
            effects: or(&self.effects, base.effects),
            idempotent: or(&self.idempotent, base.idempotent),
            parallel: or(&self.parallel, base.parallel),
            result_limit: or(&self.result_limit, base.result_limit),
            on_failure: or(&self.on_failure, base.on_failure),
            max_invocations: self.max_invocations.as_ref().map(|given| given.value).or(base.max_invocations),
            cache: self.cache.as_ref().map(|given| given.value).or(base.cache),
            sandbox: or(&self.sandbox, base.sandbox),
            cost: self.cost.as_ref().map(|given| Cost::of_dollars(given.value)).or(base.cost),
        }
    }
}
