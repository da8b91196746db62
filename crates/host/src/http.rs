//! HTTP connections to providers, on reqwest.

use std::time::Duration;

use crate::client::{Cause, CauseKind, ClientPlan, Clients, Redirects, Reuse, cause_of};
use crate::secrets::Credentials;
use bytes::Bytes;
use converse_engine::{ByteStream, Wire, WireError, WireErrorKind};
use converse_provider::AuthScheme;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use http::header::{AUTHORIZATION, DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper_util::client::proxy::matcher::Matcher;
use jiff::Timestamp;

use crate::world::World;

pub(crate) struct HttpWire {
    credentials: Credentials,
    clients: Clients,
}

impl HttpWire {
    pub(crate) fn new(credentials: Credentials, connect_timeout: Duration) -> Self {
        let plan = ClientPlan { connect_timeout, redirects: Redirects::SameOrigin, reuse: Reuse::Kept };
        Self { credentials, clients: Clients::new(plan) }
    }

    fn authorise(&self, request: &mut http::Request<Bytes>, auth: &AuthScheme) -> Result<(), WireError> {
        let headers = request.headers_mut();
        for header in &self.credentials.headers {
            if let Some(secret) = &header.value {
                headers.insert(header.name.clone(), sensitive(secret.expose(), &header.variable)?);
            }
        }
        let Some(key) = &self.credentials.key else { return Ok(()) };
        let (name, value) = match auth {
            AuthScheme::None => return Ok(()),
            AuthScheme::Bearer => (AUTHORIZATION, format!("Bearer {}", key.expose())),
            AuthScheme::Header(name) => (HeaderName::from_static(name), key.expose().to_owned()),
        };
        headers.insert(name, sensitive(&value, "the key")?);
        Ok(())
    }
}

fn sensitive(value: &str, what: &str) -> Result<HeaderValue, WireError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| WireError {
        kind: WireErrorKind::Request,
        message: format!("{what} contains characters that are not allowed in a header"),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

impl std::fmt::Debug for HttpWire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpWire").finish_non_exhaustive()
    }
}

impl Wire for HttpWire {
    fn send<'a>(
        &'a self,
        mut request: http::Request<Bytes>,
        auth: &'a AuthScheme,
    ) -> BoxFuture<'a, Result<http::Response<ByteStream>, WireError>> {
        async move {
            let client = self.clients.to(request.uri()).map_err(in_words)?;
            self.authorise(&mut request, auth)?;
            let target = request.uri().clone();
            let request = reqwest::Request::try_from(request).map_err(|error| translate(&error))?;
            tracing::debug!(url = %request.url(), "sending a request");
            let response = client.execute(request).await;
            let response = response.map_err(|error| in_words(by_proxy(cause_of(&error), &target)))?;
            tracing::debug!(status = %response.status(), "the response has begun");
            let mut head = http::Response::new(());
            *head.status_mut() = response.status();
            *head.headers_mut() = response.headers().clone();
            add_date(head.headers_mut(), World::now());
            let body = response.bytes_stream().map(|piece| piece.map_err(|error| translate(&error))).boxed();
            Ok(head.map(|()| body))
        }
        .boxed()
    }
}

/// Adds the time of receipt to a response with retry advice and without a `Date`, as RFC 9110, section 6.6.1, demands:
/// an advised time is compared with it.
fn add_date(headers: &mut HeaderMap, now: Timestamp) {
    let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    if headers.contains_key(RETRY_AFTER)
        && !headers.contains_key(DATE)
        && let Ok(date) = HeaderValue::try_from(date)
    {
        headers.insert(DATE, date);
    }
}

fn translate(error: &reqwest::Error) -> WireError {
    in_words(cause_of(error))
}

/// Describes a failed connection. If a proxy is in between, the message names the proxy.
fn by_proxy(cause: Cause, target: &http::Uri) -> Cause {
    let unconnected = matches!(cause.kind, CauseKind::Unreachable | CauseKind::NoSuchHost);
    let Some(proxy) = Matcher::from_system().intercept(target).filter(|_| unconnected) else { return cause };
    // Without a password in the address.
    let (scheme, host) = (proxy.uri().scheme_str().unwrap_or("http"), proxy.uri().host().unwrap_or_default());
    let port = proxy.uri().port().map(|port| format!(":{port}")).unwrap_or_default();
    let message = format!("through the proxy {scheme}://{host}{port}: {}", cause.message);
    Cause { message, ..cause }
}

/// Classifies the error for the engine.
fn in_words(Cause { kind, message }: Cause) -> WireError {
    let kind = match kind {
        CauseKind::Tls => WireErrorKind::Tls,
        CauseKind::Request => WireErrorKind::Request,
        CauseKind::Unreachable => WireErrorKind::Connection,
        CauseKind::NoDescriptors => WireErrorKind::NoDescriptors,
        CauseKind::NoSuchHost => WireErrorKind::NoSuchHost,
        CauseKind::Broken => WireErrorKind::Broken,
    };
    WireError { kind, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_with_retry_advice_has_the_time_of_its_receipt() {
        let now = "2026-11-06T08:49:37.9Z".parse().unwrap();
        let dated = |pairs: &[(HeaderName, &'static str)]| {
            let fields = pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
            let mut headers: HeaderMap = fields.collect();
            add_date(&mut headers, now);
            headers.get(DATE).map(|date| date.to_str().unwrap().to_owned())
        };
        let advice = (RETRY_AFTER, "Fri, 06 Nov 2026 08:49:39 GMT");
        assert_eq!(dated(std::slice::from_ref(&advice)).as_deref(), Some("Fri, 06 Nov 2026 08:49:37 GMT"));
        let theirs = "Fri, 06 Nov 2026 07:00:00 GMT";
        assert_eq!(dated(&[advice, (DATE, theirs)]).as_deref(), Some(theirs));
        assert_eq!(dated(&[]), None);
    }
}
