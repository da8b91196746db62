//! Plans: ensembles as the runtime uses them. Durations are `Duration`, defaults are filled in, secrets are named.
//!
//! **Invariant:** a plan has no `Deserialize` and no behaviour. A secret is a [`SecretRef`], never a value. Schemas stay
//! JSON: `check` compiles all of them, a run compiles one at the first call of its tool.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use converse_canister::{Cost, EnsembleName, InvokerName};
use serde_json::{Map, Value};

use crate::grants::Grants;
use crate::oauth::OauthPlan;
use crate::policy::{EFFECTS, SANDBOX_LEVELS, word_for};
use crate::rule::{Permission, names};
use crate::style::Style;
use crate::template::Template;
use crate::tool_test::TestPlan;

/// The file that a plan comes from, for messages and for trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub scope: Scope,
    /// The path as shown to people; `builtin:essentials.toml` for a shipped file.
    pub file: String,
    /// Line of the `[ensemble]` or `[invoker]`, from 1.
    pub line: usize,
}

/// Writes `file:line`.
impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The owner of a file, farthest first: a nearer ensemble replaces a farther one with the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Embedded in the binary.
    Shipped,
    User,
    Project,
    /// `--ensembles DIR`: typed by the user, so trusted for this run.
    Explicit,
}

#[derive(Debug, Clone, PartialEq)]
pub struct EnsemblePlan {
    pub name: EnsembleName,
    pub description: String,
    pub enabled: bool,
    /// The run stops (exit 10) if the ensemble cannot connect.
    pub required: bool,
    pub lazy: bool,
    /// `None`: tools are shown as `ensemble__invoker`. `Some("")`: bare names. `Some("x")`: `x__invoker`.
    pub prefix: Option<String>,
    pub connection: Option<ConnectionPlan>,
    /// `[configuration]` as JSON: settings that are passed to the ensemble's invokers.
    pub configuration: Map<String, Value>,
    pub defaults: Policy,
    pub invokers: Vec<InvokerPlan>,
    pub filter: ToolFilter,
    /// `[tools.NAME]` for tools that the server will announce, over `defaults`.
    pub tools: BTreeMap<InvokerName, Policy>,
    /// `[[tools.NAME.tests]]`.
    pub tests: BTreeMap<InvokerName, Vec<TestPlan>>,
    /// False for an untrusted project's ensemble: it must not start programs or contact servers.
    pub trusted: bool,
    /// What the user trusted of the project's files that the ensemble's commands name: paths and SHA-256 digests. Compared
    /// before each start of a process. Empty outside of projects.
    pub named_files: Vec<(String, String)>,
    pub origin: Origin,
}

impl EnsemblePlan {
    /// Returns an ensemble with only a name: enabled, trusted, default limits, no tools.
    pub fn new(name: EnsembleName, origin: Origin) -> Self {
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
            named_files: Vec::new(),
            origin,
        }
    }

    /// Returns the names of all variables that it refers to, possibly with duplicates.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let of_connection = self.connection.iter().flat_map(ConnectionPlan::variables);
        of_connection.chain(self.invokers.iter().flat_map(|invoker| invoker.kind.variables()))
    }

    /// Returns whether using the ensemble starts a program, contacts a server, or opens files outside of the workspace.
    pub fn reaches_out(&self) -> bool {
        self.connection.is_some()
            || self.invokers.iter().any(|invoker| invoker.kind.reaches_out())
            || self.outer_root().is_some()
    }

    /// Returns `root` of `[configuration]` if it names a place by its whole path, and a built-in tool may open it. A
    /// relative root stays below the workspace.
    pub fn outer_root(&self) -> Option<&str> {
        let root = self.configuration.get("root")?.as_str()?;
        let is_builtin = |invoker: &InvokerPlan| matches!(invoker.kind, InvokerKind::Builtin(_));
        (Path::new(root).has_root() && self.invokers.iter().any(is_builtin)).then_some(root)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct InvokerPlan {
    pub name: InvokerName,
    pub description: String,
    /// JSON Schema of the arguments; `None` only for tools that are not discovered yet.
    pub arguments: Option<Arc<Value>>,
    pub kind: InvokerKind,
    pub policy: Policy,
    /// `[[tests]]`.
    pub tests: Vec<TestPlan>,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq)]
pub enum InvokerKind {
    /// A tool in the binary, by its name there.
    Builtin(String),
    /// Shared by the plan and the tool that it becomes.
    Command(Arc<CommandPlan>),
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
                let body = plan.body.iter().flat_map(BodyPlan::templates).flat_map(Template::variables);
                named.chain([&plan.url]).flat_map(Template::variables).chain(body).collect()
            }
        }
    }

    /// Returns whether a call starts a program or contacts a server that the descriptor names.
    pub fn reaches_out(&self) -> bool {
        !matches!(self, Self::Builtin(_))
    }
}

/// A program as a tool. There is no shell: each element is one argument of the program, whatever it contains.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandPlan {
    /// At least one part. The first is the program and contains no argument of the call.
    pub argv: Vec<ArgvPart>,
    pub environment: Vec<(String, SecretRef)>,
    /// Relative to the working directory of converse.
    pub cwd: Option<PathBuf>,
    /// Standard input; empty if `None`.
    pub stdin: Option<Template>,
    /// Additional permissions in the sandbox, if the command has one.
    pub sandbox_access: SandboxAccess,
}

/// What a sandbox allows beyond what every program needs (its libraries, a temporary directory of its own). Paths are
/// relative to the working directory of converse.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxAccess {
    /// Files and directories that it may read, in addition to its working directory.
    pub reads: Vec<PathBuf>,
    /// Files and directories that it may change.
    pub writes: Vec<PathBuf>,
    /// It may open connections.
    pub network: bool,
}

impl CommandPlan {
    /// Returns all texts with placeholders: the words of the command line, and stdin.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        self.argv.iter().flat_map(ArgvPart::templates).chain(&self.stdin)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum ArgvPart {
    /// Left out if an argument that it names is not given. If it is a single argument whose value is an array, each
    /// entry becomes an element.
    One(Template),
    /// Left out as a whole if an argument that it names is not given or is an empty array: a flag and its value. Arrays
    /// become elements as above.
    Group(Vec<Template>),
}

impl ArgvPart {
    pub fn templates(&self) -> &[Template] {
        match self {
            Self::One(template) => std::slice::from_ref(template),
            Self::Group(templates) => templates,
        }
    }
}

/// An HTTP request as a tool. Arguments never choose the scheme or the host.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestPlan {
    /// Upper case: `GET`, `POST`, `PUT`, `PATCH`, `DELETE`, `HEAD`.
    pub method: String,
    pub url: Template,
    /// Appended to the URL; an entry is left out if its argument is not given.
    pub query: Vec<(String, Template)>,
    pub headers: Vec<(String, Template)>,
    /// How lists and objects are written, by the names of arguments. An argument without a style is written as JSON.
    pub styles: Vec<(String, Style)>,
    pub body: Option<BodyPlan>,
    /// JSON pointer to the part of a JSON response that is the result.
    pub result: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum BodyPlan {
    /// Sent as it is: filled-in values are not encoded.
    Text(Template),
    /// Sent as `application/x-www-form-urlencoded` with encoded values; an entry is left out if its argument is not given.
    Form(Vec<(String, Template)>),
    /// Sent as `application/json`.
    Json(JsonTemplate),
    /// Sent as `multipart/form-data`; a part is left out if its argument is not given.
    Multipart(Vec<PartPlan>),
    /// The content of the file at this path.
    File(Template),
}

/// One part of a multipart body.
#[derive(Debug, Clone, PartialEq)]
pub struct PartPlan {
    pub name: String,
    /// The content, or the path of a file with the content.
    pub value: Template,
    pub is_file: bool,
    /// The `Content-Type` of the part.
    pub media_type: Option<String>,
}

impl BodyPlan {
    /// Returns all texts with placeholders.
    pub fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Text(template) | Self::File(template) => vec![template],
            Self::Form(entries) => entries.iter().map(|(_, template)| template).collect(),
            Self::Multipart(parts) => parts.iter().map(|part| &part.value).collect(),
            Self::Json(json) => json.templates(),
        }
    }

    /// Returns the path of the file that is sent.
    pub fn file(&self) -> Option<&Template> {
        match self {
            Self::File(path) => Some(path),
            Self::Multipart(parts) => parts.iter().find(|part| part.is_file).map(|part| &part.value),
            _ => None,
        }
    }
}

/// A JSON value with placeholders. A text that is a single argument becomes that argument's value with its type; an entry
/// is left out if its argument is not given.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonTemplate {
    /// Null, a boolean or a number.
    Fixed(Value),
    Text(Template),
    Array(Vec<JsonTemplate>),
    Object(Vec<(String, JsonTemplate)>),
}

impl JsonTemplate {
    fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Fixed(_) => Vec::new(),
            Self::Text(template) => vec![template],
            Self::Array(entries) => entries.iter().flat_map(Self::templates).collect(),
            Self::Object(entries) => entries.iter().flat_map(|(_, entry)| entry.templates()).collect(),
        }
    }
}

/// How to reach a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionPlan {
    pub transport: TransportPlan,
    /// Time from starting the server to its list of tools; `None` for the default.
    pub connect_timeout: Option<Duration>,
    pub protocol: Protocol,
    /// How to get tokens, if the server requires authentication.
    pub auth: Option<OauthPlan>,
    pub grants: Grants,
}

impl ConnectionPlan {
    /// Returns a connection with defaults for everything else.
    pub fn new(transport: TransportPlan) -> Self {
        Self {
            transport,
            connect_timeout: None,
            protocol: Protocol::Auto,
            auth: None,
            grants: Grants::default(),
        }
    }

    /// Returns whether the server is reached over a network.
    pub fn is_remote(&self) -> bool {
        matches!(self.transport, TransportPlan::Http { .. })
    }

    fn variables(&self) -> Vec<&str> {
        let (values, named) = match &self.transport {
            TransportPlan::Stdio { command, environment, .. } => (command.as_slice(), environment),
            TransportPlan::Http { url, headers } => (std::slice::from_ref(url), headers),
        };
        let of_client = self.auth.iter().flat_map(|auth| auth.client_id.iter().chain(&auth.client_secret));
        let all = values.iter().chain(named.iter().map(|(_, value)| value)).chain(of_client);
        all.flat_map(SecretRef::variables).collect()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum TransportPlan {
    /// `cwd` is relative to the working directory of converse.
    Stdio { command: Vec<SecretRef>, environment: Vec<(String, SecretRef)>, cwd: Option<PathBuf> },
    /// Streamable HTTP.
    Http { url: SecretRef, headers: Vec<(String, SecretRef)> },
}

/// The era of MCP that a server speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Try modern first, unless the era is known from before.
    #[default]
    Auto,
    /// 2026-07-28 and later: `server/discover`.
    Modern,
    /// Up to 2025-11-25: `initialize`.
    Legacy,
}

/// A value that may be secret: literal text, or the names of variables. Read late, never logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretRef {
    Literal(String),
    Environment(String),
    /// Text with variables in it: `Bearer ${TOKEN}`.
    Template(Vec<Piece>),
}

impl SecretRef {
    /// Returns the names of the variables that it refers to.
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

/// Writes the reference as in a descriptor. A literal may be a secret.
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

/// Which discovered tools to use: those that match any of `include` (all, if empty) and none of `exclude`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    pub include: Vec<String>,
    pub exclude: Vec<String>,
}

impl ToolFilter {
    /// Returns whether a tool of this name is used. Invalid patterns are reported elsewhere and match nothing.
    pub fn accepts(&self, invoker: &str) -> bool {
        let any = |globs: &[String]| globs.iter().any(|glob| names(glob, invoker));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
}

/// What a tool does to the world, weakest first. A descriptor may declare stronger effects than its built-in has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effects {
    /// Only computes.
    None,
    Read,
    Write,
    External,
}

impl Effects {
    /// Returns the name in descriptors and settings.
    pub fn as_str(self) -> &'static str {
        word_for(&EFFECTS, self)
    }
}

/// The limits and permissions of one invoker, after defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Wall-clock time of one call, at most 600 s.
    pub timeout: Duration,
    /// For MCP: longest time without progress, if shorter than `timeout`.
    pub idle_timeout: Duration,
    /// Retries after the first try, only if idempotent or if nothing was sent.
    pub max_retries: u32,
    /// `None` is the default: allow built-ins that only compute or read, ask for the rest.
    pub permission: Option<Permission>,
    /// `file:line` of the key.
    pub permission_at: Option<Arc<str>>,
    pub effects: Effects,
    pub idempotent: bool,
    pub parallel: bool,
    /// Limit on the bytes of a result that reach the model.
    pub result_limit: usize,
    pub on_failure: OnFailure,
    /// Limit on the calls in one turn.
    pub max_invocations: Option<u32>,
    /// How long a successful result answers equal calls; `None`: every call runs.
    pub cache: Option<Duration>,
    /// For commands.
    pub sandbox: SandboxLevel,
    /// Cost of one call.
    pub cost: Option<Cost>,
}

/// How much a command relies on its sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SandboxLevel {
    #[default]
    Off,
    /// Use what this machine supports.
    BestEffort,
    /// Do not run without a complete sandbox.
    Require,
}

impl SandboxLevel {
    /// Returns the name in descriptors.
    pub fn as_str(self) -> &'static str {
        word_for(&SANDBOX_LEVELS, self)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// Report the failure to the model and continue.
    Report,
    /// End the turn.
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
