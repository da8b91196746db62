//! Ensembles as *meant*: what the runtime is given. Durations are `Duration`, defaults are filled in, secrets are named.
//!
//! **Invariant:** nothing here is read from a file directly (no `Deserialize`) and nothing here acts. A secret is a
//! [`SecretRef`], never a value. Schemas stay values: `check` compiles them all, a run compiles one at its first call.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use converse_canister::{Cost, EnsembleName, InvokerName};
use serde_json::{Map, Value};

use crate::grants::Grants;
use crate::oauth::OauthPlan;
use crate::rule::{Permission, names};
use crate::template::Template;
use crate::trial::TestPlan;

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
    /// `[[tools.NAME.tests]]`.
    pub tests: BTreeMap<InvokerName, Vec<TestPlan>>,
    /// False for a project's ensemble that nobody has trusted: what reaches out must be left inert.
    pub trusted: bool,
    pub origin: Origin,
}

impl EnsemblePlan {
    /// What a descriptor means that says nothing but a name: enabled, trusted, the product's limits, and no tools.
    pub fn bare(name: EnsembleName, origin: Origin) -> Self {
        Self {
            name,
            description: String::new(),
            enabled: true,
            required: false,
            lazy: false,
            prefix: None,
            connection: None,
            configuration: Map::new(),
            defaults: Policy::default(),
            invokers: Vec::new(),
            filter: ToolFilter::default(),
            tools: BTreeMap::new(),
            tests: BTreeMap::new(),
            trusted: true,
            origin,
        }
    }

    /// The names of all variables that it refers to, some of them more than once.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let of_connection = self.connection.iter().flat_map(ConnectionPlan::variables);
        of_connection.chain(self.invokers.iter().flat_map(|invoker| invoker.kind.variables()))
    }

    /// Would using it start a program or contact a server?
    pub fn reaches_out(&self) -> bool {
        self.connection.is_some() || self.invokers.iter().any(|invoker| invoker.kind.reaches_out())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct InvokerPlan {
    pub name: InvokerName,
    pub description: String,
    /// JSON Schema of the arguments; `None` only for discovered tools that are not discovered yet.
    pub arguments: Option<Value>,
    pub kind: InvokerKind,
    pub policy: Policy,
    /// `[[tests]]`.
    pub tests: Vec<TestPlan>,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq)]
pub enum InvokerKind {
    /// Bound to a tool in the binary, by its name there.
    Builtin(String),
    Command(CommandPlan),
    Http(RequestPlan),
}

impl InvokerKind {
    fn variables(&self) -> Vec<&str> {
        match self {
            Self::Builtin(_) => Vec::new(),
            Self::Command(plan) => {
                let of_templates = plan.templates().flat_map(Template::variables);
                of_templates.chain(plan.environment.iter().flat_map(|(_, value)| value.variables())).collect()
            }
            Self::Http(plan) => {
                let named = plan.query.iter().chain(&plan.headers).map(|(_, template)| template);
                let body = plan.body.iter().flat_map(BodyPlan::variables);
                named.chain([&plan.url]).flat_map(Template::variables).chain(body).collect()
            }
        }
    }

    /// Would invoking it start a program or contact a server of the descriptor's choice?
    pub fn reaches_out(&self) -> bool {
        !matches!(self, Self::Builtin(_))
    }
}

/// A program as a tool. There is no shell: one element is one argument of the program, whatever it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandPlan {
    /// At least one part; the first is the program and holds no argument of the invocation.
    pub argv: Vec<ArgvPart>,
    pub environment: Vec<(String, SecretRef)>,
    /// Relative to the directory converse runs in.
    pub cwd: Option<PathBuf>,
    /// What the program reads; nothing if `None`.
    pub stdin: Option<Template>,
    /// What its sandbox leaves open, where it has one.
    pub openings: Openings,
}

/// What a sandbox leaves open beside what every program needs (its own libraries, a temporary directory of its own).
/// Paths are relative to the directory converse runs in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Openings {
    /// Files and directories it may read, beside the directory it runs in.
    pub reads: Vec<PathBuf>,
    /// Files and directories it may change.
    pub writes: Vec<PathBuf>,
    /// May it open connections?
    pub network: bool,
}

impl CommandPlan {
    /// Everything with places to fill: the words of the command line, and what the program reads.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        self.argv.iter().flat_map(ArgvPart::templates).chain(&self.stdin)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum ArgvPart {
    /// Left out when an argument it names is not given. If it is nothing but one argument that is an array, each entry
    /// becomes an element.
    One(Template),
    /// Left out as a whole when an argument that any of them names is not given, or is an array of nothing: a flag and
    /// its value. Arrays become elements as above.
    Together(Vec<Template>),
}

impl ArgvPart {
    pub fn templates(&self) -> &[Template] {
        match self {
            Self::One(template) => std::slice::from_ref(template),
            Self::Together(templates) => templates,
        }
    }
}

/// An HTTP request as a tool. Arguments never choose the scheme or the host.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestPlan {
    /// Upper case: `GET`, `POST`, `PUT`, `PATCH`, `DELETE`, `HEAD`.
    pub method: String,
    pub url: Template,
    /// Appended to the URL; an entry whose argument is not given is left out.
    pub query: Vec<(String, Template)>,
    pub headers: Vec<(String, Template)>,
    pub body: Option<BodyPlan>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum BodyPlan {
    /// Sent as it is: nothing encodes what is filled in.
    Text(Template),
    /// Sent as `application/x-www-form-urlencoded`, each value encoded; an entry whose argument is not given is left out.
    Form(Vec<(String, Template)>),
    /// Sent as `application/json`.
    Json(JsonTemplate),
}

impl BodyPlan {
    fn variables(&self) -> Vec<&str> {
        match self {
            Self::Text(template) => template.variables().collect(),
            Self::Form(entries) => entries.iter().flat_map(|(_, template)| template.variables()).collect(),
            Self::Json(json) => json.variables(),
        }
    }
}

/// A JSON value with places to fill. A text that is nothing but one argument becomes that argument's value, with its
/// type; an entry whose argument is not given is left out.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonTemplate {
    /// Null, a boolean or a number.
    Fixed(Value),
    Text(Template),
    Array(Vec<JsonTemplate>),
    Object(Vec<(String, JsonTemplate)>),
}

impl JsonTemplate {
    fn variables(&self) -> Vec<&str> {
        match self {
            Self::Fixed(_) => Vec::new(),
            Self::Text(template) => template.variables().collect(),
            Self::Array(entries) => entries.iter().flat_map(Self::variables).collect(),
            Self::Object(entries) => entries.iter().flat_map(|(_, entry)| entry.variables()).collect(),
        }
    }
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionPlan {
    pub way: Way,
    /// From starting it to its list of tools; `None` is the product's default.
    pub connect_timeout: Option<Duration>,
    pub protocol: Protocol,
    /// How tokens are had, if its server asks who we are.
    pub auth: Option<OauthPlan>,
    pub grants: Grants,
}

impl ConnectionPlan {
    /// With nothing said but how it is reached.
    pub fn over(way: Way) -> Self {
        Self { way, connect_timeout: None, protocol: Protocol::Auto, auth: None, grants: Grants::default() }
    }

    fn variables(&self) -> Vec<&str> {
        let (values, named) = match &self.way {
            Way::Stdio { command, environment, .. } => (command.as_slice(), environment),
            Way::Http { url, headers } => (std::slice::from_ref(url), headers),
        };
        let of_client = self.auth.iter().flat_map(|auth| auth.client_id.iter().chain(&auth.client_secret));
        let all = values.iter().chain(named.iter().map(|(_, value)| value)).chain(of_client);
        all.flat_map(SecretRef::variables).collect()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Way {
    /// `cwd` is relative to the directory converse runs in.
    Stdio { command: Vec<SecretRef>, environment: Vec<(String, SecretRef)>, cwd: Option<PathBuf> },
    /// Streamable HTTP.
    Http { url: SecretRef, headers: Vec<(String, SecretRef)> },
}

/// Which era of MCP a server speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Tried as modern first, unless it is known better.
    #[default]
    Auto,
    /// 2026-07-28 and later: `server/discover`.
    Modern,
    /// Up to 2025-11-25: `initialize`.
    Legacy,
}

/// A value that may be secret: written down, or by the names of variables that hold it. Read late, never logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretRef {
    Literal(String),
    Environment(String),
    /// Text with variables in it: `Bearer ${TOKEN}`.
    Template(Vec<Piece>),
}

impl SecretRef {
    /// The names of the variables it is made of.
    pub fn variables(&self) -> Vec<&str> {
        match self {
            Self::Literal(_) => Vec::new(),
            Self::Environment(name) => vec![name],
            Self::Template(pieces) => pieces
                .iter()
                .filter_map(|piece| match piece {
                    Piece::Variable { name, .. } => Some(name.as_str()),
                    Piece::Text(_) => None,
                })
                .collect(),
        }
    }
}

/// As a descriptor would write it, variables by their names; a literal may be a secret.
impl std::fmt::Display for SecretRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Literal(text) => f.write_str(text),
            Self::Environment(name) => write!(f, "env:{name}"),
            Self::Template(pieces) => pieces.iter().try_for_each(|piece| match piece {
                Piece::Text(text) => f.write_str(text),
                Piece::Variable { name, default: None } => write!(f, "${{{name}}}"),
                Piece::Variable { name, default: Some(default) } => write!(f, "${{{name}:-{default}}}"),
            }),
        }
    }
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

impl ToolFilter {
    /// Is a tool of this name kept? A pattern that is none, which has been told of elsewhere, matches nothing.
    pub fn lets_in(&self, invoker: &str) -> bool {
        let any = |globs: &[String]| globs.iter().any(|glob| names(glob, invoker));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
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

impl Effects {
    /// The word for it in descriptors and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Write => "write",
            Self::External => "external",
        }
    }
}

/// The limits and permissions of one invoker, after defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Wall clock of one invocation; at most 600 s.
    pub timeout: Duration,
    /// For MCP: without any progress for this long it is given up, when `timeout` is longer.
    pub idle_timeout: Duration,
    /// Tries after the first; used only where idempotent, or where nothing was sent.
    pub max_retries: u32,
    /// `None` is the default of the product: allow what only computes or reads and is built in, ask for the rest.
    pub permission: Option<Permission>,
    /// `file:line` of the key that says so.
    pub permission_at: Option<Arc<str>>,
    pub effects: Effects,
    pub idempotent: bool,
    pub parallel: bool,
    /// Bytes of a result that reach the model.
    pub result_limit: usize,
    pub on_failure: OnFailure,
    /// Calls in one turn of the user.
    pub max_invocations: Option<u32>,
    /// How long a success answers for equal arguments; `None`: every call runs.
    pub cache: Option<Duration>,
    /// For commands.
    pub sandbox: SandboxLevel,
    /// Of a call.
    pub cost: Option<Cost>,
}

/// How much a command relies on its sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SandboxLevel {
    #[default]
    Off,
    /// As much of it as this machine has.
    BestEffort,
    /// It does not run without all of it.
    Require,
}

impl SandboxLevel {
    /// The word for it in descriptors.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::BestEffort => "best-effort",
            Self::Require => "require",
        }
    }
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
            idle_timeout: Duration::from_secs(60),
            max_retries: 0,
            permission: None,
            permission_at: None,
            effects: Effects::External,
            idempotent: false,
            parallel: true,
            result_limit: 64 * 1024,
            on_failure: OnFailure::Report,
            max_invocations: None,
            cache: None,
            sandbox: SandboxLevel::Off,
            cost: None,
        }
    }
}
