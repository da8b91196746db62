//! Settings files: the user's `config.toml` and the project's `converse.toml`.
//!
//! A project may name a model, a system text and presets. Otherwise it may only tighten: a provider, an allowed tool or a
//! timeout is an error in its file. Its limits are upper bounds, kept separately in [`SettingsPlan::bounds`].

mod models;
mod providers;
mod repl;
mod rules;
mod status;
mod views;

use std::collections::BTreeMap;
use std::time::Duration;

use converse_canister::{Cost, ProviderName};

use crate::Code;
use crate::diagnostic::{Checked, Diagnostic, quoted};
use crate::document::{Document, Problems};
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
/// Limits on `compact_at`. Closer to the whole window, an estimate of tokens could be too low.
const LEAST_SHARE: f64 = 0.1;
const MOST_SHARE: f64 = 0.95;

/// Defines structs of optional values, and merges them with `or`.
macro_rules! options {
    ($($(#[$attribute:meta])* pub struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$attribute])*
        pub struct $name { $($(#[$doc])* pub $field: Option<$type>,)* }

        impl $name {
            fn or(self, other: Self) -> Self {
                Self { $($field: self.$field.or(other.$field),)* }
            }
        }
    )*};
}

pub use models::{ModelPlan, PricePlan, ThinkingPlan};
pub use providers::{
    AuthPlan, ChangePlan, Dialect, PatchPlan, ProviderPlan, QuirksPlan, ReasoningReplay, Structured,
    ToolsPlan,
};
pub use repl::{Notify, Theme};
pub use status::{StatusTemplate, StatusValue};
pub use views::{ViewPlan, ViewToolPlan, unfit_views};

/// The settings of one file, or of several merged files; `None` for a key that is absent.
#[derive(Debug, Clone, Default)]
pub struct SettingsPlan {
    /// `provider/model`.
    pub model: Option<String>,
    /// Models to use if the model's server fails, in order, as `provider/model`. Only from the user.
    pub fallback: Option<Vec<String>>,
    /// The system text.
    pub system: Option<String>,
    pub limits: LimitsPlan,
    /// Limits that no other setting can exceed, from the project.
    pub bounds: LimitsPlan,
    pub timeouts: TimeoutsPlan,
    /// How a conversation is kept within a model's window. Only from the user.
    pub context: ContextPlan,
    pub rules: Vec<Rule>,
    pub providers: BTreeMap<ProviderName, ProviderPlan>,
    /// Facts about models, by `provider/model`.
    pub models: BTreeMap<String, ModelPlan>,
    pub presets: BTreeMap<String, PresetPlan>,
    /// Parts of the tools for clients of the gateway. Only from the user.
    pub views: Vec<ViewPlan>,
    pub ephemeral: Option<bool>,
    /// What each principal of the gateway may take. Only from the user.
    pub serve: BudgetPlan,
    /// Show the reasoning of models. Only from the user.
    pub show_reasoning: Option<bool>,
    /// Send instructions of files such as `AGENTS.md`. Only from the user.
    pub instructions: Option<bool>,
    /// Edit lines with the keys of vi. Only from the user.
    pub vi: Option<bool>,
    /// When the person at the terminal is called. Only from the user.
    pub notify: Option<Notify>,
    /// The line above the prompt. Only from the user.
    pub status: Option<StatusTemplate>,
    /// The background for which colours are chosen. Only from the user.
    pub theme: Option<Theme>,
    /// Write the audit log.
    pub audit: Option<bool>,
    /// The program that sandboxes commands.
    pub sandbox: Option<SandboxMethod>,
    /// The URL of the database of the sessions. Only from the user.
    pub store: Option<String>,
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

options! {
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct LimitsPlan {
        max_iterations: u32,
        max_invocations: u32,
        deadline: Duration,
        /// For models and tools together.
        max_cost: Cost,
    }

    /// Timeouts for a provider, in milliseconds in the file.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct TimeoutsPlan {
        connect: Duration,
        first_byte: Duration,
        stream_idle: Duration,
        stream_content: Duration,
        retry_first: Duration,
        retry_cap: Duration,
        retry_total: Duration,
        max_retries: u32,
    }

    /// What one client of the gateway may take. For costs and bytes, the call that goes beyond the limit is the last one.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct BudgetPlan {
        calls_per_minute: u32,
        /// Of tools that say what a call costs.
        cost_per_day: Cost,
        /// Of arguments and results.
        bytes_per_day: u64,
    }

    /// `[context]`: how a conversation and its tools are kept within a model's window.
    #[derive(Debug, Clone, Copy, Default, PartialEq)]
    pub struct ContextPlan {
        /// Compact conversations at all.
        compact: bool,
        /// The share of the window at which old results are shortened and the beginning is summarised.
        compact_at: f64,
        /// The share of the window beyond which tools are offered by a search; 0 for never.
        lazy_tools: f64,
    }
}

#[derive(Debug, Clone, Default)]
pub struct PresetPlan {
    /// For people who choose a preset; no model reads it.
    pub description: Option<String>,
    pub model: Option<String>,
    /// Like [`SettingsPlan::fallback`].
    pub fallback: Option<Vec<String>>,
    pub system: Option<String>,
    /// `None`: all enabled ensembles.
    pub ensembles: Option<Vec<String>>,
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u32>,
    /// Rules that are judged beside those of the files.
    pub rules: Vec<Rule>,
}

/// An entry of a project's settings that does more than restrict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steer {
    /// `model`, `system`, `presets.NAME`.
    pub key: String,
    /// What it says, in one text.
    pub value: String,
}

impl SettingsPlan {
    /// Returns the entries that decide which model is asked and what it is told: the model, the system text and presets.
    pub fn steering(&self) -> Vec<Steer> {
        let named = |key: &str, value: &Option<String>| {
            value.as_ref().map(|value| Steer { key: key.to_owned(), value: value.clone() })
        };
        let preset = |(name, preset): (&String, &PresetPlan)| {
            let said = [("model", &preset.model), ("system", &preset.system)];
            let said =
                said.into_iter().filter_map(|(key, value)| Some(format!("{key} = {}", value.as_ref()?)));
            let numbers = [
                preset.temperature.map(|number| format!("temperature = {number}")),
                preset.max_output_tokens.map(|number| format!("max_output_tokens = {number}")),
            ];
            let value = said.chain(numbers.into_iter().flatten()).collect::<Vec<_>>().join(", ");
            Steer { key: format!("presets.{name}"), value }
        };
        let whole = [named("model", &self.model), named("system", &self.system)];
        whole.into_iter().flatten().chain(self.presets.iter().map(preset)).collect()
    }

    /// Returns the settings without these entries.
    #[must_use]
    pub fn without_steering(self) -> Self {
        Self { model: None, system: None, presets: BTreeMap::new(), ..self }
    }

    /// Merges a nearer file over these settings. Rules are combined (the strictest wins), bounds tighten, presets of these
    /// settings stay unchanged, and otherwise the nearer file wins.
    #[must_use]
    pub fn under(self, nearer: Self) -> Self {
        let mut rules = self.rules;
        rules.extend(nearer.rules);
        let mut providers = self.providers;
        providers.extend(nearer.providers);
        let mut models = self.models;
        models.extend(nearer.models);
        // By name: a project must not change the meaning of a user's preset.
        let mut presets = nearer.presets;
        presets.extend(self.presets);
        let mut views = self.views;
        views.extend(nearer.views);
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
            views,
            ephemeral: nearer.ephemeral.or(self.ephemeral),
            serve: nearer.serve.or(self.serve),
            show_reasoning: nearer.show_reasoning.or(self.show_reasoning),
            instructions: nearer.instructions.or(self.instructions),
            vi: nearer.vi.or(self.vi),
            notify: nearer.notify.or(self.notify),
            status: nearer.status.or(self.status),
            theme: nearer.theme.or(self.theme),
            audit: nearer.audit.or(self.audit),
            sandbox: nearer.sandbox.or(self.sandbox),
            store: nearer.store.or(self.store),
        }
    }
}

impl LimitsPlan {
    /// Returns the lower of each limit.
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

/// Parses a settings file. Its scope comes from the source map: [`Scope::Project`] may only tighten.
pub fn parse_settings(sources: &SourceMap, id: SourceId) -> Checked<SettingsPlan> {
    let problems = Problems::of(id);
    let plan = {
        let document = Document::parse(sources, id, &problems);
        let file = document.root("a settings file", &problems);
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
            ("fallback", "name fallback models"),
            ("providers", "name providers"),
            ("models", "describe models"),
            ("timeouts", "change timeouts"),
            ("context", "change how a conversation is compacted"),
            ("show_reasoning", "choose whether reasoning is shown"),
            ("instructions", "choose whether instructions are sent"),
            ("repl", "change how the conversation at the terminal behaves"),
            ("audit", "turn the audit log on or off"),
            ("sandbox", "choose the sandbox of commands"),
            ("views", "define views"),
            ("serve", "limit the clients of the gateway"),
            ("store", "choose where sessions are kept"),
        ] {
            self.not_for_projects(self.file, key, what);
        }
        let limits = self.limits();
        let (limits, bounds) =
            if self.project { (LimitsPlan::default(), limits) } else { (limits, LimitsPlan::default()) };
        let repl::ReplPlan { vi, notify, status, theme } = repl::repl(self.file);
        let plan = SettingsPlan {
            model: self.model(self.file, "model"),
            fallback: self.fallback(self.file),
            system: self.file.string("system").map(|text| text.value),
            limits,
            bounds,
            timeouts: self.timeouts(),
            context: self.context(),
            rules: rules::rules(self.file, self.sources, self.id),
            providers: providers::providers(self.file),
            models: models::models(self.file),
            presets: self.presets(),
            views: views::views(self.file, self.sources, self.id),
            ephemeral: self.switch("session", "ephemeral"),
            serve: self.file.table("serve").map(budget).unwrap_or_default(),
            show_reasoning: self.file.boolean("show_reasoning").map(|show| show.value),
            instructions: self.file.boolean("instructions").map(|send| send.value),
            vi,
            notify,
            status,
            theme,
            audit: self.switch("audit", "enabled"),
            sandbox: self.sandbox(),
            store: self.store(),
        };
        if self.project {
            // The errors are reported; a caller that continues anyway must not use these settings.
            let timeouts = TimeoutsPlan::default();
            return SettingsPlan {
                timeouts,
                context: ContextPlan::default(),
                providers: BTreeMap::new(),
                models: BTreeMap::new(),
                views: Vec::new(),
                serve: BudgetPlan::default(),
                show_reasoning: None,
                instructions: None,
                vi: None,
                notify: None,
                status: None,
                theme: None,
                audit: None,
                sandbox: None,
                store: None,
                ..plan
            };
        }
        plan
    }

    fn not_for_projects(&self, table: &Table<'_, '_>, key: &str, what: &str) {
        if let Some(span) = table.key_span(key).filter(|_| self.project) {
            let message = format!("a project cannot {what}; it can only tighten your settings");
            let diagnostic = Diagnostic::error(Code::ProjectScope, span, message);
            table.problems.push(diagnostic.hint("move this to your own `config.toml`"));
        }
    }

    fn model(&self, table: &Table<'_, '_>, key: &'static str) -> Option<String> {
        checked_model(table, table.string(key)?)
    }

    /// Reads the fallback models. A fallback sends the conversation to another provider, so a project cannot name one.
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

    fn context(&self) -> ContextPlan {
        let Some(table) = self.file.table("context") else { return ContextPlan::default() };
        let plan = ContextPlan {
            compact: table.boolean("compact").map(|compact| compact.value),
            compact_at: table.float("compact_at", LEAST_SHARE..=MOST_SHARE).map(|share| share.value),
            lazy_tools: table.float("lazy_tools", 0.0..=1.0).map(|share| share.value),
        };
        table.finish();
        plan
    }

    fn presets(&self) -> BTreeMap<String, PresetPlan> {
        let mut presets = BTreeMap::new();
        let Some(table) = self.file.table("presets") else { return presets };
        for (name, entry) in table.named_tables() {
            let ensembles = entry.strings("ensembles").map(|names| names.value);
            self.not_for_projects(&entry, "fallback", "name fallback models");
            let plan = PresetPlan {
                description: entry.string("description").map(|text| text.value),
                model: self.model(&entry, "model"),
                fallback: self.fallback(&entry),
                system: entry.string("system").map(|text| text.value),
                ensembles: ensembles.map(|names| names.into_iter().map(|name| name.value).collect()),
                temperature: entry.float("temperature", 0.0..=2.0).map(|number| number.value),
                max_output_tokens: entry
                    .count("max_output_tokens", 1..=10_000_000)
                    .map(|number| number.value),
                rules: rules::rules(&entry, self.sources, self.id),
            };
            entry.finish();
            presets.insert(name.value, plan);
        }
        table.finish_except(|value| value.is_table());
        presets
    }

    fn sandbox(&self) -> Option<SandboxMethod> {
        let table = self.file.table("sandbox")?;
        let methods = [("own", SandboxMethod::Own), ("bubblewrap", SandboxMethod::Bubblewrap)];
        let method = table.choice("method", &methods).map(|method| method.value);
        table.finish();
        method
    }

    fn store(&self) -> Option<String> {
        let table = self.file.table("store")?;
        let url = table.string("url").and_then(|url| checked_store(&table, url));
        table.finish();
        url
    }

    /// Reads a table with a single key.
    fn switch(&self, table: &'static str, key: &'static str) -> Option<bool> {
        let table = self.file.table(table)?;
        let value = table.boolean(key).map(|value| value.value);
        table.finish();
        value
    }
}

/// Checks the URL of a database. A password in it is refused: the file may be shared, and its lines are shown.
fn checked_store(table: &Table<'_, '_>, url: Spanned<String>) -> Option<String> {
    let Spanned { value, span } = url;
    let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| value.starts_with(scheme));
    if !is_url {
        let message = format!("{} is not the URL of a database", quoted(&value));
        let hint = "for example: `url = \"postgres://me@db.example/converse\"`";
        table.problems.bad_value(span, message, hint);
        return None;
    }
    if has_password(&value) {
        let message = "a password in the URL of a database can be read by everyone who reads this file";
        let hint = "remove the password from the URL; set `PGPASSWORD`, or write it to `~/.pgpass`";
        let diagnostic = Diagnostic::error(Code::SecretInFile, span, message).hint(hint);
        table.problems.push(diagnostic.without_excerpt());
        return None;
    }
    Some(value)
}

/// Returns whether the URL of a database has a password, before its host or as a parameter.
fn has_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (base, query) = rest.split_once('?').unwrap_or((rest, ""));
    let user = base.rsplit_once('@').map(|(user, _)| user);
    user.is_some_and(|user| user.contains(':')) || query.split('&').any(|pair| pair.starts_with("password="))
}

/// Reads a budget, which is all of a table.
fn budget(table: Table<'_, '_>) -> BudgetPlan {
    let plan = BudgetPlan {
        calls_per_minute: table.count("calls_per_minute", 1..=1_000_000).map(|calls| calls.value),
        cost_per_day: table
            .float("cost_per_day", LEAST_DOLLARS..=MOST_DOLLARS)
            .map(|dollars| Cost::of_dollars(dollars.value)),
        bytes_per_day: table.integer("bytes_per_day", 1..=i64::MAX).map(|bytes| bytes.value.unsigned_abs()),
    };
    table.finish();
    plan
}

fn checked_model(table: &Table<'_, '_>, model: Spanned<String>) -> Option<String> {
    let Spanned { value, span } = model;
    if value.trim().is_empty() || value.len() > 256 || value.chars().any(char::is_whitespace) {
        let message = format!("{} is not a model: write `provider/model`", quoted(&value));
        let hint = "for example: `anthropic/claude-sonnet-4-6`; `converse models list` shows all";
        table.problems.bad_value(span, message, hint);
        return None;
    }
    Some(value)
}

#[cfg(test)]
mod tests;
