//! `converse mcp probe`.

use std::ffi::OsString;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    /// Look at one MCP server: what it speaks, offers, and how well
    Probe(ProbeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// The server's address; a command instead comes after `--`
    #[arg(value_name = "URL", required_unless_present = "command", conflicts_with = "command")]
    pub(crate) url: Option<String>,

    /// Which revision it is spoken to in: auto, modern, legacy, or a date such as 2025-11-25, which chooses its era
    #[arg(long, value_name = "REVISION", default_value = "auto")]
    pub(crate) protocol: String,

    /// A header for each request; `${VAR}` is a variable (repeatable)
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,

    /// Call this tool with this JSON object (repeatable); exit 10 if a call does not succeed
    #[arg(long, num_args = 2, value_names = ["NAME", "JSON"])]
    pub(crate) call: Vec<String>,

    /// Call every tool with the least arguments that its schema takes. They run for real; that one refuses them is no
    /// failure, that one falls silent is (exit 10)
    #[arg(long, conflicts_with = "call")]
    pub(crate) call_all: bool,

    /// What its questions are answered with
    #[arg(long, value_enum, default_value_t = Elicit::Decline)]
    pub(crate) elicit: Elicit,

    /// How access is granted if it asks who you are
    #[arg(long, value_enum, default_value_t = OauthFlow::Off)]
    pub(crate) oauth: OauthFlow,

    /// Of a client that was registered by hand, for --oauth
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,

    /// The variable that holds its secret
    #[arg(long, value_name = "VAR", requires = "client_id")]
    pub(crate) client_secret_env: Option<String>,

    /// The document that describes this client, for --oauth
    #[arg(long, value_name = "URL")]
    pub(crate) client_metadata_url: Option<String>,

    /// How long it may take until it is there, and each call
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = super::talk::seconds)]
    pub(crate) timeout: f64,

    /// As a JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// The command that starts a stdio server
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Elicit {
    /// Declined
    Decline,
    /// Accepted, with the defaults of the form; declined where it wants more
    Defaults,
    /// You are asked, on the terminal
    Ask,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OauthFlow {
    /// Access is not asked for
    Off,
    /// In the browser
    Browser,
    /// Without a person: the page must send back by itself. For test servers
    Headless,
}
