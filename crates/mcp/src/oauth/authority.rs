//! [`Authority`]: the token of one server during a run, and the answers to its challenges.

use std::path::PathBuf;
use std::sync::Arc;

use converse_config::{ConnectionPlan, OauthPlan, Origin, SecretRef, TransportPlan};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::Url;
use rmcp::transport::auth::WWWAuthenticateParams;

use super::destinations::ServerOrigin;
use super::error::OauthError;
use super::grant::{Grant, now};
use super::guarded_http::GuardedHttp;
use super::renewal::Renewed;
use super::scopes;
use super::store::is_redactable;
use super::store::owner_directory;
use crate::http::Bearer;
use crate::{Surroundings, sanitize};

/// Number of logins, and of extensions of the scopes, per run. Stops at a server that refuses every new token.
const MAX_LOGINS: u32 = 3;
const MAX_STEPS: u32 = 3;

/// The source of tokens for one server.
pub(crate) struct Authority {
    pub(super) ensemble: String,
    pub(super) plan: OauthPlan,
    url: SecretRef,
    /// The directory that the descriptor belongs to; `None` for the user's own.
    pub(super) owner: Option<PathBuf>,
    pub(super) surroundings: Arc<Surroundings>,
    /// The token in use.
    current: Mutex<Option<Grant>>,
    /// Held during a renewal or a login, so that concurrent requests wait for its result.
    pub(super) attempts: tokio::sync::Mutex<Attempts>,
}

/// The attempts of this run.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    logins: u32,
    steps: u32,
    /// The last renewed token. If the server refuses it, it is not renewed again.
    renewed: Option<String>,
}

impl Authority {
    /// Creates the authority; `None` without `auth = "oauth"`.
    pub(crate) fn of(
        ensemble: &str,
        connection: &ConnectionPlan,
        origin: &Origin,
        surroundings: &Arc<Surroundings>,
    ) -> Option<Arc<Self>> {
        let (TransportPlan::Http { url, .. }, Some(plan)) = (&connection.transport, &connection.auth) else {
            return None;
        };
        Some(Arc::new(Self {
            ensemble: ensemble.to_owned(),
            plan: plan.clone(),
            url: url.clone(),
            owner: owner_directory(origin, surroundings),
            surroundings: Arc::clone(surroundings),
            current: Mutex::default(),
            attempts: tokio::sync::Mutex::default(),
        }))
    }

    /// Returns the token to send, and renews an expired one first.
    async fn current_token(&self) -> Result<Option<String>, OauthError> {
        if let Some(grant) = self.current().filter(|grant| !grant.is_stale(now())) {
            return Ok(Some(grant.access));
        }
        let mut attempts = self.attempts.lock().await;
        let Some(grant) = self.stored()? else { return Ok(None) };
        if !grant.is_stale(now()) {
            return Ok(Some(self.set_current(grant)));
        }
        match self.renewed(&grant, None).await? {
            Renewed::Grant(grant) => {
                attempts.renewed = Some(grant.access.clone());
                Ok(Some(self.set_current(grant)))
            }
            // The server's challenge says what it needs.
            Renewed::Ended => Ok(None),
        }
    }

    async fn handle_challenge(
        &self,
        status: u16,
        sent: Option<&str>,
        challenge: &str,
    ) -> Result<String, OauthError> {
        let mut attempts = self.attempts.lock().await;
        let wanted = WWWAuthenticateParams::parse(challenge, &self.server_origin()?.url);
        let stored = self.stored()?;
        // Another request or process has obtained a new token since.
        if let Some(grant) = &stored
            && sent != Some(grant.access.as_str())
            && !grant.is_stale(now())
        {
            return Ok(self.set_current(grant.clone()));
        }
        match status {
            403 if wanted.is_insufficient_scope() => {
                let scopes = scopes::of(wanted.scope.as_deref().unwrap_or_default());
                self.step_up(&mut attempts, stored.as_ref(), &scopes, challenge).await
            }
            403 => {
                let why = wanted.error_description.or(wanted.error).map(|why| format!(": {why}"));
                let why = why.unwrap_or_default();
                Err(OauthError::failed(
                    &format!("the server refuses the account that you are logged in with (HTTP 403){why}"),
                    &self.secrets(),
                ))
            }
            _ => self.reauthorize(&mut attempts, stored.as_ref(), sent, challenge).await,
        }
    }

    /// Renews the token or logs in after the server refused the token, or if there is none.
    async fn reauthorize(
        &self,
        attempts: &mut Attempts,
        stored: Option<&Grant>,
        sent: Option<&str>,
        challenge: &str,
    ) -> Result<String, OauthError> {
        let mut why = "";
        if let Some(grant) = stored {
            why = " because it no longer accepts the stored token";
            let fresh = sent.is_some() && sent == attempts.renewed.as_deref();
            if !fresh && let Renewed::Grant(grant) = self.renewed(grant, Some(challenge)).await? {
                attempts.renewed = Some(grant.access.clone());
                return Ok(self.set_current(grant));
            }
        }
        if self.surroundings.consent.is_none() {
            return Err(OauthError::LoggedOut { ensemble: self.ensemble.clone(), why });
        }
        attempts.logins += 1;
        if attempts.logins > MAX_LOGINS {
            let message = format!("the server accepted none of {MAX_LOGINS} new tokens");
            return Err(OauthError::Failed(message));
        }
        Ok(self.granted(Some(challenge), &[], stored).await?.access)
    }

    /// Logs in for more scopes: the token is valid but does not cover the request.
    async fn step_up(
        &self,
        attempts: &mut Attempts,
        stored: Option<&Grant>,
        scopes: &[String],
        challenge: &str,
    ) -> Result<String, OauthError> {
        let granted = stored.map(|grant| grant.scopes.as_slice()).unwrap_or_default();
        let missing: Vec<String> = scopes.iter().filter(|scope| !granted.contains(scope)).cloned().collect();
        if missing.is_empty() {
            let names = sanitize::clean(&scopes.join(" "), 200);
            let message = if names.is_empty() {
                "the server requires more scopes than were granted but does not name them (HTTP 403)"
                    .to_owned()
            } else {
                format!("the server requires the scope `{names}` although it was granted (HTTP 403)")
            };
            return Err(OauthError::failed(&message, &self.secrets()));
        }
        if self.surroundings.consent.is_none() {
            return Err(OauthError::Narrow { ensemble: self.ensemble.clone(), scopes: missing });
        }
        attempts.steps += 1;
        if attempts.steps > MAX_STEPS {
            return Err(OauthError::Failed(format!(
                "the server asked for more scopes {MAX_STEPS} times in this run"
            )));
        }
        Ok(self.granted(Some(challenge), scopes, stored).await?.access)
    }

    /// Returns the server's address without its secret parts.
    pub(super) fn server_origin(&self) -> Result<ServerOrigin, OauthError> {
        let address = self.url.read(&self.surroundings.environment);
        let address = address.map_err(|error| OauthError::Unusable(error.to_string()))?;
        let url =
            Url::parse(&address).map_err(|_| OauthError::Unusable("`url` is not an address".to_owned()))?;
        ServerOrigin::new(url).map_err(OauthError::Unusable)
    }

    pub(super) fn guarded_http(&self) -> Result<Arc<GuardedHttp>, OauthError> {
        let reach = self.surroundings.reach.clone();
        let reach =
            reach.ok_or_else(|| OauthError::Unusable("tokens cannot be requested in this run".to_owned()))?;
        Ok(Arc::new(GuardedHttp::new(reach, self.server_origin()?)))
    }

    /// Redacts the secrets from now on, except those that could be ordinary words.
    pub(super) fn hide(&self, secrets: &[String]) {
        if let Some(vault) = &self.surroundings.vault {
            secrets.iter().filter(|secret| is_redactable(secret)).for_each(|secret| vault.hide(secret));
        }
    }

    pub(super) fn clear_current(&self) {
        *self.current.lock() = None;
    }

    pub(super) fn current(&self) -> Option<Grant> {
        self.current.lock().clone()
    }

    pub(super) fn set_current(&self, grant: Grant) -> String {
        let access = grant.access.clone();
        *self.current.lock() = Some(grant);
        access
    }

    /// Returns the secrets that messages must not contain.
    fn secrets(&self) -> Vec<String> {
        self.current().map(|grant| grant.secrets()).unwrap_or_default()
    }
}

impl Bearer for Authority {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, String>> {
        Box::pin(async { self.current_token().await.map_err(|error| error.to_string()) })
    }

    fn challenged<'a>(
        &'a self,
        status: u16,
        sent: Option<&'a str>,
        challenge: &'a str,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            self.handle_challenge(status, sent, challenge).await.map_err(|error| error.to_string())
        })
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("ensemble", &self.ensemble).finish_non_exhaustive()
    }
}
