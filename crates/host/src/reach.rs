//! HTTP to addresses that a model chose, by reqwest: connects only to the checked addresses, or uses the user's proxy.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use converse_ensemble::{FetchError, Fetched, Reach, Way};
use converse_process::{NO_DESCRIPTORS, lacks_descriptors};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{Request, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use tokio::time::timeout;

use crate::client::{ClientPlan, Clients, Redirects, Reuse};
use crate::fetch::{exchange, unbuilt};

#[derive(Debug)]
pub(crate) struct HttpReach {
    plan: ClientPlan,
    /// With the proxies of the environment.
    by_proxy: Clients,
    /// The proxy rules of those clients.
    proxies: Matcher,
}

impl HttpReach {
    /// `connect_timeout` also limits name resolution.
    pub(crate) fn new(connect_timeout: Duration) -> Self {
        let plan = ClientPlan { connect_timeout, redirects: Redirects::Never, reuse: Reuse::Never };
        Self { plan, by_proxy: Clients::new(plan), proxies: Matcher::from_system() }
    }
}

impl Reach for HttpReach {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, FetchError>> {
        async move {
            let failed = |why: String| FetchError::Unreachable(format!("{name} cannot be resolved: {why}"));
            let resolved = timeout(self.plan.connect_timeout, tokio::net::lookup_host((name, 0))).await;
            let addresses = resolved.map_err(|_| failed("timeout".to_owned()))?;
            let addresses = addresses.map_err(|error| match lacks_descriptors(&error) {
                true => FetchError::NoDescriptors(NO_DESCRIPTORS.to_owned()),
                false => failed(error.to_string()),
            })?;
            Ok(addresses.map(|address| address.ip()).collect())
        }
        .boxed()
    }

    fn has_proxy(&self, uri: &Uri) -> bool {
        self.proxies.intercept(uri).is_some()
    }

    fn fetch_by<'a>(
        &'a self,
        request: Request<Bytes>,
        way: Way,
        limit: usize,
    ) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        async move {
            match way {
                Way::Proxy => {
                    let client = self.by_proxy.to(request.uri()).map_err(unbuilt)?;
                    exchange(client, request, limit).await
                }
                Way::Direct(addresses) => {
                    let client = self.plan.pinned(request.uri(), &addresses).map_err(unbuilt)?;
                    exchange(&client, request, limit).await
                }
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// Answers one request, and says what host it was for.
    fn serve() -> (u16, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi").unwrap();
            String::from_utf8(head).unwrap().to_ascii_lowercase()
        });
        (port, served)
    }

    fn request(url: &str) -> Request<Bytes> {
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = url.parse().unwrap();
        request
    }

    fn direct(addresses: &[&str]) -> Way {
        Way::Direct(addresses.iter().map(|address| address.parse().unwrap()).collect())
    }

    /// A second look at the name, after it was judged, would be how to get around the judgement.
    #[tokio::test]
    async fn a_name_is_not_resolved_again() {
        let (port, served) = serve();
        let reach = HttpReach::new(Duration::from_secs(10));
        let url = format!("http://nobody.invalid:{port}/");
        let fetched = reach.fetch_by(request(&url), direct(&["127.0.0.1"]), 10).await.unwrap();
        assert_eq!(fetched.body, "hi");
        assert!(served.join().unwrap().contains(&format!("host: nobody.invalid:{port}\r\n")));
        // And the name means nothing where it was not judged.
        let refused = reach.fetch_by(request(&url), direct(&[]), 10).await;
        assert!(matches!(refused, Err(FetchError::Unreachable(_))), "{refused:?}");
    }

    #[tokio::test]
    async fn an_address_that_was_not_judged_is_not_connected_to() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let reach = HttpReach::new(Duration::from_secs(10));
        for (host, judged) in [("127.0.0.1", &["8.8.8.8"][..]), ("[::1]", &["8.8.8.8"]), ("127.0.0.1", &[])] {
            let url = format!("http://{host}:{port}/");
            let refused =
                timeout(Duration::from_secs(10), reach.fetch_by(request(&url), direct(judged), 10)).await;
            assert!(matches!(refused, Ok(Err(FetchError::Refused(_)))), "{refused:?}");
        }
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err());
    }

    #[tokio::test]
    async fn names_are_resolved_here() {
        let reach = HttpReach::new(Duration::from_secs(10));
        let addresses = reach.resolve("localhost").await.unwrap();
        assert!(!addresses.is_empty() && addresses.iter().all(IpAddr::is_loopback), "{addresses:?}");
    }
}
