//! `converse serve --http`: access, limits and listening.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use converse_config::ViewPlan;
use converse_gateway::{Gateway, SessionLimits};
use converse_server::{
    Access, Front, Handlers, Hosts, HttpError, HttpListener, HttpOptions, Issuer, IssuerKeys, Limits, PATH,
    TokenList, Tokens, VIEWS_NEED_ACCESS, listen,
};

use super::Serving;
use crate::args::FrontArgs;
use converse_host::failure::{Failure, Kind};
use converse_host::world::World;
use converse_terminal::consent::Browser;
use converse_terminal::console::Console;
use tokio::time::{Instant, timeout, timeout_at};

/// The time for the log lines of calls that were cut off.
const LAST_LINES: Duration = Duration::from_secs(3);

/// Which clients have access. Read before any server is started.
pub(super) struct ServerAccess {
    access: Access,
    list: Option<TokenList>,
    /// The token that was made for this run.
    token: Option<String>,
}

impl ServerAccess {
    /// Returns whether no client is told from another.
    pub(super) fn is_open(&self) -> bool {
        self.access.is_open()
    }

    pub(super) fn read(
        args: &FrontArgs,
        address: SocketAddr,
        console: &Console,
        world: &World,
    ) -> Result<Self, Failure> {
        let list = TokenList::read(args.token_file.as_deref(), world)?;
        let access = match &list {
            Some(list) => Access::open().with_tokens(Arc::clone(&list.tokens)),
            None => Access::open(),
        };
        let access = match list.as_ref().and_then(TokenList::owner) {
            Some(owner) => access.with_owner(owner),
            None => access,
        };
        let access = match issuer(args)? {
            Some(issuer) => {
                let notices = Arc::clone(&console.context.notices);
                access.with_issuer(issuer.with_report(move |line| notices.show(line)))
            }
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
    let made = Issuer::new(issuer, resource, args.oauth_scope.clone(), Arc::new(IssuerKeys::default()));
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
    if access.is_open() && gateway.view_plans().all().iter().any(ViewPlan::names_principals) {
        return Err(Failure::usage("views-need-access", VIEWS_NEED_ACCESS).hint("leave out `--no-auth`"));
    }
    console.note(&format!("serving MCP at http://{at}{PATH}"));
    let access = access.with_views(gateway.view_plans().clone());
    let whole = gateway.clone();
    // Each client has its own subscriptions.
    let views = gateway.clone();
    let handlers = Handlers::new(move || whole.for_client());
    let handlers = handlers.with_views(move |name| views.view(name.as_str()).ok());
    for (name, _) in gateway.views() {
        console.note(&format!("serving the view `{name}` at http://{at}{PATH}/{name}"));
    }
    if args.routes.openai {
        console.note(&format!("serving OpenAI's API at http://{at}/v1"));
    }
    if args.routes.api || args.routes.panel {
        console.note(&format!(
            "serving sessions and approvals at http://{at}/api, described at /api/openapi.json"
        ));
    }
    if let Some(token) = token.as_ref().filter(|_| !args.routes.panel) {
        console.note(&format!("the token of this run: {token}"));
    }
    if args.routes.panel {
        let url = match &token {
            Some(token) => format!("http://{at}/?token={token}"),
            None => format!("http://{at}/"),
        };
        let with = if token.is_some() { ", with the token of this run" } else { "" };
        console.note(&format!("the panel{with}: {url}"));
        if serving.opens && !Browser::of(serving.world).open(&url) {
            console.note("no browser could be opened; open the address yourself");
        }
    }
    if let Some(metrics) = &metrics {
        console.note(&format!("metrics at http://{}/metrics", metrics.address()));
    }
    let options = HttpOptions {
        access,
        hosts,
        front: routes,
        metrics,
        sessions: (!args.front.no_sessions).then(SessionLimits::default),
        drain: *drain,
        limits: Limits::of_this_process(),
    };
    let counters = Arc::clone(gateway.counters());
    let listening = listen(listener, handlers, options, counters, interrupt.token.clone());
    let drained = async {
        interrupt.token.cancelled().await;
        gateway.stop_asking();
        Instant::now() + *drain
    };
    let listening = async { tokio::join!(drained, listening).0 };
    let end = match list {
        None => listening.await,
        Some(list) => tokio::select! {
            end = listening => end,
            () = list.watch(&console.context) => Instant::now(),
        },
    };
    gateway.close();
    // No connection is open for the call of a task.
    let _ = timeout_at(end, gateway.idle()).await;
    gateway.cancel_calls();
    let _ = timeout(LAST_LINES, gateway.idle()).await;
    Ok(())
}

fn failed(error: HttpError) -> Failure {
    match &error {
        HttpError::Bind { .. } => Failure::usage("cannot-listen", error.to_string())
            .hint("another program may use this port; `--http 127.0.0.1:0` takes a free one"),
        HttpError::Host(_) => Failure::usage("bad-host", error.to_string()),
        HttpError::Origin(_) => Failure::usage("bad-origin", error.to_string()),
    }
}
