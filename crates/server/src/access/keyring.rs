//! The public keys of an issuer, found by its metadata and cached. They are fetched again when a token names an unknown
//! key, at most once a minute.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::{RwLock, RwLockWriteGuard};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Denied;
use super::oauth_url::{OauthUrl, is_safe};
use super::signature::{Key, SignedToken};

/// Minimum time between two requests for keys.
const FETCH_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum age of keys if the issuer can be reached.
const MAX_AGE: Duration = Duration::from_secs(3600);
/// Maximum age of keys if the issuer cannot be reached.
const MAX_AGE_OFFLINE: Duration = Duration::from_secs(24 * 3600);
/// Time limit for fetching metadata and keys.
const FETCH_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_BYTES: usize = 256 * 1024;
const MAX_KEYS: usize = 64;

/// The well-known names of issuer metadata (RFC 8414 and OpenID Connect), at the place of RFC 8414.
const NAMES: [&str; 2] = ["oauth-authorization-server", "openid-configuration"];

/// Fetches the metadata and keys of an issuer, with an HTTP client.
pub trait KeyFetcher: std::fmt::Debug + Send + Sync {
    /// Returns the body of a successful answer, at most 256 KiB, without following redirects.
    ///
    /// # Errors
    ///
    /// Returns the reason why there is no such body.
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Vec<u8>, String>>;
}

/// Gets a line when the keys are no longer available, and when they are again.
pub(super) struct Report(pub(super) Arc<dyn Fn(&str) + Send + Sync>);

impl std::fmt::Debug for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Report")
    }
}

#[derive(Debug)]
pub(super) struct Keyring {
    issuer: String,
    home: OauthUrl,
    fetcher: Arc<dyn KeyFetcher>,
    pub(super) report: Report,
    known: RwLock<CachedKeys>,
    tried: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct CachedKeys {
    keys: Vec<Key>,
    at: Option<Instant>,
    /// The last fetch failed, so the keys may have changed.
    is_stale: bool,
}

impl Keyring {
    pub(super) fn new(issuer: String, home: OauthUrl, fetcher: Arc<dyn KeyFetcher>) -> Self {
        let report = Report(Arc::new(|_| {}));
        Self { issuer, home, fetcher, report, known: RwLock::default(), tried: Mutex::default() }
    }

    /// Returns the keys that may have signed the token.
    pub(super) async fn keys_for(&self, token: &SignedToken<'_>) -> Result<Vec<Key>, Denied> {
        let found = self.find(token, MAX_AGE);
        if !found.is_empty() {
            return Ok(found);
        }
        self.refresh(token).await;
        let found = self.find(token, MAX_AGE_OFFLINE);
        let is_unavailable = self.read(|known| known.is_stale || known.is_older(MAX_AGE_OFFLINE));
        match found.is_empty() {
            true if is_unavailable => Err(Denied::KeysUnavailable),
            true => Err(Denied::Invalid),
            false => Ok(found),
        }
    }

    /// Fetches the keys, one request at a time. A task that waited checks the new keys first.
    async fn refresh(&self, token: &SignedToken<'_>) {
        let mut tried = self.tried.lock().await;
        let is_too_soon = tried.is_some_and(|tried| tried.elapsed() < FETCH_INTERVAL);
        if is_too_soon || !self.find(token, MAX_AGE).is_empty() {
            return;
        }
        *tried = Some(Instant::now());
        let fetched = tokio::time::timeout(FETCH_TIMEOUT, self.fetch_keys());
        match fetched.await.unwrap_or_else(|_| Err("timeout".to_owned())) {
            Ok(keys) => {
                let now = CachedKeys { keys, at: Some(Instant::now()), is_stale: false };
                if std::mem::replace(&mut *self.known(), now).is_stale {
                    self.report.0(&format!("the keys of the issuer {} are available again", self.issuer));
                }
            }
            Err(reason) => {
                let was_stale = std::mem::replace(&mut self.known().is_stale, true);
                if !was_stale {
                    let issuer = &self.issuer;
                    self.report.0(&format!(
                        "warning: the keys of the issuer {issuer} cannot be fetched, so tokens signed by unknown keys are \
                         refused: {reason}"
                    ));
                }
                tracing::debug!(issuer = self.issuer, "the keys of the issuer are not available: {reason}");
            }
        }
    }

    async fn fetch_keys(&self) -> Result<Vec<Key>, String> {
        let url = self.keys_url().await?;
        let set = self.json(&url).await?;
        let keys = set.get("keys").and_then(Value::as_array).ok_or("the answer has no `keys`")?;
        let keys: Vec<_> = keys.iter().take(MAX_KEYS).filter_map(Key::read).collect();
        if keys.is_empty() {
            Err("none of the keys is for a supported signature algorithm".to_owned())
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
            let metadata = match self.json(&url).await {
                Ok(metadata) => metadata,
                Err(why) => {
                    reason = why;
                    continue;
                }
            };
            // Metadata of another issuer must not be used (RFC 8414, section 3.3).
            if metadata.get("issuer").and_then(Value::as_str) != Some(&self.issuer) {
                return Err(format!("{url} is the metadata of another issuer"));
            }
            let keys = metadata.get("jwks_uri").and_then(Value::as_str).filter(|keys| is_safe(keys));
            return keys
                .map(str::to_owned)
                .ok_or_else(|| format!("{url} has no safe `jwks_uri`: expected https"));
        }
        Err(reason)
    }

    async fn json(&self, url: &str) -> Result<Value, String> {
        let body = self.fetcher.fetch(url).await?;
        if body.len() > MAX_BYTES {
            return Err(format!("{url} answered with more than {MAX_BYTES} bytes"));
        }
        serde_json::from_slice(&body).map_err(|_| format!("{url} answered with invalid JSON"))
    }

    /// Returns the cached keys that match the token; none if the cache is older than `age`.
    fn find(&self, token: &SignedToken<'_>, age: Duration) -> Vec<Key> {
        self.read(|known| {
            if known.is_older(age) {
                return Vec::new();
            }
            // A token without a key id is tried with a few keys.
            known.keys.iter().filter(|key| token.matches(key)).take(4).cloned().collect()
        })
    }

    fn read<T>(&self, look: impl FnOnce(&CachedKeys) -> T) -> T {
        look(&self.known.read())
    }

    fn known(&self) -> RwLockWriteGuard<'_, CachedKeys> {
        self.known.write()
    }
}

impl CachedKeys {
    /// Returns whether the keys are older than `age`, or were never fetched.
    fn is_older(&self, age: Duration) -> bool {
        self.at.is_none_or(|at| at.elapsed() >= age)
    }
}
