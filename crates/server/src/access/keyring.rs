//! The public keys of an issuer: found by what it says of itself, kept, and asked for again when a token names one that
//! is not among them. Never more than once a minute, whatever tokens come.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::{RwLock, RwLockWriteGuard};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Denied;
use super::place::{Place, is_safe};
use super::signature::{Key, Signed};

/// Between two requests for keys.
const PAUSE: Duration = Duration::from_secs(60);
/// Keys that were withdrawn are good for so long at most, if the issuer can be reached.
const MAX_AGE: Duration = Duration::from_secs(3600);
/// And if it cannot be reached.
const MAX_AGE_ALONE: Duration = Duration::from_secs(24 * 3600);
/// For a whole look: metadata and keys.
const LIMIT: Duration = Duration::from_secs(20);
const MAX_BYTES: usize = 256 * 1024;
const MAX_KEYS: usize = 64;

/// Where an issuer says what it is (RFC 8414, then OpenID Connect's name for it). Both as RFC 8414 places them.
const NAMES: [&str; 2] = ["oauth-authorization-server", "openid-configuration"];

/// How keys are fetched. Implemented by who has an HTTP client.
pub trait Keys: std::fmt::Debug + Send + Sync {
    /// The body of a successful answer, at most 256 KiB, without following redirects; otherwise why there is none.
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Vec<u8>, String>>;
}

#[derive(Debug)]
pub(super) struct Keyring {
    issuer: String,
    home: Place,
    fetch: Arc<dyn Keys>,
    known: RwLock<Known>,
    tried: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Known {
    keys: Vec<Key>,
    at: Option<Instant>,
    /// The last look brought nothing: nobody knows what the keys are now.
    is_stale: bool,
}

impl Keyring {
    pub(super) fn new(issuer: String, home: Place, fetch: Arc<dyn Keys>) -> Self {
        Self { issuer, home, fetch, known: RwLock::default(), tried: Mutex::default() }
    }

    /// The keys that may have signed it.
    pub(super) async fn keys_for(&self, token: &Signed<'_>) -> Result<Vec<Key>, Denied> {
        let found = self.find(token, MAX_AGE);
        if !found.is_empty() {
            return Ok(found);
        }
        self.look_again(token).await;
        let found = self.find(token, MAX_AGE_ALONE);
        let is_unknowable = self.read(|known| known.is_stale || known.is_older(MAX_AGE_ALONE));
        match found.is_empty() {
            true if is_unknowable => Err(Denied::Unknowable),
            true => Err(Denied::Invalid),
            false => Ok(found),
        }
    }

    /// One at a time; who waited looks whether it is there now.
    async fn look_again(&self, token: &Signed<'_>) {
        let mut tried = self.tried.lock().await;
        let is_too_soon = tried.is_some_and(|tried| tried.elapsed() < PAUSE);
        if is_too_soon || !self.find(token, MAX_AGE).is_empty() {
            return;
        }
        *tried = Some(Instant::now());
        let looked = tokio::time::timeout(LIMIT, self.look());
        match looked.await.unwrap_or_else(|_| Err("it took too long".to_owned())) {
            Ok(keys) => *self.known() = Known { keys, at: Some(Instant::now()), is_stale: false },
            Err(reason) => {
                self.known().is_stale = true;
                tracing::warn!(issuer = self.issuer, "its keys cannot be had: {reason}");
            }
        }
    }

    async fn look(&self) -> Result<Vec<Key>, String> {
        let url = self.keys_url().await?;
        let set = self.json(&url).await?;
        let keys = set.get("keys").and_then(Value::as_array).ok_or("the answer holds no keys")?;
        let keys: Vec<_> = keys.iter().take(MAX_KEYS).filter_map(Key::read).collect();
        if keys.is_empty() {
            Err("none of its keys is for signatures that we know".to_owned())
        } else {
            Ok(keys)
        }
    }

    async fn keys_url(&self) -> Result<String, String> {
        let mut urls: Vec<_> = NAMES.iter().map(|name| self.home.well_known(name)).collect();
        urls.push(format!("{}{}/.well-known/openid-configuration", self.home.origin, self.home.path));
        urls.dedup();
        let mut reason = String::new();
        for url in urls {
            let said = match self.json(&url).await {
                Ok(said) => said,
                Err(why) => {
                    reason = why;
                    continue;
                }
            };
            // Whoever says to be another must not be believed (RFC 8414, section 3.3).
            if said.get("issuer").and_then(Value::as_str) != Some(&self.issuer) {
                return Err(format!("{url} speaks of another issuer"));
            }
            let keys = said.get("jwks_uri").and_then(Value::as_str).filter(|keys| is_safe(keys));
            return keys.map(str::to_owned).ok_or_else(|| format!("{url} names no safe `jwks_uri`"));
        }
        Err(reason)
    }

    async fn json(&self, url: &str) -> Result<Value, String> {
        let body = self.fetch.fetch(url).await?;
        if body.len() > MAX_BYTES {
            return Err(format!("{url} answered with more than {MAX_BYTES} bytes"));
        }
        serde_json::from_slice(&body).map_err(|_| format!("{url} answered with something else than JSON"))
    }

    /// Those that fit; none if they are older than that.
    fn find(&self, token: &Signed<'_>, age: Duration) -> Vec<Key> {
        self.read(|known| {
            if known.is_older(age) {
                return Vec::new();
            }
            // One that names no key: a few are tried.
            known.keys.iter().filter(|key| token.fits(key)).take(4).cloned().collect()
        })
    }

    fn read<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.known.read())
    }

    fn known(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write()
    }
}

impl Known {
    /// Keys that were never had are older than anything.
    fn is_older(&self, age: Duration) -> bool {
        self.at.is_none_or(|at| at.elapsed() >= age)
    }
}
