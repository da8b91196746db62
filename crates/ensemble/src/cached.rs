//! Cached answers of tools whose descriptor says `cache = "5m"`, for equal arguments.
//!
//! Only successes are cached, and none that refers to bytes of a session. The key has everything that the answer depends
//! on: the declaration of the tool, the arguments with defaults filled in, and the circumstances (the working directory,
//! the values of the variables that the ensemble refers to). Permissions are judged at each call all the same.

mod in_memory;

use std::sync::Arc;
use std::time::Duration;

use converse_canister::{Arguments, Content, Digest, canonical};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::ensemble::{ConnectError, Connection, Ensemble};
use crate::tool::Tool;
use crate::{Answer, Context, Instructions, Invocable, InvokeError, Relay, ToolProgress};

pub use in_memory::ResultsInMemory;

/// A store of answers. Nothing here fails: a lost answer is requested again.
pub trait Results: Send + Sync {
    /// Returns the answer under the key, if its time has not passed.
    fn get(&self, key: &Digest) -> Option<Vec<Content>>;
    fn put(&self, key: &Digest, content: &[Content], lifetime: Duration);
}

/// A connection whose tools answer from the cache if their policy allows it.
pub struct Cached<C> {
    pub inner: C,
    pub results: Arc<dyn Results>,
    /// Digest of everything else that an answer depends on.
    pub circumstances: Digest,
}

impl<C> Cached<C> {
    fn wrapped(&self, mut tools: Vec<Tool>) -> Vec<Tool> {
        for tool in &mut tools {
            let Some(lifetime) = tool.policy.cache else { continue };
            let (inner, results) = (Arc::clone(&tool.invocable), Arc::clone(&self.results));
            let about = json!([self.circumstances, tool.qualified, tool.digest()]);
            tool.invocable = Arc::new(CachedTool { inner, results, about, lifetime });
        }
        tools
    }
}

impl<C: Connection> Connection for Cached<C> {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        self.inner.connect(ensemble).map(|tools| tools.map(|tools| self.wrapped(tools))).boxed()
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        self.inner.refresh(ensemble).map(|tools| tools.map(|tools| self.wrapped(tools))).boxed()
    }

    fn instructions(&self) -> Option<Instructions> {
        self.inner.instructions()
    }

    fn relay(&self) -> Option<&dyn Relay> {
        self.inner.relay()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        self.inner.disconnect()
    }
}

impl<C: std::fmt::Debug> std::fmt::Debug for Cached<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cached").field("inner", &self.inner).finish_non_exhaustive()
    }
}

struct CachedTool {
    inner: Arc<dyn Invocable>,
    results: Arc<dyn Results>,
    about: Value,
    lifetime: Duration,
}

impl CachedTool {
    fn key(&self, arguments: &Arguments) -> Digest {
        let whole = json!([self.about, arguments.object]);
        Digest(Sha256::digest(canonical(&whole)).into())
    }

    fn keep(&self, key: &Digest, answer: &Answer) {
        // A tool may shorten the time, and never lengthen it.
        let lifetime = answer.fresh_for.map_or(self.lifetime, |fresh_for| fresh_for.min(self.lifetime));
        let whole = answer.content.iter().all(|content| !matches!(content, Content::Blob { .. }));
        if !answer.is_error && whole && !lifetime.is_zero() {
            self.results.put(key, &answer.content, lifetime);
        }
    }
}

impl Invocable for CachedTool {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        async move {
            // The answers of a client are part of what its call asks for, and not of the key.
            if context.host.client().is_some_and(|client| client.round() != Default::default()) {
                return self.inner.invoke(context, arguments).await;
            }
            let key = self.key(arguments);
            if let Some(content) = self.results.get(&key) {
                context.host.say(ToolProgress::Log { message: "the answer of an earlier call".to_owned() });
                return Ok(Answer { kept: true, ..Answer::new(content, false) });
            }
            let answer = self.inner.invoke(context, arguments).await?;
            self.keep(&key, &answer);
            Ok(answer)
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
