//! [`CallClient`]: the program that a call comes from, if it speaks MCP itself.
//!
//! It gets everything that a server reports during the call, and the server's requests are passed on to it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use converse_config::LogLevel;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::ToolProgress;

/// A log message as its server wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerLog {
    pub level: LogLevel,
    pub logger: Option<String>,
    pub data: Value,
}

/// Removes secrets from a text.
pub(crate) type CleanText = dyn Fn(&str) -> String + Send + Sync;

impl ServerLog {
    /// Applies `clean` to each text in the message.
    pub(crate) fn clean(&mut self, clean: &CleanText) {
        if let Some(logger) = &mut self.logger {
            *logger = clean(logger);
        }
        clean_texts(&mut self.data, clean);
    }
}

/// Applies `clean` to each text of a value.
pub(crate) fn clean_texts(value: &mut Value, clean: &CleanText) {
    match value {
        Value::String(text) => *text = clean(text),
        Value::Array(entries) => entries.iter_mut().for_each(|entry| clean_texts(entry, clean)),
        Value::Object(members) => {
            let whole = std::mem::take(members);
            *members = whole.into_iter().map(|(key, value)| (clean(&key), value)).collect();
            members.values_mut().for_each(|value| clean_texts(value, clean));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Why a client did not answer a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRefusal {
    pub code: i32,
    pub message: String,
}

/// The client of one call. No method blocks: a client that does not read loses the oldest reports.
pub trait CallClient: Send + Sync {
    /// Returns whether anything is done with reports.
    fn wants_reports(&self) -> bool {
        true
    }

    /// Returns an identifier of the principal for whom the call is made. Equal for all calls of one principal.
    fn principal(&self) -> Arc<str> {
        Arc::default()
    }

    /// Takes one report. None is left out.
    fn report(&self, progress: ToolProgress);

    /// Takes a log message of the server, of any level.
    fn log(&self, log: ServerLog);

    /// Returns the lowest level of log messages that this call asks for; `None` if the call says nothing about it.
    fn log_level(&self) -> Option<LogLevel> {
        None
    }

    /// Returns whether the client can be asked with this method and these parameters while the call runs.
    fn answers(&self, _method: &str, _params: &Value) -> bool {
        false
    }

    /// Passes a request of the server on. The client has any time it needs; the future is dropped when the answer is no
    /// longer needed.
    fn ask<'a>(&'a self, method: &'a str, _params: Value) -> BoxFuture<'a, Result<Value, ClientRefusal>> {
        let message = format!("the client does not answer `{method}`");
        Box::pin(std::future::ready(Err(ClientRefusal { code: -32601, message })))
    }

    /// Returns whether the client can get this request inside a result of type `input_required`. It then repeats its call
    /// with the answer, so nothing is kept between the two.
    fn takes_round(&self, _method: &str, _params: &Value) -> bool {
        false
    }

    /// Takes the result of type `input_required`, or `{ "error": … }`, which is the answer of this call; or the type `task`:
    /// the call goes on.
    fn hand_on(&self, _round: Value) {}

    /// Returns the answers and the state with which this call repeats an earlier one.
    fn round(&self) -> (BTreeMap<String, Value>, Option<String>) {
        (BTreeMap::new(), None)
    }
}

/// A shared client, in values that are printed for debugging.
#[derive(Clone)]
pub(crate) struct SharedClient(pub(crate) Arc<dyn CallClient>);

impl fmt::Debug for SharedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedClient")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Host;

    /// Answers with the parameters of the question.
    struct Repeats;

    impl CallClient for Repeats {
        fn report(&self, _: ToolProgress) {}
        fn log(&self, _: ServerLog) {}
        fn ask<'a>(&'a self, _: &'a str, params: Value) -> BoxFuture<'a, Result<Value, ClientRefusal>> {
            Box::pin(std::future::ready(Ok(params)))
        }
    }

    #[tokio::test]
    async fn a_question_that_is_passed_on_has_no_secrets() {
        let host = Host::of_client(Arc::new(Repeats)).cleaned(|text| text.replace("s3cret", "[secret]"));
        let asked =
            host.ask("elicitation/create", json!({ "message": "is s3cret right?", "s3cret": [1] })).await;
        assert_eq!(asked, Ok(json!({ "message": "is [secret] right?", "[secret]": [1] })));
    }
}
