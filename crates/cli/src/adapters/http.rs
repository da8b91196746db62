//! The provider's wire over HTTP, by reqwest.
//!
//! Plain `http:` loads no certificates at all (loading the platform's costs as much as all the rest of a short run).
//! For `https:` they are the platform's, or the bundled ones where a machine has none. A redirect is followed only to
//! the same origin, so a key never travels to another.

use std::error::Error as _;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use converse_engine::{ByteStream, Wire, WireError, WireErrorKind};
use converse_provider::AuthScheme;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, redirect};

use crate::adapters::secrets::Secret;

pub(crate) struct HttpWire {
    key: Option<Secret>,
    connect_timeout: Duration,
    client: OnceLock<Result<Client, WireError>>,
}

impl HttpWire {
    pub(crate) fn new(key: Option<Secret>, connect_timeout: Duration) -> Self {
        Self { key, connect_timeout, client: OnceLock::new() }
    }

    fn client(&self, uri: &http::Uri) -> Result<&Client, WireError> {
        let https = uri.scheme() == Some(&http::uri::Scheme::HTTPS);
        self.client.get_or_init(|| build(self.connect_timeout, https)).as_ref().map_err(Clone::clone)
    }

    fn authorise(&self, request: &mut http::Request<Bytes>, auth: &AuthScheme) -> Result<(), WireError> {
        let Some(key) = &self.key else { return Ok(()) };
        let (name, value) = match auth {
            AuthScheme::None => return Ok(()),
            AuthScheme::Bearer => (AUTHORIZATION, format!("Bearer {}", key.expose())),
            AuthScheme::Header(name) => (HeaderName::from_static(name), key.expose().to_owned()),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| WireError {
            kind: WireErrorKind::Request,
            message: "the key holds characters that no header may have".to_owned(),
        })?;
        value.set_sensitive(true);
        request.headers_mut().insert(name, value);
        Ok(())
    }
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
            let client = self.client(request.uri())?;
            self.authorise(&mut request, auth)?;
            let request = reqwest::Request::try_from(request).map_err(|error| translate(&error))?;
            tracing::debug!(url = %request.url(), "sending a request");
            let response = client.execute(request).await.map_err(|error| translate(&error))?;
            tracing::debug!(status = %response.status(), "the response has begun");
            let mut head = http::Response::new(());
            *head.status_mut() = response.status();
            *head.headers_mut() = response.headers().clone();
            let body = response.bytes_stream().map(|piece| piece.map_err(|error| translate(&error))).boxed();
            Ok(head.map(|()| body))
        }
        .boxed()
    }
}

fn build(connect_timeout: Duration, https: bool) -> Result<Client, WireError> {
    // Fails only when somebody has installed one before, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        Client::builder()
            .user_agent(concat!("converse/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(connect_timeout)
            .redirect(same_origin())
    };
    let built = if https {
        // Without any certificate on the machine the platform's verifier cannot be built.
        builder().build().or_else(|_| with_bundled_roots(builder()).build())
    } else {
        without_roots(builder()).build()
    };
    built.map_err(|error| translate(&error))
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

/// 307 and 308 to the same origin, five times at most; anything else is the answer itself.
fn same_origin() -> redirect::Policy {
    redirect::Policy::custom(|attempt| {
        let first = attempt.previous().first().map(reqwest::Url::origin);
        let same = first.is_some_and(|origin| origin == attempt.url().origin());
        let kept = matches!(attempt.status().as_u16(), 307 | 308);
        if same && kept && attempt.previous().len() <= 5 { attempt.follow() } else { attempt.stop() }
    })
}

/// The whole chain of causes in one line; reqwest's own words hide the telling ones.
fn translate(error: &reqwest::Error) -> WireError {
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
        () if tls => (WireErrorKind::Tls, format!("no trusted connection to {target}")),
        () if error.is_builder() => (WireErrorKind::Request, "the request could not be made".to_owned()),
        () if error.is_timeout() => {
            (WireErrorKind::Connection, format!("connecting to {target} took too long"))
        }
        () if error.is_connect() => (WireErrorKind::Connection, format!("{target} cannot be reached")),
        () => (WireErrorKind::Connection, "the connection broke".to_owned()),
    };
    let message = if message.is_empty() { what } else { format!("{what}: {message}") };
    WireError { kind, message }
}

/// Is it a refusal of TLS itself: a certificate, a protocol, a server that speaks something else? It will be the same
/// next time. An IO error hides what it wraps from the chain of causes, so it is opened.
fn is_tls(cause: &(dyn std::error::Error + 'static)) -> bool {
    let wrapped = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    cause.is::<rustls::Error>() || wrapped.is_some_and(|inner| is_tls(inner))
}
