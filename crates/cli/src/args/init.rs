//! `converse ensembles init`.

use clap::{Args, ValueHint};

use super::foreign::Destination;

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
