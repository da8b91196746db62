//! Errors of `/api`: a status, a code and a message.

use converse_host::failure::{Failure, Kind};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use crate::front::heavy_work::Undone;
use crate::http_server::{Reply, reply};

/// Why a request is not answered as asked.
#[derive(Debug, Clone)]
pub(super) struct ApiFailure {
    status: StatusCode,
    code: &'static str,
    message: String,
    hint: Option<String>,
    retry_after: bool,
    /// What a person is asked, beside the error.
    approval: Option<Box<Value>>,
}

impl ApiFailure {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hint: None, retry_after: false, approval: None }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", message)
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(super) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "there is no such thing here")
    }

    pub(super) fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    pub(super) fn not_kept(error: &std::io::Error) -> Self {
        let message = format!("the answer was not saved: {error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "not-kept", message)
    }

    pub(super) fn not_read(error: &std::io::Error) -> Self {
        let message = format!("the questions of the session were not read: {error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "not-read", message)
    }

    /// A call waits for a person. `approval` describes it as in the list of approvals.
    pub(super) fn needs_approval(message: impl Into<String>, approval: Value) -> Self {
        Self { approval: Some(Box::new(approval)), ..Self::conflict("needs-approval", message) }
    }

    pub(super) fn crashed() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the request crashed")
    }

    pub(super) fn busy() -> Self {
        Self::conflict("busy", "a turn is running in this session")
    }

    pub(super) fn is_busy(&self) -> bool {
        self.code == "busy"
    }

    /// Returns whether the same may succeed later, without a change of what was asked.
    pub(super) fn may_pass(&self) -> bool {
        self.status.is_server_error() || self.is_busy()
    }

    /// The sessions are in a database, and this needs files.
    pub(super) fn store_unsupported(what: &str) -> Self {
        let message = format!("{what} are not available while sessions are kept in a database");
        Self::new(StatusCode::NOT_IMPLEMENTED, "store-unsupported", message)
    }

    /// The database does not answer; the client may try again.
    pub(super) fn no_database(error: &std::io::Error) -> Self {
        let message = format!("the database of the sessions: {error}");
        Self { retry_after: true, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "no-database", message) }
    }

    /// Other requests wait for the database, and nobody knows for how long.
    fn no_place() -> Self {
        let message = "too many requests wait for sessions";
        Self { retry_after: true, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", message) }
    }

    /// Too much is going on; the client may try again.
    pub(super) fn too_many(code: &'static str, message: impl Into<String>) -> Self {
        Self { retry_after: true, ..Self::new(StatusCode::TOO_MANY_REQUESTS, code, message) }
    }

    /// No turn begins any more. Another server, or this one after its restart, may begin it.
    pub(super) fn stopping() -> Self {
        let message = "the server is shutting down";
        Self { retry_after: true, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", message) }
    }

    pub(super) fn reply(&self) -> Reply {
        let mut body = json!({ "error": { "code": self.code, "message": self.message } });
        if let Some(approval) = &self.approval {
            body["approval"] = Value::clone(approval);
        }
        if let Some(hint) = &self.hint {
            body["error"]["hint"] = json!(hint);
        }
        let mut reply = reply(self.status, "application/json", body.to_string());
        if self.retry_after {
            reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        reply
    }
}

impl From<Undone> for ApiFailure {
    fn from(undone: Undone) -> Self {
        match undone {
            Undone::NoPlace => Self::no_place(),
            Undone::Crashed => Self::crashed(),
        }
    }
}

impl From<Failure> for ApiFailure {
    fn from(failure: Failure) -> Self {
        let status = match (failure.kind, failure.code) {
            (_, "no-such-session") => StatusCode::NOT_FOUND,
            (_, "session-busy" | "session-in-use") => StatusCode::CONFLICT,
            (Kind::Usage | Kind::Configuration | Kind::Ensemble, _) => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let hint = failure.hints.first().cloned();
        Self { hint, ..Self::new(status, failure.code, failure.message) }
    }
}

impl From<converse_session::SessionError> for ApiFailure {
    fn from(error: converse_session::SessionError) -> Self {
        match error {
            converse_session::SessionError::InUse { .. } => Self::busy(),
            error => Failure::of_session(error).into(),
        }
    }
}
