//! HTTP clients, for providers, servers and tools alike.
//!
//! Plain `http:` loads no certificates, because loading those of the platform takes as long as the rest of a short run.
//! `https:` uses the certificates of the platform, or the bundled ones if the machine has none.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use converse_process::{NO_DESCRIPTORS, lacks_descriptors};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder, redirect};

/// The handling of redirects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// Follow to the same origin with the same method, so that a key is never sent to another origin.
    SameOrigin,
    /// Return the redirect as the response.
    Never,
}

/// Two clients with the same configuration, each built on first use: without and with certificates.
#[derive(Debug)]
pub struct Clients {
    plan: ClientPlan,
    plain: OnceLock<Result<Client, Cause>>,
    secure: OnceLock<Result<Client, Cause>>,
}

impl Clients {
    pub fn new(plan: ClientPlan) -> Self {
        Self { plan, plain: OnceLock::new(), secure: OnceLock::new() }
    }

    pub fn get(&self, https: bool) -> Result<&Client, Cause> {
        let place = if https { &self.secure } else { &self.plain };
        let build = || self.plan.build(https).map_err(|error| cause_of(&error));
        place.get_or_init(build).as_ref().map_err(Clone::clone)
    }

    /// Returns the client for an address.
    pub fn to(&self, uri: &http::Uri) -> Result<&Client, Cause> {
        self.get(is_https(uri))
    }
}

/// The configuration of a client.
#[derive(Debug, Clone, Copy)]
pub struct ClientPlan {
    pub connect_timeout: Duration,
    pub redirects: Redirects,
    pub reuse: Reuse,
}

/// Whether the connection of a response is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    Never,
    /// For one second, by one request at a time (HTTP/1.1): one that hangs or breaks does not take others with it. Most
    /// servers keep idle connections for 2 to 75 s, so one that was used so recently is closed only by a server that ends.
    Briefly,
    /// For 90 s, with HTTP/2 by several requests at once.
    Kept,
}

impl ClientPlan {
    fn build(self, https: bool) -> Result<Client, reqwest::Error> {
        built(https, || self.builder())
    }

    /// Builds a client for one request that uses no proxy and connects to these addresses, whatever the name in the
    /// URL.
    pub fn pinned(self, uri: &http::Uri, addresses: &[IpAddr]) -> Result<Client, Cause> {
        let literal = uri.host().and_then(|host| host.trim_matches(['[', ']']).parse::<IpAddr>().ok());
        if literal.is_some_and(|literal| !addresses.contains(&literal)) {
            // An IP address in the URL is not resolved, so it must have been checked itself.
            let message = "the request could not be made: its URL was not checked".to_owned();
            return Err(Cause { kind: CauseKind::Request, message });
        }
        let pinned = Pinned(addresses.iter().map(|address| SocketAddr::new(*address, 0)).collect());
        let builder = || self.builder().no_proxy().dns_resolver(pinned.clone());
        built(is_https(uri), builder).map_err(|error| cause_of(&error))
    }

    fn builder(self) -> ClientBuilder {
        let builder = Client::builder()
            .user_agent(concat!("converse/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.connect_timeout)
            .redirect(match self.redirects {
                Redirects::SameOrigin => same_origin(),
                Redirects::Never => redirect::Policy::none(),
            });
        match self.reuse {
            Reuse::Never => builder.pool_max_idle_per_host(0),
            Reuse::Briefly => builder.http1_only().pool_idle_timeout(Duration::from_secs(1)),
            Reuse::Kept => builder,
        }
    }
}

fn built(https: bool, builder: impl Fn() -> ClientBuilder) -> Result<Client, reqwest::Error> {
    // Fails only if a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    if https {
        // Without any certificate on the machine, the verifier of the platform cannot be built.
        builder().build().or_else(|_| with_bundled_roots(builder()).build())
    } else {
        without_roots(builder()).build()
    }
}

fn is_https(uri: &http::Uri) -> bool {
    uri.scheme() == Some(&http::uri::Scheme::HTTPS)
}

/// Resolves every name to the same addresses.
#[derive(Clone)]
struct Pinned(Arc<[SocketAddr]>);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses = self.0.to_vec();
        Box::pin(std::future::ready(Ok(Box::new(addresses.into_iter()) as Addrs)))
    }
}

fn with_bundled_roots(builder: ClientBuilder) -> ClientBuilder {
    let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
    builder.tls_certs_only(roots.filter_map(|der| reqwest::Certificate::from_der(der).ok()))
}

fn without_roots(builder: ClientBuilder) -> ClientBuilder {
    let config = rustls::ClientConfig::builder()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    builder.tls_backend_preconfigured(config)
}

/// Follows 307 and 308 to the same origin, at most five times; returns anything else as the response.
fn same_origin() -> redirect::Policy {
    redirect::Policy::custom(|attempt| {
        let first = attempt.previous().first().map(reqwest::Url::origin);
        let same = first.is_some_and(|origin| origin == attempt.url().origin());
        let kept = matches!(attempt.status().as_u16(), 307 | 308);
        if same && kept && attempt.previous().len() <= 5 { attempt.follow() } else { attempt.stop() }
    })
}

/// Describes an error with its whole chain of causes on one line, because reqwest's own text omits the important ones.
/// Only the origin of the address is shown; the rest may be secret.
pub(crate) fn cause_of(error: &reqwest::Error) -> Cause {
    use std::error::Error as _;
    let mut message = String::new();
    let mut tls = false;
    let mut cause: Option<&dyn std::error::Error> = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        tls |= is_tls(inner);
        if !message.contains(&words) {
            message.push_str(if message.is_empty() { "" } else { ": " });
            message.push_str(&words);
        }
        cause = inner.source();
    }
    let target = error.url().map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    let (kind, what) = match () {
        // A connection that was trusted may break in TLS after the request was sent.
        () if tls && error.is_connect() => (CauseKind::Tls, format!("no trusted connection to {target}")),
        () if lacks_descriptors(error) => (CauseKind::NoDescriptors, NO_DESCRIPTORS.to_owned()),
        () if error.is_builder() => (CauseKind::Request, "the request could not be made".to_owned()),
        () if error.is_connect() && is_no_such_host(&message) => {
            (CauseKind::NoSuchHost, format!("{target} cannot be reached"))
        }
        () if error.is_connect() && error.is_timeout() => {
            (CauseKind::Unreachable, format!("the connection to {target} timed out"))
        }
        () if error.is_connect() => (CauseKind::Unreachable, format!("{target} cannot be reached")),
        () => (CauseKind::Broken, "the connection broke".to_owned()),
    };
    Cause { kind, message: if message.is_empty() { what } else { format!("{what}: {message}") } }
}

/// The class of a failed exchange.
#[derive(Debug, Clone)]
pub struct Cause {
    pub kind: CauseKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CauseKind {
    /// The request was not sent.
    Request,
    /// The server cannot be trusted, which is permanent. The request was not sent.
    Tls,
    /// This process has no file descriptor left. The request was not sent.
    NoDescriptors,
    /// There was no connection. The request was not sent.
    Unreachable,
    /// The host name does not exist, according to the resolver. The request was not sent.
    NoSuchHost,
    /// The request may have been sent.
    Broken,
}

/// Texts of the resolver for a name that does not exist, as opposed to a temporary failure (EAI_AGAIN). The standard
/// library does not expose the code. The texts are those of glibc (without a locale), musl and macOS.
fn is_no_such_host(message: &str) -> bool {
    const NONE: [&str; 4] = [
        "Name or service not known",
        "No address associated with hostname",
        "Name does not resolve",
        "nodename nor servname provided",
    ];
    NONE.iter().any(|words| message.contains(words))
}

/// Returns whether the error is a TLS failure (certificate, version, or a server without TLS). An IO error hides its
/// inner error from the chain of causes, so it is unwrapped.
fn is_tls(cause: &(dyn std::error::Error + 'static)) -> bool {
    let wrapped = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    cause.is::<rustls::Error>() || wrapped.is_some_and(|inner| is_tls(inner))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn no_such_host_is_told_from_ask_me_later() {
        let words =
            |why: &str| is_no_such_host(&format!("dns error: failed to lookup address information: {why}"));
        assert!(words("Name or service not known") && words("Name does not resolve"));
        assert!(!words("Temporary failure in name resolution") && !words("Try again"));
    }

    /// Answers requests on any number of connections, and counts the connections.
    async fn counted(listener: TcpListener, connections: Arc<AtomicUsize>) {
        while let Ok((mut stream, _)) = listener.accept().await {
            connections.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let mut head = [0; 4096];
                while stream.read(&mut head).await.is_ok_and(|read| read > 0) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
                }
            });
        }
    }

    #[tokio::test]
    async fn a_connection_is_used_again_only_by_clients_that_keep_it() {
        for (reuse, expected) in [(Reuse::Kept, 1), (Reuse::Briefly, 1), (Reuse::Never, 3)] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/", listener.local_addr().unwrap());
            let connections = Arc::<AtomicUsize>::default();
            tokio::spawn(counted(listener, Arc::clone(&connections)));
            let (connect_timeout, redirects) = (Duration::from_secs(10), Redirects::Never);
            let plan = ClientPlan { connect_timeout, redirects, reuse };
            let clients = Clients::new(plan);
            for _ in 0..3 {
                let answer = clients.get(false).unwrap().get(&url).send().await.unwrap();
                assert_eq!(answer.text().await.unwrap(), "ok");
                // The connection returns to the pool in a task of its own.
                tokio::task::yield_now().await;
            }
            assert_eq!(connections.load(Ordering::SeqCst), expected, "{reuse:?}");
        }
    }
}
