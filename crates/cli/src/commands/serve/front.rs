//! `converse serve --http`: the options, and what they make of the front.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use converse_server::{Access, Bound, Front, FrontError, Gateway, Hosts, Issuer, Limits, PATH, listen};
use rustix::process::{Resource, getrlimit};

use super::Serving;
use super::tokens::TokenList;
use crate::args::FrontArgs;
use crate::commands::serve::issuer_keys::IssuerKeys;
use converse_host::failure::Failure;
use converse_host::world::World;

/// What calls that were cut off may take to be written down.
const LAST_LINES: Duration = Duration::from_secs(3);

/// Open files that are not connections: the audit, servers upstream, commands that run.
const RESERVE: u64 = 256;
/// And so many at least are connections.
const FEWEST: u64 = 16;

/// Who is let in: read before any server is started.
pub(super) struct Guarded {
    access: Access,
    list: Option<TokenList>,
}

impl Guarded {
    pub(super) fn read(args: &FrontArgs, address: SocketAddr, world: &World) -> Result<Self, Failure> {
        let list = TokenList::read(args.token_file.as_deref(), world)?;
        let access = match &list {
            Some(list) => Access::open().with_tokens(Arc::clone(&list.tokens)),
            None => Access::open(),
        };
        let access = match issuer(args)? {
            Some(issuer) => access.with_issuer(issuer),
            None => access,
        };
        if access.is_open() && !address.ip().is_loopback() && !args.no_auth {
            return Err(exposed(address));
        }
        Ok(Self { access, list })
    }
}

fn exposed(address: SocketAddr) -> Failure {
    let message =
        format!("{address} can be reached from other machines, and whoever reaches it could call every tool");
    Failure::usage("no-access-control", message)
        .hint("give `--token-file FILE`, CONVERSE_SERVE_TOKEN or `--oauth-issuer URL`")
        .hint("`--http 127.0.0.1:PORT` is for this machine alone; `--no-auth` if something before it checks who calls")
}

fn issuer(args: &FrontArgs) -> Result<Option<Issuer>, Failure> {
    let Some(issuer) = &args.oauth_issuer else { return Ok(None) };
    let resource = args.oauth_resource.as_deref().unwrap_or_default();
    let made = Issuer::new(issuer, resource, args.oauth_scope.clone(), Arc::new(IssuerKeys::new()));
    made.map(Some).map_err(|error| Failure::usage("bad-issuer", error.to_string()))
}

/// Until a signal, and then until what runs has ended: success.
pub(super) async fn serve(
    serving: &Serving<'_>,
    guarded: Guarded,
    gateway: &Gateway,
    address: SocketAddr,
) -> Result<(), Failure> {
    let Serving { args, drain, console, interrupt, .. } = serving;
    let bound = Bound::bind(address).map_err(failed)?;
    let metrics = args.front.metrics.map(Bound::bind).transpose().map_err(failed)?;
    let at = bound.address();
    let hosts = Hosts::new(at, &args.front.allowed_host, &args.front.allowed_origin).map_err(failed)?;
    let Guarded { access, list } = guarded;
    console.note(&format!("serving MCP at http://{at}{PATH}"));
    if let Some(metrics) = &metrics {
        console.note(&format!("numbers at http://{}/metrics", metrics.address()));
    }
    let front = Front { access, hosts, metrics, drain: *drain, limits: limits() };
    let made = {
        let gateway = gateway.clone();
        // What one client wants to hear is not what all want to hear.
        move || gateway.for_client()
    };
    let counters = Arc::clone(gateway.counters());
    let listening = listen(bound, made, front, counters, interrupt.token.clone());
    match list {
        None => listening.await,
        Some(list) => tokio::select! {
            () = listening => {}
            () = list.watch(console) => {}
        },
    }
    gateway.close();
    gateway.cut();
    let _ = tokio::time::timeout(LAST_LINES, gateway.idle()).await;
    Ok(())
}

/// No more connections than there may be open files: calls need some of their own, and could not be written down.
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

fn failed(error: FrontError) -> Failure {
    match &error {
        FrontError::Bind { .. } => Failure::usage("cannot-listen", error.to_string())
            .hint("is another program there already? A port of 0 is any free one"),
        FrontError::Host(_) => Failure::usage("bad-host", error.to_string()),
        FrontError::Origin(_) => Failure::usage("bad-origin", error.to_string()),
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
