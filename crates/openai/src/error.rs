//! Errors as OpenAI's error object.
//!
//! The form is `{"error": {"message", "type", "param", "code"}}`. The libraries raise an exception by the HTTP status and
//! repeat requests with status 408, 409, 429 and from 500 twice, unless the header `x-should-retry` says `false`
//! (`_base_client.py` of PyPI `openai` 3.54.0).

use std::borrow::Cow;

use converse_text::suggest::nearest;
use serde::Serialize;

/// An error of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// HTTP status.
    pub status: u16,
    /// The `type` of the error object.
    pub kind: &'static str,
    pub code: Option<Cow<'static, str>>,
    /// Path of the parameter in the request: `messages[0].content`.
    pub param: Option<String>,
    pub message: String,
    /// Seconds after which the request may succeed.
    pub retry_after: Option<u64>,
    /// Whether the libraries may repeat the request by themselves. `false` if a turn began: its tools must not run twice.
    pub may_retry: bool,
}

/// Kinds of failures of a turn, with their status, type and code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The configuration of this server does not allow the turn.
    Configuration,
    /// The provider refused the request.
    ProviderRefused,
    ProviderUnreachable,
    /// The provider's reply could not be read.
    ProviderNonsense,
    /// A call needs an approval, and nobody can give it.
    Unapproved,
    /// A limit of the turn: steps, time or money.
    Limit,
    Interrupted,
    Internal,
}

const INVALID: &str = "invalid_request_error";

#[derive(Serialize)]
struct Body<'a> {
    error: ErrorObject<'a>,
}

/// The value of `error`; also an event of a stream.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct ErrorObject<'a> {
    message: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    param: Option<&'a str>,
    code: Option<&'a str>,
}

impl ApiError {
    pub fn new(status: u16, kind: &'static str, code: &'static str, message: impl Into<String>) -> Self {
        let (code, message) = (Some(Cow::Borrowed(code)), message.into());
        Self { status, kind, code, param: None, message, retry_after: None, may_retry: true }
    }

    fn request(code: &'static str, param: &str, message: String) -> Self {
        Self { param: Some(param.to_owned()), ..Self::new(400, INVALID, code, message) }
    }

    /// The body is not JSON, or two readers could understand it differently.
    pub fn not_json(why: impl std::fmt::Display) -> Self {
        Self::new(400, INVALID, "invalid_json", format!("the body is not a JSON object: {why}"))
    }

    /// A parameter that does not exist.
    pub fn unknown_parameter<'n>(param: &str, key: &str, known: impl Iterator<Item = &'n str>) -> Self {
        let mut message = format!("unknown parameter: `{param}`");
        if let Some(near) = nearest(key, known) {
            message.push_str(&format!("; did you mean `{near}`?"));
        }
        Self::request("unknown_parameter", param, message)
    }

    /// A parameter of OpenAI's API that this server does not support. `hint` says what to do instead.
    pub fn unsupported_parameter(param: &str, hint: &str) -> Self {
        Self::request("unsupported_parameter", param, format!("`{param}` is not supported: {hint}"))
    }

    /// A value of OpenAI's API that this server does not support.
    pub fn unsupported_value(param: &str, found: impl std::fmt::Display, expected: &str) -> Self {
        let message = format!("`{param}`: {found} is not supported; expected {expected}");
        Self::request("unsupported_value", param, message)
    }

    /// A value that OpenAI's API does not have either.
    pub fn invalid_value(param: &str, message: impl std::fmt::Display) -> Self {
        Self::request("invalid_value", param, format!("`{param}`: {message}"))
    }

    pub fn invalid_type(param: &str, expected: &str, found: &str) -> Self {
        Self::request("invalid_type", param, format!("`{param}`: expected {expected}, found {found}"))
    }

    pub fn missing(param: &str) -> Self {
        Self::request("missing_required_parameter", param, format!("missing required parameter: `{param}`"))
    }

    /// The model does not exist, or the caller has no access to it.
    pub fn model_not_found<'n>(asked: &str, known: impl Iterator<Item = &'n str>) -> Self {
        let near = nearest(asked, known).map(|near| format!("; did you mean `{near}`?"));
        let near = near.unwrap_or_else(|| "; GET /v1/models lists the models".to_owned());
        let message = format!("the model `{asked}` does not exist{near}");
        Self { status: 404, ..Self::request("model_not_found", "model", message) }
    }

    /// An object of the API does not exist, or it belongs to somebody else.
    pub fn not_found(what: &str, id: &str) -> Self {
        Self::new(404, INVALID, "not_found", format!("no {what} has the id `{id}`"))
    }

    pub fn missing_token() -> Self {
        let message = "a token is required: send it as `Authorization: Bearer TOKEN`";
        Self::new(401, INVALID, "missing_api_key", message)
    }

    pub fn invalid_token() -> Self {
        Self::new(401, INVALID, "invalid_api_key", "the token is not valid")
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(403, "permission_error", "permission_denied", message)
    }

    pub fn too_large(limit: u64) -> Self {
        Self::new(413, INVALID, "request_too_large", format!("the body is larger than {limit} bytes"))
    }

    /// The state of an object forbids the request: a response that runs, or an idempotency key of another request.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self { may_retry: false, ..Self::new(409, INVALID, "conflict", message) }
    }

    pub fn rate_limit(retry_after: Option<u64>, message: impl Into<String>) -> Self {
        Self { retry_after, ..Self::new(429, "rate_limit_error", "rate_limit_exceeded", message) }
    }

    /// The server does not take requests at the moment.
    pub fn unavailable(retry_after: Option<u64>, message: impl Into<String>) -> Self {
        Self { retry_after, ..Self::new(503, "server_error", "service_unavailable", message) }
    }

    /// The conversation is longer than the context window of the model. `param` is `messages` or `input`.
    pub fn context_length(param: &str, message: impl Into<String>) -> Self {
        let error = Self::request("context_length_exceeded", param, message.into());
        Self { may_retry: false, ..error }
    }

    /// A turn that began and failed. The libraries are told not to repeat it.
    pub fn failure(kind: FailureKind, message: impl Into<String>) -> Self {
        let (status, kind, code) = match kind {
            FailureKind::Configuration => (400, INVALID, "configuration_error"),
            FailureKind::ProviderRefused => (502, "server_error", "provider_refused"),
            FailureKind::ProviderUnreachable => (502, "server_error", "provider_unreachable"),
            FailureKind::ProviderNonsense => (502, "server_error", "provider_reply_invalid"),
            FailureKind::Unapproved => (403, "permission_error", "approval_required"),
            FailureKind::Limit => (400, INVALID, "turn_limit_exceeded"),
            FailureKind::Interrupted => (503, "server_error", "interrupted"),
            FailureKind::Internal => (500, "server_error", "internal_error"),
        };
        Self { may_retry: false, ..Self::new(status, kind, code, message) }
    }

    pub fn with_param(self, param: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..self }
    }

    /// The body of the HTTP reply.
    pub fn body(&self) -> Vec<u8> {
        serde_json::to_vec(&Body { error: self.object() }).unwrap_or_default()
    }

    /// Headers of the HTTP reply, beside its content type.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let retry = (!self.may_retry).then(|| ("x-should-retry", "false".to_owned()));
        let after = self.retry_after.map(|seconds| ("retry-after", seconds.to_string()));
        retry.into_iter().chain(after)
    }

    pub(super) fn object(&self) -> ErrorObject<'_> {
        let (message, kind) = (self.message.as_str(), self.kind);
        ErrorObject { message, kind, param: self.param.as_deref(), code: self.code.as_deref() }
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(error: &ApiError) -> String {
        String::from_utf8(error.body()).unwrap()
    }

    #[test]
    fn the_body_is_openais_error_object() {
        let error = ApiError::unknown_parameter("temprature", "temprature", ["temperature"].into_iter());
        assert_eq!(
            json(&error),
            r#"{"error":{"message":"unknown parameter: `temprature`; did you mean `temperature`?","type":"invalid_request_error","param":"temprature","code":"unknown_parameter"}}"#
        );
        let error = ApiError::missing_token();
        assert_eq!(
            json(&error),
            r#"{"error":{"message":"a token is required: send it as `Authorization: Bearer TOKEN`","type":"invalid_request_error","param":null,"code":"missing_api_key"}}"#
        );
    }

    #[test]
    fn a_turn_that_began_is_not_repeated_by_the_libraries() {
        let headers = |error: ApiError| error.headers().collect::<Vec<_>>();
        for kind in [
            FailureKind::Configuration,
            FailureKind::ProviderRefused,
            FailureKind::ProviderUnreachable,
            FailureKind::ProviderNonsense,
            FailureKind::Unapproved,
            FailureKind::Limit,
            FailureKind::Interrupted,
            FailureKind::Internal,
        ] {
            let error = ApiError::failure(kind, "it failed");
            assert_eq!(headers(error), [("x-should-retry", "false".to_owned())], "{kind:?}");
        }
        assert_eq!(headers(ApiError::rate_limit(Some(7), "busy")), [("retry-after", "7".to_owned())]);
        assert!(headers(ApiError::unavailable(None, "draining")).is_empty());
    }

    #[test]
    fn a_mistyped_model_is_named_with_its_neighbour() {
        let known = || ["scout", "writer"].into_iter();
        let error = ApiError::model_not_found("scuot", known());
        assert_eq!((error.status, error.param.as_deref()), (404, Some("model")));
        assert!(error.message.ends_with("did you mean `scout`?"), "{error}");
        let error = ApiError::model_not_found("gpt-6", known());
        assert!(error.message.ends_with("GET /v1/models lists the models"), "{error}");
    }
}
