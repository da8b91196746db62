//! What servers ask of us: a person's words, a model's words, a way through a page of authorization.
//!
//! Ports only: who answers knows terminals, models and browsers. Where there is nobody, nothing is declared, and a server
//! that asks all the same is declined.

use std::sync::Arc;

use converse_ensemble::CostMeter;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// Who answers servers in this run.
#[derive(Clone, Default)]
pub struct Responders {
    /// Somebody who can be asked; `None` where nobody can.
    pub elicitor: Option<Arc<dyn Elicitor>>,
    /// Where ensembles with `sampling = true` have a model from.
    pub sampler: Option<Arc<dyn Sampler>>,
    /// Who grants access to servers with `auth = "oauth"`; `None`: it is said how to log in.
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

/// One question of a server. All of it is foreign text.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicitation {
    /// An object of this schema (primitives and choices, one level deep) is wanted.
    Form { message: String, schema: Value },
    /// The person shall open this address. Never opened or fetched by itself.
    Url { message: String, url: String },
}

/// <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation> (checked 2026-11).
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationReply {
    /// With what was filled in; nothing for an address.
    Accept(Option<Map<String, Value>>),
    Decline,
    Cancel,
}

/// Somebody to ask. One question at a time: who implements it queues.
pub trait Elicitor: Send + Sync {
    /// Takes as long as the person takes; dropped when nobody waits for the answer any more.
    fn elicit<'a>(&'a self, ensemble: &'a str, asked: Elicitation) -> BoxFuture<'a, ElicitationReply>;
}

/// A model for servers, behind the user's approval, limits and audit.
pub trait Sampler: Send + Sync {
    /// `params` are those of `sampling/createMessage`, the answer is its result; an error is in words for the server.
    ///
    /// Whatever it costs goes on `meter`, that of the call which the server asks for: also where there is no answer, and
    /// where the future is dropped before there is one.
    fn sample<'a>(
        &'a self,
        ensemble: &'a str,
        params: Value,
        meter: CostMeter,
    ) -> BoxFuture<'a, Result<Value, String>>;
}

/// Tokens of servers, kept between runs. A value is opaque, and secret.
pub trait Vault: Send + Sync {
    fn get(&self, key: &str) -> Result<Option<String>, String>;
    fn put(&self, key: &str, value: &str) -> Result<(), String>;
    fn remove(&self, key: &str) -> Result<(), String>;
    /// Keeps others from locking the same key meanwhile; given back when it is dropped. Blocks for a few
    /// seconds at most.
    fn lock(&self, key: &str) -> Result<Box<dyn Send>, String>;
    /// This is never to be shown, from now on.
    fn hide(&self, _secret: &str) {}
}

/// Takes a person through the page where access is granted.
pub trait Consent: Send + Sync {
    /// Where the browser comes back to. It listens from now on.
    fn redirect_uri(&self) -> BoxFuture<'_, Result<String, String>>;
    /// Has the address opened, and waits for the address that the browser comes back with. Bounded in time.
    fn authorize<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<String, String>>;
}
