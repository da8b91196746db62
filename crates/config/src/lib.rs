//! Descriptors and settings: TOML text becomes checked plans, and every problem is reported with its location.
//!
//! A *descriptor* is the content of a file, each value with its position. A *plan* is what the program uses. [`resolve()`]
//! turns descriptors into plans. It is pure and collects all problems instead of stopping at the first. This crate does
//! not act on a plan, does not read the environment (a snapshot is passed in) and contains no secrets (plans name them:
//! [`SecretRef`]).
//!
//! ```
//! use converse_config::{Scope, SourceMap, parse_ensemble};
//!
//! let mut sources = SourceMap::new();
//! let text = "[ensemble]\nname = \"notes\"\ndescription = \"My notes\"\nvresion = \"1\"\n";
//! let file = sources.add("notes.toml", Scope::User, text);
//! let checked = parse_ensemble(&sources, file);
//!
//! let problem = checked.diagnostics.iter().find(|found| found.code.as_str() == "unknown-key").unwrap();
//! assert_eq!(problem.finding(&sources).line, Some(4));
//! // For people: the line with a caret below the key.
//! assert!(problem.render(&sources).contains("notes.toml:4:1"));
//! ```
//!
//! Crates with files of their own read them with the same [`Document`], [`Table`] and [`Problems`].
//!
//! ```text
//! load ── files ──▶ SourceMap + EnsembleDescriptor ── resolve (built-ins, environment, trust) ──▶ EnsemblePlan
//!     ── file ───▶ SettingsPlan (limits, timeouts, rules, providers, presets)
//! ```

mod address;
mod approval;
mod code;
mod command;
mod connection;
mod connection_json;
mod diagnostic;
mod document;
mod ensemble;
mod environment;
mod grants;
mod header;
mod invoker;
mod json;
mod load;
pub mod lock;
mod oauth;
mod packed;
mod plan;
mod policy;
mod program;
mod published;
mod request;
mod resolve;
mod rule;
mod schema;
mod settings;
mod shipped;
mod source;
mod style;
mod table;
mod template;
mod templates;
mod tool_test;
mod units;

pub use address::{AddressFault, base_url_fault};
pub use approval::{Approval, MAX_APPROVALS, approvals_text, parse_approvals};
pub use code::{Code, codes_markdown};
pub use command::{ArgvDescriptor, CodeRisk, CommandDescriptor, SandboxAccessDescriptor};
pub use connection::{ConnectionDescriptor, ToolDescriptor, ToolsDescriptor, TransportDescriptor};
pub use converse_text::escape::escape;
pub use diagnostic::{Checked, Diagnostic, Finding, Location, Severity};
pub use document::{Document, Problems};
pub use ensemble::{EnsembleDescriptor, InvokerEntry, parse_ensemble};
pub use environment::{Environment, UnsetVariable};
pub use grants::{Grants, LogLevel};
pub use header::is_reserved_header;
pub use invoker::{ArgumentsDescriptor, InvokerDescriptor, parse_invoker};
pub use load::{LoadedFiles, MAX_DESCRIPTORS, Root, load, load_for_question, load_settings};
pub use oauth::{OauthDescriptor, OauthPlan};
pub use packed::packed_shipped;
pub use plan::{
    ArgvPart, BodyPlan, CommandPlan, ConnectionPlan, Effects, EnsemblePlan, InvokerKind, InvokerPlan,
    JsonTemplate, OnFailure, Origin, PartPlan, Piece, Policy, Protocol, RequestPlan, SandboxAccess,
    SandboxLevel, Scope, SecretRef, ToolFilter, TransportPlan,
};
pub use policy::PolicyDescriptor;
pub use published::{ensemble_schema, invoker_schema, schema_text};
pub use request::{BodyDescriptor, RequestDescriptor};
pub use resolve::{BrokenEnsemble, BuiltinSpec, Resolution, ResolveInput, resolve, unpinned_package};
pub use rule::{
    ArgumentPattern, ArgumentPatterns, BadPattern, Binding, ExplainedRule, Explanation, Judgement,
    Permission, Rule, RuleEffect, Subject, ToolPattern, explain, judge, proposed_patterns, restriction,
    unused_rules,
};
pub use rule::{explain_flow, judge_flow, private_file};
pub use schema::{
    ArgumentsSchema, SchemaError, SchemaFault, ValueSchema, describe_argument, fixed_fault, without_fixed,
};
pub use settings::{
    AuthPlan, BudgetPlan, ChangePlan, ContextPlan, Dialect, LimitsPlan, ModelPlan, Notify, PatchPlan,
    PresetPlan, PricePlan, ProviderPlan, QuirksPlan, ReasoningReplay, SandboxMethod, SettingsPlan,
    StatusTemplate, StatusValue, Steer, Structured, Theme, ThinkingPlan, TimeoutsPlan, ToolsPlan, ViewPlan,
    ViewToolPlan, parse_settings, unfit_views,
};
pub use shipped::shipped;
pub use source::{MAX_FILE_BYTES, Position, Source, SourceId, SourceMap, Span, Spanned};
pub use style::Style;
pub use table::Table;
pub use template::{Template, TemplatePiece, value_text};
pub use tool_test::{
    Expectation, ExpectationDescriptor, TestDescriptor, TestPlan, compiled as compiled_pattern,
};
