//! `converse mcp probe`.

use std::ffi::OsString;

use clap::{Args, Subcommand, ValueEnum};

use super::examples;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Mcp {
    /// Connect to an MCP server and report its protocol, tools and problems
    #[command(after_help = examples::PROBE)]
    Probe(ProbeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// URL of the server (for a stdio server: `-- COMMAND`)
    #[arg(value_name = "URL", required_unless_present = "command", conflicts_with = "command")]
    pub(crate) url: Option<String>,

    /// Protocol revision to use: auto, modern, legacy, or a date such as 2025-11-25
    #[arg(long, value_name = "REVISION", default_value = "auto")]
    pub(crate) protocol: String,

    /// Send this header with each request; `${VAR}` is replaced by the variable (repeatable)
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,

    /// Call a tool with a JSON object of arguments (repeatable); exit 10 if a call fails
    #[arg(long, num_args = 2, value_names = ["NAME", "JSON"])]
    pub(crate) call: Vec<String>,

    /// Call every tool with minimal arguments. The calls are real. A refused call is accepted; a call without a reply
    /// fails (exit 10)
    #[arg(long, conflicts_with = "call")]
    pub(crate) call_all: bool,

    /// How to answer the server's questions (elicitation)
    #[arg(long, value_enum, default_value_t = Elicit::Decline)]
    pub(crate) elicit: Elicit,

    /// How to log in if the server requires OAuth
    #[arg(long, value_enum, default_value_t = OauthFlow::Off)]
    pub(crate) oauth: OauthFlow,

    /// OAuth client id, for a client registered in advance
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,

    /// Environment variable with the client secret
    #[arg(long, value_name = "VAR", requires = "client_id")]
    pub(crate) client_secret_env: Option<String>,

    /// URL of the OAuth client metadata document
    #[arg(long, value_name = "URL")]
    pub(crate) client_metadata_url: Option<String>,

    /// Timeout of the connection and of each call
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = super::talk::seconds)]
    pub(crate) timeout: f64,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Command that starts a stdio server
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Elicit {
    /// Decline
    Decline,
    /// Accept with the form's default values; decline if a value without a default is required
    Defaults,
    /// Ask in the terminal
    Ask,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OauthFlow {
    /// Do not log in
    Off,
    /// Log in with the browser
    Browser,
    /// Follow the redirects without a browser, for test servers
    Headless,
}
