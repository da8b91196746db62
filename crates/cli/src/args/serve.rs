//! `converse serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Places, Rules};

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Serve streamable HTTP at this address instead of stdin and stdout; a port of 0 is any free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) http: Option<SocketAddr>,

    /// Serve only this ensemble (repeatable)
    #[arg(short, long, value_name = "NAME")]
    pub(crate) ensemble: Vec<String>,

    #[command(flatten)]
    pub(crate) places: Places,

    #[command(flatten)]
    pub(crate) rules: Rules,

    /// Show tools by their own names, without `ensemble__`; two of the same name are an error
    #[arg(long)]
    pub(crate) bare_names: bool,

    /// Calls that may run at once; more wait
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) max_calls: u32,

    /// How long calls that run may go on once it is told to end
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = super::talk::seconds)]
    pub(crate) drain: f64,

    #[command(flatten)]
    pub(crate) front: FrontArgs,
}

/// Who may come in over HTTP.
#[derive(Debug, Args)]
pub(crate) struct FrontArgs {
    /// A file with the bearer tokens that are let in, one a line; CONVERSE_SERVE_TOKEN holds a single one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "http")]
    pub(crate) token_file: Option<PathBuf>,

    /// Let in whoever has a token (JWT) of this authorization server
    #[arg(long, value_name = "URL", requires_all = ["http", "oauth_resource"])]
    pub(crate) oauth_issuer: Option<String>,

    /// The address that clients know this gateway by: the audience of their tokens
    #[arg(long, value_name = "URL", requires = "oauth_issuer")]
    pub(crate) oauth_resource: Option<String>,

    /// A scope that a token must have (repeatable)
    #[arg(long, value_name = "SCOPE", requires = "oauth_issuer")]
    pub(crate) oauth_scope: Vec<String>,

    /// Let in everybody although the address is not of this machine alone
    #[arg(long, requires = "http")]
    pub(crate) no_auth: bool,

    /// A name that clients may call this host by; loopback names are known (repeatable)
    #[arg(long, value_name = "HOST[:PORT]", requires = "http")]
    pub(crate) allowed_host: Vec<String>,

    /// A web page's origin that may call; none may without it (repeatable)
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allowed_origin: Vec<String>,

    /// Serve /metrics and /healthz at this address [default: with the tools, under the same access]
    #[arg(long, value_name = "ADDRESS:PORT", requires = "http")]
    pub(crate) metrics: Option<SocketAddr>,
}
