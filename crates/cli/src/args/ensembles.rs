//! `converse ensembles …`.

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::{CheckArgs, Destination, ExportArgs, ImportArgs, Places, Rules, examples};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Ensembles {
    /// List the ensembles and where they are declared (starts no server)
    #[command(after_help = examples::LIST)]
    List {
        #[command(flatten)]
        places: Places,
        /// Also list the tools (for servers: those seen at the last connection)
        #[arg(long)]
        tools: bool,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show the tools of an ensemble, their arguments and permissions
    #[command(after_help = examples::SHOW)]
    Show {
        /// Name of the ensemble
        name: String,
        /// Connect to the server to list its tools
        #[arg(long)]
        connect: bool,
        #[command(flatten)]
        places: Places,
        #[command(flatten)]
        rules: Rules,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check the descriptors and report every problem; exit 3 if there is an error
    #[command(after_help = examples::CHECK)]
    Check(CheckArgs),
    /// Pin every tool in `ensembles.lock`, or show what changed and accept it
    #[command(after_help = examples::LOCK)]
    Lock(LockArgs),
    /// Run the tests in the descriptors (needs no model)
    #[command(after_help = examples::TEST)]
    Test(TestArgs),
    /// Print the JSON Schema of descriptors, for editors
    #[command(after_help = examples::SCHEMA)]
    Schema {
        /// Which files the schema describes
        #[arg(value_enum, default_value_t = SchemaOf::Ensemble)]
        of: SchemaOf,
    },
    /// Import MCP servers from another client's configuration
    #[command(after_help = examples::IMPORT)]
    Import(ImportArgs),
    /// Export MCP servers as `mcpServers` JSON for other clients
    #[command(after_help = examples::EXPORT)]
    Export(ExportArgs),
    /// Create a descriptor from flags or interactively
    #[command(after_help = examples::INIT)]
    Init(InitArgs),
    /// Review what the project's ensembles declare, and trust it
    #[command(after_help = examples::TRUST)]
    Trust {
        /// Trust without asking if the declarations have this SHA-256
        #[arg(long, value_name = "SHA256", conflicts_with = "revoke")]
        hash: Option<String>,
        /// Stop trusting this project
        #[arg(long)]
        revoke: bool,
        /// Print a JSON object and do not ask
        #[arg(long)]
        json: bool,
    },
    /// Log in to a server that uses OAuth
    #[command(after_help = examples::LOGIN)]
    Login {
        /// Name of the ensemble
        name: String,
        #[command(flatten)]
        places: Places,
        /// Print the login URL, and read the URL the browser was redirected to from stdin
        #[arg(long)]
        no_browser: bool,
        /// Request this scope in addition to those already granted (repeatable)
        #[arg(long, value_name = "SCOPE")]
        scope: Vec<String>,
    },
    /// Delete the stored token of a server
    #[command(after_help = examples::LOGOUT)]
    Logout {
        /// Name of the ensemble
        name: String,
        #[command(flatten)]
        places: Places,
    },
    /// Call a tool without a model
    #[command(after_help = examples::CALL)]
    Call {
        /// The tool, as ensemble.invoker
        tool: String,
        /// Arguments as key=value, or one JSON object
        arguments: Vec<String>,
        #[command(flatten)]
        places: Places,
        #[command(flatten)]
        rules: Rules,
        /// Print the complete result as a JSON object
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct LockArgs {
    /// Lock only these ensembles, even if they are disabled
    #[arg(value_name = "ENSEMBLE")]
    pub(crate) names: Vec<String>,
    /// Accept all changes, not only new ensembles
    #[arg(long)]
    pub(crate) accept: bool,
    #[command(flatten)]
    pub(crate) places: Places,
    /// Print a JSON object and do not ask
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Test only these, as ensemble or ensemble.invoker [default: all your own]
    pub(crate) names: Vec<String>,
    /// Also call each read-only tool with valid and invalid arguments generated from its schema
    #[arg(long)]
    pub(crate) synth: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = TestFormat::Text, conflicts_with = "json")]
    pub(crate) format: TestFormat,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) rules: Rules,
    /// Print JSON (the same as `--format json`)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestFormat {
    Text,
    Json,
    /// JUnit XML, for test reports
    Junit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// `ensembles/*.toml`
    Ensemble,
    /// Files named by `source`
    Invoker,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Name of the new ensemble
    pub(crate) name: Option<String>,
    /// Use an MCP server started by a command: `--server -- npx -y some-server@1.2.3`
    #[arg(long, group = "kind")]
    pub(crate) server: bool,
    /// Use the MCP server at this URL
    #[arg(long, value_name = "URL", group = "kind", value_hint = ValueHint::Url)]
    pub(crate) url: Option<String>,
    /// Use a command as a tool, with `{name}` for each argument: `--command -- wc -w -- {file}`
    #[arg(long, group = "kind")]
    pub(crate) command: bool,
    /// Use an HTTP request as a tool, with `{name}` for each argument
    #[arg(long, value_name = "URL", group = "kind", value_hint = ValueHint::Url)]
    pub(crate) http: Option<String>,
    /// Method of the HTTP request
    #[arg(long, value_name = "METHOD", requires = "http", default_value = "GET")]
    pub(crate) method: String,
    /// Send this header; use variables for secrets: 'Authorization: Bearer ${TOKEN}' (repeatable)
    #[arg(long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// Description of the ensemble, one sentence
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// The command and its arguments
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) words: Vec<String>,
}
