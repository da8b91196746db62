//! Settings files: the user's `config.toml` and the project's `converse.toml`.
//!
//! A project may name a model, a system text and presets, and for the rest only tighten: a provider, an allowed tool or a
//! wait is an error in its file, and its limits are upper bounds, kept apart in [`SettingsPlan::bounds`], so that nobody can mistake them
//! for wishes.

mod context;
mod models;
mod providers;
mod rules;

use std::collections::BTreeMap;
use std::time::Duration;

use converse_canister::{Cost, ProviderName};

use crate::Code;
use crate::diagnostic::{Checked, Diagnostic};
use crate::document::{Document, Problems};
use crate::escape::quoted;
use crate::plan::Scope;
use crate::rule::Rule;
use crate::source::Spanned;
use crate::source::{SourceId, SourceMap};
use crate::table::Table;

const MAX_DEADLINE: Duration = Duration::from_secs(7 * 24 * 3600);
const MAX_MILLIS: i64 = 3_600_000;
/// Costs are counted in millionths of a US dollar.
const LEAST_DOLLARS: f64 = 0.000_001;
const MOST_DOLLARS: f64 = 1e6;

pub use context::ContextPlan;
pub use models::{ModelPlan, PricePlan, ThinkingPlan};
pub use providers::{
    AuthPlan, ChangePlan, Dialect, PatchPlan, ProviderPlan, QuirksPlan, Structured, ToolsPlan,
};

/// What one settings file says, or several merged; `None` is "not said".
#[derive(Debug, Clone, Default)]
pub struct SettingsPlan {
    /// `provider/model`.
    pub model: Option<String>,
    /// Who answers instead when the model's server cannot, in order, as `provider/model`. The user's alone.
    pub fallback: Option<Vec<String>>,
    /// The system text.
    pub system: Option<String>,
    pub limits: LimitsPlan,
    /// Limits that cannot be exceeded whatever else says: the project's.
    pub bounds: LimitsPlan,
    pub timeouts: TimeoutsPlan,
    /// What fits into a model's window. The user's alone.
    pub context: ContextPlan,
    pub rules: Vec<Rule>,
    pub providers: BTreeMap<ProviderName, ProviderPlan>,
    /// What the user knows of models, by `provider/model`.
    pub models: BTreeMap<String, ModelPlan>,
    pub presets: BTreeMap<String, PresetPlan>,
    pub ephemeral: Option<bool>,
    /// What models think is shown. The user's alone.
    pub show_reasoning: Option<bool>,
    /// Lines are edited with the keys of vi. The user's alone.
    pub vi: Option<bool>,
    /// Is the audit log written?
    pub audit: Option<bool>,
    /// Who shuts commands in that have a sandbox.
    pub sandbox: Option<SandboxMethod>,
}

/// `[sandbox] method`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SandboxMethod {
    /// `own`: Landlock.
    #[default]
    Own,
    /// `bubblewrap`
    Bubblewrap,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LimitsPlan {
    pub max_iterations: Option<u32>,
    pub max_invocations: Option<u32>,
    pub deadline: Option<Duration>,
    /// Of models and tools together.
    pub max_cost: Option<Cost>,
}

/// Waits for a provider. Milliseconds in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeoutsPlan {
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub stream_idle: Option<Duration>,
    pub stream_content: Option<Duration>,
    pub retry_first: Option<Duration>,
    pub retry_cap: Option<Duration>,
    pub retry_total: Option<Duration>,
    pub max_retries: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct PresetPlan {
    pub model: Option<String>,
    /// As [`SettingsPlan::fallback`].
    pub fallback: Option<Vec<String>>,
    pub system: Option<String>,
    /// `None`: all that are enabled.
    pub ensembles: Option<Vec<String>>,
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u32>,
}

impl SettingsPlan {
    /// These settings with a nearer file's over them. Rules add up (the strictest wins anyway), bounds tighten, presets of
    /// this one stay as they are, and the nearer file wins elsewhere.
    #[must_use]
    pub fn under(self, nearer: Self) -> Self {
        let mut rules = self.rules;
        rules.extend(nearer.rules);
        let mut providers = self.providers;
        providers.extend(nearer.providers);
        let mut models = self.models;
        models.extend(nearer.models);
        // By name: a project must not be able to change what a user's own preset means.
        let mut presets = nearer.presets;
        presets.extend(self.presets);
        Self {
            model: nearer.model.or(self.model),
            fallback: nearer.fallback.or(self.fallback),
            system: nearer.system.or(self.system),
            limits: nearer.limits.or(self.limits),
            bounds: nearer.bounds.bounded_by(self.bounds),
            timeouts: nearer.timeouts.or(self.timeouts),
            context: nearer.context.or(self.context),
            rules,
            providers,
            models,
            presets,
            ephemeral: nearer.ephemeral.or(self.ephemeral),
            show_reasoning: nearer.show_reasoning.or(self.show_reasoning),
            vi: nearer.vi.or(self.vi),
            audit: nearer.audit.or(self.audit),
            sandbox: nearer.sandbox.or(self.sandbox),
        }
    }
}

impl LimitsPlan {
    fn or(self, other: Self) -> Self {
        Self {
            max_iterations: self.max_iterations.or(other.max_iterations),
            max_invocations: self.max_invocations.or(other.max_invocations),
            deadline: self.deadline.or(other.deadline),
            max_cost: self.max_cost.or(other.max_cost),
        }
    }

    /// The lower of each, where either says something.
    #[must_use]
    pub fn bounded_by(self, bounds: Self) -> Self {
        fn lower<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            }
        }
        Self {
            max_iterations: lower(self.max_iterations, bounds.max_iterations),
            max_invocations: lower(self.max_invocations, bounds.max_invocations),
            deadline: lower(self.deadline, bounds.deadline),
            max_cost: lower(self.max_cost, bounds.max_cost),
        }
    }
}

impl TimeoutsPlan {
    fn or(self, other: Self) -> Self {
        Self {
            connect: self.connect.or(other.connect),
            first_byte: self.first_byte.or(other.first_byte),
            stream_idle: self.stream_idle.or(other.stream_idle),
            stream_content: self.stream_content.or(other.stream_content),
            retry_first: self.retry_first.or(other.retry_first),
            retry_cap: self.retry_cap.or(other.retry_cap),
            retry_total: self.retry_total.or(other.retry_total),
            max_retries: self.max_retries.or(other.max_retries),
        }
    }
}

/// Reads a settings file. Whose it is stands in the source map: [`Scope::Project`] may only tighten.
pub fn parse_settings(sources: &SourceMap, id: SourceId) -> Checked<SettingsPlan> {
    let problems = Problems::of(id);
    let plan = {
        let document = Document::parse(sources, id, &problems);
        let file = Table::new(&document.table, problems.span(0..0), "a settings file", &problems);
        let reader = Reader { sources, id, project: sources.scope(id) == Scope::Project, file: &file };
        let plan = reader.plan();
        file.finish();
        plan
    };
    Checked { value: plan, diagnostics: problems.into_diagnostics() }
}

struct Reader<'r, 't, 's> {
    sources: &'r SourceMap,
    id: SourceId,
    project: bool,
    file: &'r Table<'t, 's>,
}

impl Reader<'_, '_, '_> {
    fn plan(&self) -> SettingsPlan {
        for (key, what) in [
            ("fallback", "name who else is asked"),
            ("providers", "name providers"),
            ("models", "say what models can do and cost"),
            ("timeouts", "change how long is waited"),
            ("context", "say what of a conversation a model is shown"),
            ("show_reasoning", "say what is shown"),
            ("repl", "say how lines are edited"),
            ("audit", "say whether there is an audit log"),
            ("sandbox", "choose the sandbox of commands"),
        ] {
            self.not_for_projects(self.file, key, what);
        }
        let limits = self.limits();
        let (limits, bounds) =
            if self.project { (LimitsPlan::default(), limits) } else { (limits, LimitsPlan::default()) };
        let plan = SettingsPlan {
            model: self.model(self.file, "model"),
            fallback: self.fallback(self.file),
            system: self.file.string("system").map(|text| text.value),
            limits,
            bounds,
            timeouts: self.timeouts(),
            context: context::context(self.file),
            rules: rules::rules(self.file, self.sources, self.id),
            providers: providers::providers(self.file),
            models: models::models(self.file),
            presets: self.presets(),
            ephemeral: self.switch("session", "ephemeral"),
            show_reasoning: self.file.boolean("show_reasoning").map(|said| said.value),
            vi: self.switch("repl", "vi"),
            audit: self.switch("audit", "enabled"),
            sandbox: self.sandbox(),
        };
        if self.project {
            // Its errors have been told; nothing of them may reach anybody who goes on regardless.
            let timeouts = TimeoutsPlan::default();
            return SettingsPlan {
                timeouts,
                context: ContextPlan::default(),
                providers: BTreeMap::new(),
                models: BTreeMap::new(),
                show_reasoning: None,
                vi: None,
                audit: None,
                sandbox: None,
                ..plan
            };
        }
        plan
    }

    fn not_for_projects(&self, table: &Table<'_, '_>, key: &str, what: &str) {
        if let Some(span) = table.key_span(key).filter(|_| self.project) {
            let message = format!("a project cannot {what}: it may only tighten");
            let diagnostic = Diagnostic::error(Code::ProjectScope, span, message);
            table.problems.push(diagnostic.hint("say it in your own `config.toml`"));
        }
    }

    fn model(&self, table: &Table<'_, '_>, key: &'static str) -> Option<String> {
        checked_model(table, table.string(key)?)
    }

    /// What is sent elsewhere is sent to somebody else: whose project it is has no say in that.
    fn fallback(&self, table: &Table<'_, '_>) -> Option<Vec<String>> {
        let models = table.strings("fallback")?.value;
        let models = models.into_iter().filter_map(|model| checked_model(table, model)).collect();
        (!self.project).then_some(models)
    }

    fn limits(&self) -> LimitsPlan {
        let Some(table) = self.file.table("limits") else { return LimitsPlan::default() };
        let limits = LimitsPlan {
            max_iterations: table.count("max_iterations", 1..=10_000).map(|number| number.value),
            max_invocations: table.count("max_invocations", 0..=100_000).map(|number| number.value),
            deadline: table.duration("deadline", MAX_DEADLINE).map(|duration| duration.value),
            max_cost: table
                .float("max_cost", LEAST_DOLLARS..=MOST_DOLLARS)
                .map(|dollars| Cost::of_dollars(dollars.value)),
        };
        table.finish();
        limits
    }

    fn timeouts(&self) -> TimeoutsPlan {
        let Some(table) = self.file.table("timeouts") else { return TimeoutsPlan::default() };
        let wait = |key| table.milliseconds(key, 1..=MAX_MILLIS).map(|duration| duration.value);
        let timeouts = TimeoutsPlan {
            connect: wait("connect"),
            first_byte: wait("first_byte"),
            stream_idle: wait("stream_idle"),
            stream_content: wait("stream_content"),
            retry_first: wait("retry_first"),
            retry_cap: wait("retry_cap"),
            retry_total: wait("retry_total"),
            max_retries: table.count("max_retries", 0..=100).map(|number| number.value),
        };
        table.finish();
        timeouts
    }

    fn presets(&self) -> BTreeMap<String, PresetPlan> {
        let mut presets = BTreeMap::new();
        let Some(table) = self.file.table("presets") else { return presets };
        for (name, entry) in table.named_tables() {
            let ensembles = entry.strings("ensembles").map(|names| names.value);
            self.not_for_projects(&entry, "fallback", "name who else is asked");
            let plan = PresetPlan {
                model: self.model(&entry, "model"),
                fallback: self.fallback(&entry),
                system: entry.string("system").map(|text| text.value),
                ensembles: ensembles.map(|names| names.into_iter().map(|name| name.value).collect()),
                temperature: entry.float("temperature", 0.0..=2.0).map(|number| number.value),
                max_output_tokens: entry
                    .count("max_output_tokens", 1..=10_000_000)
                    .map(|number| number.value),
            };
            entry.finish();
            presets.insert(name.value, plan);
        }
        table.finish_but(|value| value.is_table());
        presets
    }

    fn sandbox(&self) -> Option<SandboxMethod> {
        let table = self.file.table("sandbox")?;
        let methods = [("own", SandboxMethod::Own), ("bubblewrap", SandboxMethod::Bubblewrap)];
        let method = table.choice("method", &methods).map(|method| method.value);
        table.finish();
        method
    }

    /// The one key of a table that has no other.
    fn switch(&self, table: &'static str, key: &'static str) -> Option<bool> {
        let table = self.file.table(table)?;
        let said = table.boolean(key).map(|said| said.value);
        table.finish();
        said
    }
}

fn checked_model(table: &Table<'_, '_>, model: Spanned<String>) -> Option<String> {
    let Spanned { value, span } = model;
    if value.trim().is_empty() || value.len() > 256 || value.chars().any(char::is_whitespace) {
        let message = format!("{} is not a model: write `provider/model`", quoted(&value));
        table.problems.error(Code::BadValue, span, message);
        return None;
    }
    Some(value)
}

#[cfg(test)]
mod tests;
