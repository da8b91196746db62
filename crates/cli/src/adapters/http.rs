//! The provider's wire over HTTP, by reqwest.

use std::time::Duration;

use crate::adapters::client::{Cause, CauseKind, ClientPlan, Clients, Redirects, cause_of};
use crate::adapters::secrets::Secret;
use bytes::Bytes;
use converse_engine::{ByteStream, Wire, WireError, WireErrorKind};
use converse_provider::AuthScheme;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};

pub(crate) struct HttpWire {
    key: Option<Secret>,
    clients: Clients,
}

impl HttpWire {
    pub(crate) fn new(key: Option<Secret>, connect_timeout: Duration) -> Self {
        let plan = ClientPlan { connect_timeout, redirects: Redirects::SameOrigin, reuse: true };
        Self { key, clients: Clients::new(plan) }
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
            let client = self.clients.to(request.uri()).map_err(in_words)?;
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

fn translate(error: &reqwest::Error) -> WireError {
    in_words(cause_of(error))
}

/// The cause in the words of the wire.
fn in_words(Cause { kind, message }: Cause) -> WireError {
    let kind = match kind {
        CauseKind::Tls => WireErrorKind::Tls,
        CauseKind::Request => WireErrorKind::Request,
        CauseKind::Unreachable | CauseKind::Broken => WireErrorKind::Connection,
    };
    WireError { kind, message }
}
