//! Ensembles as *meant*: what the runtime is given. Durations are `Duration`, defaults are filled in, secrets are named.
//!
//! **Invariant:** nothing here is read from a file directly (no `Deserialize`) and nothing here acts. A secret is a
//! [`SecretRef`], never a value. Schemas stay values: `check` compiles them all, a run compiles one at its first call.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use converse_canister::{EnsembleName, InvokerName};
use serde_json::{Map, Value};

use crate::rule::Permission;

/// Where a plan came from, for messages and for trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub scope: Scope,
    /// The path as shown to people; `builtin:essentials.toml` for shipped ones.
    pub file: String,
    /// 1-based line of the `[ensemble]` (or `[invoker]`) it declares.
    pub line: usize,
}

/// Whose word a file is, farthest first: a nearer one replaces a farther one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Embedded in the binary.
    Shipped,
    User,
    Project,
    /// `--ensembles DIR`: typed by the user, which is consent for this run.
    Explicit,
}

#[derive(Debug, Clone, PartialEq)]
pub struct EnsemblePlan {
    pub name: EnsembleName,
    pub description: String,
    pub enabled: bool,
    /// The run stops (exit 10) when it cannot connect.
    pub required: bool,
    pub lazy: bool,
    /// `None`: tools are shown as `ensemble__invoker`. `Some("")`: bare names. `Some("x")`: `x__invoker`.
    pub prefix: Option<String>,
    pub connection: Option<ConnectionPlan>,
    /// `[configuration]`, as JSON: settings of the ensemble itself, handed to its invokers.
    pub configuration: Map<String, Value>,
    pub defaults: Policy,
    pub invokers: Vec<InvokerPlan>,
    pub filter: ToolFilter,
    /// What `[tools.NAME]` says of tools yet to be discovered, over `defaults`.
    pub tools: BTreeMap<InvokerName, Policy>,
    /// False for a project's ensemble that nobody has trusted: with a connection it must be left inert.
    pub trusted: bool,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq)]
pub struct InvokerPlan {
    pub name: InvokerName,
    pub description: String,
    /// JSON Schema of the arguments; `None` only for discovered tools that are not discovered yet.
    pub arguments: Option<Value>,
    pub kind: InvokerKind,
    pub policy: Policy,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq)]
pub enum InvokerKind {
    /// Bound to a tool in the binary, by its name there.
    Builtin(String),
}

/// How a server is reached. (Started or contacted by the `mcp` crate, which is not there yet.)
#[derive(Debug, Clone, PartialEq)]
pub enum ConnectionPlan {
    Stdio { command: Vec<SecretRef>, environment: Vec<(String, SecretRef)>, cwd: Option<PathBuf> },
    Http { url: SecretRef, headers: Vec<(String, SecretRef)> },
}

/// A value that may be secret: written down, or by the names of variables that hold it. Read late, never logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretRef {
    Literal(String),
    Environment(String),
    /// Text with variables in it: `Bearer ${TOKEN}`.
    Template(Vec<Piece>),
}

/// A part of a [`SecretRef::Template`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Variable { name: String, default: Option<String> },
}

/// Which discovered tools are kept: those that match any of `include` (all, if empty) and none of `exclude`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    pub include: Vec<String>,
    pub exclude: Vec<String>,
}

/// What a tool does to the world. Ordered: a descriptor may raise what a built-in says of itself, never lower it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effects {
    /// It only computes.
    None,
    Read,
    Write,
    External,
}

/// The limits and permissions of one invoker, after defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Wall clock of one invocation; at most 600 s.
    pub timeout: Duration,
    /// Tries after the first; used only where idempotent, or where nothing was sent.
    pub max_retries: u32,
    /// `None` is the default of the product: allow what only computes or reads and is built in, ask for the rest.
    pub permission: Option<Permission>,
    pub effects: Effects,
    pub idempotent: bool,
    pub parallel: bool,
    /// Bytes of a result that reach the model.
    pub result_limit: usize,
    pub on_failure: OnFailure,
    /// Calls in one turn of the user.
    pub max_invocations: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// The model reads the failure and goes on.
    Report,
    /// The turn ends.
    Stop,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            max_retries: 0,
            permission: None,
            effects: Effects::External,
            idempotent: false,
            parallel: true,
            result_limit: 64 * 1024,
            on_failure: OnFailure::Report,
            max_invocations: None,
        }
    }
}
