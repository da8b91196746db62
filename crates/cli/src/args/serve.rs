//! `converse serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Places, Rules};

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Serve streamable HTTP at this address instead of stdio; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,

    /// Serve only this ensemble (repeatable)
    #[arg(short, long, value_name = "NAME")]
    pub(crate) ensemble: Vec<String>,

    /// Serve only this view of the settings, over stdio
    #[arg(long, value_name = "NAME", conflicts_with = "http")]
    pub(crate) view: Option<String>,

    /// Serve the project in this directory instead of the current one; other relative paths begin there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) project: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) places: Places,

    #[command(flatten)]
    pub(crate) rules: Rules,

    /// Name tools without the prefix `ensemble__`; duplicate names are an error
    #[arg(long)]
    pub(crate) bare_names: bool,

    /// Maximum number of concurrent calls; further calls wait
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) max_calls: u32,

    /// Seconds that running calls may take to end after a shutdown signal
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = super::talk::seconds)]
    pub(crate) drain: f64,

    #[command(flatten)]
    pub(crate) routes: RouteArgs,

    #[command(flatten)]
    pub(crate) front: FrontArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WebArgs {
    /// Port on this machine [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,

    /// Print the address and open no browser
    #[arg(long)]
    pub(crate) no_open: bool,

    /// Use only this ensemble (repeatable)
    #[arg(short, long, value_name = "NAME")]
    ensemble: Vec<String>,

    #[command(flatten)]
    places: Places,

    #[command(flatten)]
    rules: Rules,
}

impl WebArgs {
    /// Returns the options of `serve` that it stands for: everything, for one person on this machine.
    pub(crate) fn serve(&self) -> ServeArgs {
        let Self { port, ensemble, places, rules, .. } = self;
        let (ensemble, places, rules) = (ensemble.clone(), places.clone(), rules.clone());
        ServeArgs {
            http: Some(SocketAddr::from(([127, 0, 0, 1], *port))),
            ensemble,
            view: None,
            project: None,
            places,
            rules,
            bare_names: false,
            max_calls: 512,
            drain: 2.0,
            routes: RouteArgs {
                openai: true,
                api: true,
                panel: true,
                max_turns: 1024,
                cancel_on_disconnect: false,
            },
            front: FrontArgs {
                token_file: None,
                oauth_issuer: None,
                oauth_resource: None,
                oauth_scope: Vec::new(),
                no_auth: false,
                allowed_host: Vec::new(),
                allowed_origin: Vec::new(),
                no_sessions: false,
                metrics: None,
            },
        }
    }
}

// What is served over HTTP beside MCP.
#[derive(Debug, Args)]
pub(crate) struct RouteArgs {
    /// Serve models as OpenAI's API does, at /v1 (models, chat completions, responses)
    #[arg(long, requires = "http")]
    pub(crate) openai: bool,

    /// Serve sessions, turns and approvals at /api
    #[arg(long, requires = "http")]
    pub(crate) api: bool,

    /// Serve the web panel at / (implies --api)
    #[arg(long, requires = "http")]
    pub(crate) panel: bool,

    /// Maximum number of concurrent turns; further ones are refused with 429
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65_536), requires = "http")]
    pub(crate) max_turns: u32,

    /// End a turn when its client disconnects [default: the turn goes on]
    #[arg(long, requires = "http")]
    pub(crate) cancel_on_disconnect: bool,
}

// Access over HTTP.
#[derive(Debug, Args)]
pub(crate) struct FrontArgs {
    /// File with accepted bearer tokens, one per line (CONVERSE_SERVE_TOKEN: a single token)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "http")]
    pub(crate) token_file: Option<PathBuf>,

    /// Accept access tokens (JWT) of this authorization server
    #[arg(long, value_name = "URL", requires_all = ["http", "oauth_resource"])]
    pub(crate) oauth_issuer: Option<String>,

    /// URL of this gateway, as in the audience of the tokens
    #[arg(long, value_name = "URL", requires = "oauth_issuer")]
    pub(crate) oauth_resource: Option<String>,

    /// Require this scope in each token (repeatable)
    #[arg(long, value_name = "SCOPE", requires = "oauth_issuer")]
    pub(crate) oauth_scope: Vec<String>,

    /// Accept requests without a token on an address that other machines can reach
    #[arg(long, requires = "http")]
    pub(crate) no_auth: bool,

    /// Accept this Host header in addition to loopback names (repeatable)
    #[arg(long, value_name = "HOST[:PORT]", requires = "http")]
    pub(crate) allowed_host: Vec<String>,

    /// Accept requests of web pages with this origin (repeatable) [default: none]
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allowed_origin: Vec<String>,

    /// Keep no MCP sessions for clients older than 2026-07-28: for replicas behind a balancer that is not sticky
    #[arg(long, requires = "http")]
    pub(crate) no_sessions: bool,

    /// Serve /metrics and /healthz at this address [default: beside the tools, with the same authentication]
    #[arg(long, value_name = "ADDRESS:PORT", requires = "http", value_parser = address)]
    pub(crate) metrics: Option<SocketAddr>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.rsplit(':').next().and_then(|port| port.parse::<u16>().ok()).unwrap_or(8137);
    text.parse().map_err(|_| format!("expected an IP address and a port, such as `127.0.0.1:{port}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_corrected() {
        assert_eq!(address("[::1]:1").unwrap().port(), 1);
        for (text, hint) in
            [("9000", "127.0.0.1:9000"), ("localhost:80", "127.0.0.1:80"), ("x", "127.0.0.1:8137")]
        {
            let why = address(text).unwrap_err();
            assert!(why.ends_with(&format!("`{hint}`")), "{text}: {why}");
        }
    }
}
