//! [`Headless`]: logins at an authorization page that redirects at once, as those of test servers do, without a
//! browser.

use std::time::Duration;

use converse_mcp::Consent;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::Uri;
use http::header::LOCATION;
use tokio::time::timeout;

use crate::client::{ClientPlan, Clients, Redirects, Reuse};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Headless {
    redirect_uri: String,
    clients: Clients,
}

impl Headless {
    /// Nothing listens at `redirect_uri`: the redirect of the page is read directly.
    pub fn new(redirect_uri: &str) -> Self {
        let plan =
            ClientPlan { connect_timeout: CONNECT_TIMEOUT, redirects: Redirects::Never, reuse: Reuse::Never };
        Self { redirect_uri: redirect_uri.to_owned(), clients: Clients::new(plan) }
    }

    async fn sent_back(&self, url: &str) -> Result<String, String> {
        let uri: Uri = url.parse().map_err(|_| "the authorization URL is not valid".to_owned())?;
        let client = self.clients.to(&uri).map_err(|cause| cause.message)?;
        // The error text would show the whole address.
        let asked = timeout(TIMEOUT, client.get(url).send()).await;
        let Ok(Ok(answer)) = asked else {
            return Err("the authorization page did not answer".to_owned());
        };
        let status = answer.status();
        let location = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok());
        let sent_back = location.filter(|_| status.is_redirection()).map(str::to_owned);
        sent_back
            .ok_or_else(|| format!("the authorization page requires a person (HTTP {})", status.as_u16()))
    }
}

impl Consent for Headless {
    fn redirect_uri(&self) -> BoxFuture<'_, Result<String, String>> {
        std::future::ready(Ok(self.redirect_uri.clone())).boxed()
    }

    fn authorize<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<String, String>> {
        self.sent_back(url).boxed()
    }
}
