//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, ValueHint};
use converse_host::options::{RuleOptions, TurnOptions};

/// Carry out the steps of conversations for a Restate server
///
/// Register the address at the server once: `restate deployments register http://127.0.0.1:9080`. Then
/// `converse batch --runner restate://127.0.0.1:8080` sends conversations. All workers need the same settings, ensembles and
/// sessions.
#[derive(Debug, Parser)]
#[command(name = "converse-worker", version, max_term_width = 100)]
pub(crate) struct Args {
    /// Address for the Restate server; without --identity-key, a loopback address
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9080")]
    pub(crate) listen: SocketAddr,

    /// Accept only requests that are signed with this key of a Restate server (repeatable)
    #[arg(long, value_name = "publickeyv1_…")]
    pub(crate) identity_key: Vec<String>,

    /// Conversations to run at once; others wait
    #[arg(short, long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: u16,

    /// Keep sessions and the audit log in this PostgreSQL database, which several machines can share
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,

    /// Model to use, as provider/model
    #[arg(short, long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,

    /// Model to use if the first one fails (repeatable, in order)
    #[arg(long, value_name = "PROVIDER/MODEL")]
    fallback: Vec<String>,

    /// Instructions for the model; @FILE reads them from a file
    #[arg(short, long, value_name = "TEXT|@FILE")]
    system: Option<String>,

    /// Use a preset from the settings
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,

    /// Use only this ensemble (repeatable)
    #[arg(short, long, value_name = "NAME")]
    ensemble: Vec<String>,

    /// Directory of descriptors, trusted for this run (repeatable)
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    ensembles: Vec<PathBuf>,

    /// Run tools that match this pattern without asking (repeatable)
    #[arg(long, value_name = "PATTERN")]
    allow: Vec<String>,

    /// Ask before running tools that match this pattern (repeatable)
    #[arg(long, value_name = "PATTERN")]
    ask: Vec<String>,

    /// Never run tools that match this pattern (repeatable)
    #[arg(long, value_name = "PATTERN")]
    deny: Vec<String>,

    /// Show more: -v what happens, -vv details
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

impl Args {
    pub(crate) fn options(&self) -> TurnOptions {
        let rules = RuleOptions { allow: self.allow.clone(), ask: self.ask.clone(), deny: self.deny.clone() };
        TurnOptions {
            model: self.model.clone().into_iter().collect(),
            fallback: self.fallback.clone(),
            system: self.system.clone(),
            preset: self.preset.clone(),
            ensemble: self.ensemble.clone(),
            directories: self.ensembles.clone(),
            rules,
            ..TurnOptions::default()
        }
    }
}
