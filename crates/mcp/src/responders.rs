//! Ports through which servers reach the user: elicitation, sampling, authorization and token storage.
//!
//! Ports only: the implementations know terminals, models and browsers. Without an implementation, the capability is
//! not declared and a request for it is declined.

use std::sync::Arc;

use converse_ensemble::CostMeter;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// The implementations that answer server requests in this run.
#[derive(Clone, Default)]
pub struct Responders {
    /// Answers elicitation requests; `None` if no person is available.
    pub elicitor: Option<Arc<dyn Elicitor>>,
    /// Provides the model for ensembles with `sampling = true`.
    pub sampler: Option<Arc<dyn Sampler>>,
    /// Whether requests of a server may go to the client of the call ([`Host::client`](converse_ensemble::Host::client())),
    /// which is itself a program. The capabilities are then declared, and a client without them is not asked.
    pub to_client: bool,
    /// Obtains authorization for servers with `auth = "oauth"`; `None`: the error says how to log in.
    pub consent: Option<Arc<dyn Consent>>,
}

impl std::fmt::Debug for Responders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asked")
            .field("person", &self.elicitor.is_some())
            .field("sampler", &self.sampler.is_some())
            .field("consent", &self.consent.is_some())
            .finish()
    }
}

/// An elicitation request of a server. All of it is foreign text.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicitation {
    /// Asks for an object of this schema (primitives and choices, one level deep).
    Form { message: String, schema: Value },
    /// Asks the user to open this address, which is never opened or fetched automatically.
    Url { message: String, url: String },
}

/// The answer to an elicitation request. <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>
/// (checked 2026-11).
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationReply {
    /// The values of the form; `None` for an address.
    Accept(Option<Map<String, Value>>),
    Decline,
    Cancel,
}

/// Asks the user. The implementation queues concurrent requests.
pub trait Elicitor: Send + Sync {
    /// Asks the user without a time limit. The future is dropped when the answer is no longer needed.
    fn elicit<'a>(&'a self, ensemble: &'a str, question: Elicitation) -> BoxFuture<'a, ElicitationReply>;
}

/// A model for servers, subject to the user's approval, limits and audit.
pub trait Sampler: Send + Sync {
    /// Answers `sampling/createMessage`: `params` are its parameters, the value is its result.
    ///
    /// # Errors
    ///
    /// A message for the server.
    ///
    /// The cost is added to `meter`, which belongs to the call that the server makes the request for, even if there is no
    /// answer or the future is dropped.
    fn sample<'a>(
        &'a self,
        ensemble: &'a str,
        params: Value,
        meter: CostMeter,
    ) -> BoxFuture<'a, Result<Value, String>>;
}

/// Stores the tokens of servers between runs. Values are opaque and secret.
pub trait Vault: Send + Sync {
    fn get(&self, key: &str) -> Result<Option<String>, String>;
    fn put(&self, key: &str, value: &str) -> Result<(), String>;
    fn remove(&self, key: &str) -> Result<(), String>;
    /// Locks the key against other processes until the value is dropped. Blocks for a few seconds at most.
    fn lock(&self, key: &str) -> Result<Box<dyn Send>, String>;
    /// Redacts this text from all output from now on.
    fn hide(&self, _secret: &str) {}
}

/// Guides the user through the authorization page.
pub trait Consent: Send + Sync {
    /// Returns the redirect URI and starts to listen on it.
    fn redirect_uri(&self) -> BoxFuture<'_, Result<String, String>>;
    /// Opens the address and returns the address that the browser is redirected to. Bounded in time.
    fn authorize<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<String, String>>;
}
