//! `converse ensembles …`.

use clap::Subcommand;

use super::{CheckArgs, ExportArgs, ImportArgs, InitArgs, LockArgs, Places, Rules, SchemaArgs, TestArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum Ensembles {
    /// Every ensemble that is found, with where it comes from; starts nothing
    List {
        #[command(flatten)]
        places: Places,
        /// With the tools of each, those of servers as they were when last seen
        #[arg(long)]
        tools: bool,
        /// As a JSON array
        #[arg(long)]
        json: bool,
    },
    /// One ensemble: its tools, their arguments and permissions; starts nothing unless told to
    Show {
        name: String,
        /// Connect its server, to show the tools that it has
        #[arg(long)]
        connect: bool,
        #[command(flatten)]
        places: Places,
        #[command(flatten)]
        rules: Rules,
        /// As a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Read all descriptors and report every problem; exit 3 if there is an error
    Check(CheckArgs),
    /// Pin what every tool is: write `ensembles.lock`, or show what has changed since and accept it
    Lock(LockArgs),
    /// Run the tests that descriptors hold; no model is needed
    Test(TestArgs),
    /// Print the JSON Schema of descriptors, for editors
    Schema(SchemaArgs),
    /// Take over the MCP servers that another program is configured with
    Import(ImportArgs),
    /// Hand the MCP servers out as `mcpServers`, for other programs
    Export(ExportArgs),
    /// Write a new descriptor, from flags or from questions on the terminal
    Init(InitArgs),
    /// Show in full what the project's ensembles declare, and trust exactly that; starts nothing
    Trust {
        /// Trust without a question, if what is declared now has this SHA-256
        #[arg(long, value_name = "SHA256", conflicts_with = "revoke")]
        hash: Option<String>,
        /// Trust this project no longer
        #[arg(long)]
        revoke: bool,
        /// As a JSON object; nobody is asked
        #[arg(long)]
        json: bool,
    },
    /// Grant access to a server with `auth = "oauth"`: opens the browser, keeps the token
    Login {
        name: String,
        #[command(flatten)]
        places: Places,
        /// Print the address instead of opening it, and read the one that the browser came back to from stdin
        #[arg(long)]
        no_browser: bool,
        /// A scope to ask for beside those that are granted (repeatable)
        #[arg(long, value_name = "SCOPE")]
        scope: Vec<String>,
    },
    /// Forget the token of a server
    Logout {
        name: String,
        #[command(flatten)]
        places: Places,
    },
    /// Call one tool without a model
    Call {
        /// ensemble.invoker
        tool: String,
        /// key=value words, or one JSON object
        arguments: Vec<String>,
        #[command(flatten)]
        places: Places,
        #[command(flatten)]
        rules: Rules,
        /// The whole result as a JSON object
        #[arg(long)]
        json: bool,
    },
}
