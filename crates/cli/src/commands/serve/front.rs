//! `converse serve --http`: access, limits and listening.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use converse_server::{
    Access, Front, Gateway, Hosts, HttpError, HttpListener, HttpOptions, Issuer, KeyFetcher, Limits, PATH,
    Tokens, listen,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::Request;
use http::header::ACCEPT;
use rustix::process::{Resource, getrlimit};

use super::Serving;
use super::tokens::TokenList;
use crate::args::FrontArgs;
use converse_host::client::{ClientPlan, Clients, Redirects};
use converse_host::failure::{Failure, Kind};
use converse_host::fetch::exchange;
use converse_host::world::World;
use converse_terminal::consent::Browser;

/// The time for the log lines of calls that were cut off.
const LAST_LINES: Duration = Duration::from_secs(3);

/// Open files that are not connections: the audit log, servers, running commands.
const RESERVE: u64 = 256;
/// The minimum number of connections.
const FEWEST: u64 = 16;

/// The time for a request of issuer keys.
const KEYS_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer with issuer keys, in bytes.
const MAX_KEYS: usize = 256 * 1024;

/// Which clients have access. Read before any server is started.
pub(super) struct ServerAccess {
    access: Access,
    list: Option<TokenList>,
    /// The token that was made for this run.
    token: Option<String>,
}

impl ServerAccess {
    pub(super) fn read(args: &FrontArgs, address: SocketAddr, world: &World) -> Result<Self, Failure> {
        let list = TokenList::read(args.token_file.as_deref(), world)?;
        let access = match &list {
            Some(list) => Access::open().with_tokens(Arc::clone(&list.tokens)),
            None => Access::open(),
        };
        let single = list.as_ref().map(|list| list.single.as_str()).filter(|single| !single.is_empty());
        let access = match single.and_then(|token| Tokens::read(token).ok()) {
            Some(owner) => access.with_owner(owner),
            None => access,
        };
        let access = match issuer(args)? {
            Some(issuer) => access.with_issuer(issuer),
            None => access,
        };
        if access.is_open() && !address.ip().is_loopback() && !args.no_auth {
            return Err(exposed(address));
        }
        if access.is_open() && !args.no_auth {
            let token = random_token()?;
            let owner =
                Tokens::read(&token).map_err(|error| Failure::usage("bad-token", error.to_string()))?;
            return Ok(Self { access: access.with_owner(owner), list, token: Some(token) });
        }
        Ok(Self { access, list, token: None })
    }
}

/// Returns 256 random bits.
fn random_token() -> Result<String, Failure> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(Kind::Internal, "internal", format!("no random bytes: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn exposed(address: SocketAddr) -> Failure {
    let message =
        format!("other machines can reach {address}, and without access control they could call every tool");
    Failure::usage("no-access-control", message)
        .hint("give `--token-file FILE`, CONVERSE_SERVE_TOKEN or `--oauth-issuer URL`")
        .hint("for this machine only: `--http 127.0.0.1:PORT`; if a proxy checks access: `--no-auth`")
}

fn issuer(args: &FrontArgs) -> Result<Option<Issuer>, Failure> {
    let Some(issuer) = &args.oauth_issuer else { return Ok(None) };
    let resource = args.oauth_resource.as_deref().unwrap_or_default();
    let made = Issuer::new(issuer, resource, args.oauth_scope.clone(), Arc::new(IssuerKeys::new()));
    made.map(Some).map_err(|error| Failure::usage("bad-issuer", error.to_string()))
}

/// Serves until a signal, and then until running calls have ended.
pub(super) async fn serve(
    serving: &Serving<'_>,
    guarded: ServerAccess,
    gateway: &Gateway,
    routes: Option<Arc<Front>>,
    address: SocketAddr,
) -> Result<(), Failure> {
    let Serving { args, drain, console, interrupt, .. } = serving;
    let listener = HttpListener::bind(address).map_err(failed)?;
    let metrics = args.front.metrics.map(HttpListener::bind).transpose().map_err(failed)?;
    let at = listener.address();
    let hosts = Hosts::new(at, &args.front.allowed_host, &args.front.allowed_origin).map_err(failed)?;
    let ServerAccess { access, list, token } = guarded;
    console.note(&format!("serving MCP at http://{at}{PATH}"));
    if args.routes.openai {
        console.note(&format!("serving OpenAI's API at http://{at}/v1"));
    }
    if args.routes.api || args.routes.panel {
        console.note(&format!(
            "serving sessions and approvals at http://{at}/api, described at /api/openapi.json"
        ));
    }
    if let Some(token) = &token {
        console.note(&format!("the token of this run: {token}"));
    }
    if args.routes.panel {
        let token = token.map(|token| format!("?token={token}")).unwrap_or_default();
        let url = format!("http://{at}/{token}");
        console.note(&format!("the panel: {url}"));
        if serving.opens && !Browser::of(serving.world).open(&url) {
            console.note("no browser could be opened; open the address yourself");
        }
    }
    if let Some(metrics) = &metrics {
        console.note(&format!("metrics at http://{}/metrics", metrics.address()));
    }
    let options = HttpOptions { access, hosts, front: routes, metrics, drain: *drain, limits: limits() };
    let make_handler = {
        let gateway = gateway.clone();
        // Each client has its own subscriptions.
        move || gateway.for_client()
    };
    let counters = Arc::clone(gateway.counters());
    let listening = listen(listener, make_handler, options, counters, interrupt.token.clone());
    match list {
        None => listening.await,
        Some(list) => tokio::select! {
            () = listening => {}
            () = list.watch(console) => {}
        },
    }
    gateway.close();
    gateway.cancel_calls();
    let _ = tokio::time::timeout(LAST_LINES, gateway.idle()).await;
    Ok(())
}

/// Fewer connections than open files: calls and the audit log need files too.
fn limits() -> Limits {
    let limits = Limits::default();
    let connections = match getrlimit(Resource::Nofile).current {
        None => limits.connections,
        Some(files) => limits.connections.min(usize::try_from(connections(files)).unwrap_or(usize::MAX)),
    };
    tracing::debug!("{connections} connections at once");
    Limits { connections, ..limits }
}

fn connections(files: u64) -> u64 {
    files.saturating_sub(RESERVE).max(files / 4).max(FEWEST)
}

fn failed(error: HttpError) -> Failure {
    match &error {
        HttpError::Bind { .. } => Failure::usage("cannot-listen", error.to_string())
            .hint("another program may use this port; `--http 127.0.0.1:0` takes a free one"),
        HttpError::Host(_) => Failure::usage("bad-host", error.to_string()),
        HttpError::Origin(_) => Failure::usage("bad-origin", error.to_string()),
    }
}

/// Fetches the keys of an authorization server over HTTP.
#[derive(Debug)]
struct IssuerKeys(Clients);

impl IssuerKeys {
    fn new() -> Self {
        Self(Clients::new(ClientPlan {
            connect_timeout: KEYS_TIMEOUT,
            redirects: Redirects::Never,
            reuse: false,
        }))
    }

    async fn get(&self, url: &str) -> Result<Vec<u8>, String> {
        let request = Request::get(url).header(ACCEPT, "application/json").body(Bytes::new());
        let request = request.map_err(|error| error.to_string())?;
        let client = self.0.to(request.uri()).map_err(|cause| cause.message)?;
        let exchanged = tokio::time::timeout(KEYS_TIMEOUT, exchange(client, request, MAX_KEYS));
        let fetched = exchanged.await.map_err(|_| format!("{url} did not answer in time"))?;
        let fetched = fetched.map_err(|error| error.to_string())?;
        match fetched.status {
            200 if fetched.truncated => Err(format!("{url} answered with more than {MAX_KEYS} bytes")),
            200 => Ok(fetched.body.into()),
            status => Err(format!("{url} answered {status}")),
        }
    }
}

impl KeyFetcher for IssuerKeys {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Vec<u8>, String>> {
        self.get(url).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_open_files_to_calls() {
        let files = [0, 20, 64, 256, 400, 1024, 1_048_576];
        assert_eq!(files.map(connections), [16, 16, 16, 64, 144, 768, 1_048_320]);
    }
}
