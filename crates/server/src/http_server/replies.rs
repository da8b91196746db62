//! Answers without a tool call.

use std::convert::Infallible;

use bytes::Bytes;
use converse_gateway::RejectedMessage;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};

use crate::access::{Access, Denied};

pub(crate) type Reply = Response<BoxBody<Bytes, Infallible>>;

pub(super) const PLAIN: &str = "text/plain; charset=utf-8";

pub(crate) fn reply(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(text.into()).boxed());
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

pub(super) fn plain(status: StatusCode, text: &'static str) -> Reply {
    reply(status, PLAIN, text)
}

pub(super) fn with(mut reply: Reply, name: HeaderName, value: &'static str) -> Reply {
    reply.headers_mut().insert(name, HeaderValue::from_static(value));
    reply
}

pub(super) fn not_allowed(methods: &'static str) -> Reply {
    with(plain(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n"), ALLOW, methods)
}

/// Answers a health check. With 503, a load balancer stops using the replica.
pub(super) fn health(is_draining: bool) -> Reply {
    let reply = match is_draining {
        false => plain(StatusCode::OK, "ok\n"),
        true => plain(StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
    };
    with(reply, CACHE_CONTROL, "no-store")
}

/// Answers a check of readiness. `states` is for clients with access only.
pub(super) fn readiness(is_ready: bool, states: Option<Value>) -> Reply {
    let mut body = json!({ "ready": is_ready });
    if let Some(states) = states {
        body["upstreams"] = states;
    }
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    with(reply(status, "application/json", format!("{body}\n")), CACHE_CONTROL, "no-store")
}

pub(super) fn denied(access: &Access, why: Denied) -> Reply {
    let reply = match why {
        Denied::Missing => plain(StatusCode::UNAUTHORIZED, "a bearer token is required\n"),
        Denied::Invalid => plain(StatusCode::UNAUTHORIZED, "the token is not valid\n"),
        Denied::Scope => plain(StatusCode::FORBIDDEN, "the token lacks a scope\n"),
        Denied::View => plain(StatusCode::FORBIDDEN, "the token does not lead here; see `[[views]]`\n"),
        Denied::KeysUnavailable => {
            let reply = plain(StatusCode::SERVICE_UNAVAILABLE, "the keys of the issuer are not available\n");
            return with(reply, RETRY_AFTER, "60");
        }
    };
    challenged(reply, &access.challenge(why))
}

pub(super) fn challenged(mut reply: Reply, challenge: &str) -> Reply {
    // The challenge has only checked URLs and scopes, so it is always a valid header.
    if let Ok(value) = HeaderValue::from_str(challenge) {
        reply.headers_mut().insert(WWW_AUTHENTICATE, value);
    }
    reply
}

/// Answers a body that is not a message, with an error of the protocol.
pub(super) fn rejected(message: RejectedMessage) -> Reply {
    reply(StatusCode::BAD_REQUEST, "application/json", message.to_json())
}
