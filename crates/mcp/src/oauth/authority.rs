//! One server's tokens over a run: which one to send, and what is done when it is refused.

use std::path::PathBuf;
use std::sync::Arc;

use converse_config::{ConnectionPlan, OauthPlan, Origin, SecretRef, Way};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::Url;
use rmcp::transport::auth::WWWAuthenticateParams;

use super::destinations::ServerOrigin;
use super::entry::Login;
use super::error::OauthError;
use super::grant::{Grant, now};
use super::guarded_http::GuardedHttp;
use super::renewal::Renewed;
use super::scopes;
use super::store::is_redactable;
use super::store::owner_directory;
use crate::http::Bearer;
use crate::{Surroundings, sanitize};

/// A server that refuses each token it asked for is not asked for ever.
const MAX_LOGINS: u32 = 3;
const MAX_STEPS: u32 = 3;

/// Whoever gives us tokens for one server.
pub(crate) struct Authority {
    pub(super) ensemble: String,
    pub(super) plan: OauthPlan,
    url: SecretRef,
    /// Whose descriptor it is, if not the user's own.
    pub(super) owner: Option<PathBuf>,
    pub(super) surroundings: Arc<Surroundings>,
    /// The token that is sent now.
    current: Mutex<Option<Grant>>,
    /// Held by whoever has one renewed or granted; the others wait for what comes of it.
    pub(super) attempts: tokio::sync::Mutex<Attempts>,
}

/// What was asked for in this run.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    logins: u32,
    steps: u32,
    /// The token that came of a renewal: refused, it is not renewed once more.
    renewed: Option<String>,
}

impl Authority {
    /// `None`: the connection has no `auth = "oauth"`.
    pub(crate) fn of(
        ensemble: &str,
        connection: &ConnectionPlan,
        origin: &Origin,
        surroundings: &Arc<Surroundings>,
    ) -> Option<Arc<Self>> {
        let (Way::Http { url, .. }, Some(plan)) = (&connection.way, &connection.auth) else { return None };
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

    pub(super) async fn log_in(&self, scopes: &[String]) -> Result<Login, OauthError> {
        let _attempts = self.attempts.lock().await;
        let stored = self.stored()?;
        let grant = self.granted(None, scopes, stored.as_ref()).await?;
        Ok(Login::of(&grant))
    }

    /// What to send, renewed first if it has ended.
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
            // The server will say what it wants.
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
        // Somebody else had it renewed, or granted, since this was sent.
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
                    &format!("it refuses what you are logged in as (403){why}"),
                    &self.secrets(),
                ))
            }
            _ => self.reauthorize(&mut attempts, stored.as_ref(), sent, challenge).await,
        }
    }

    /// The server does not take the token, or there is none.
    async fn reauthorize(
        &self,
        attempts: &mut Attempts,
        stored: Option<&Grant>,
        sent: Option<&str>,
        challenge: &str,
    ) -> Result<String, OauthError> {
        let mut why = "";
        if let Some(grant) = stored {
            why = ", and no longer takes what it was told before";
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
            let message = format!("it took none of the {MAX_LOGINS} tokens that it asked for");
            return Err(OauthError::Failed(message));
        }
        Ok(self.granted(Some(challenge), &[], stored).await?.access)
    }

    /// The token is good, but not for this.
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
                "it wants more than was granted, and does not say what (403)".to_owned()
            } else {
                format!("it refuses this for want of the scope `{names}`, which was granted (403)")
            };
            return Err(OauthError::failed(&message, &self.secrets()));
        }
        if self.surroundings.consent.is_none() {
            return Err(OauthError::Narrow { ensemble: self.ensemble.clone(), scopes: missing });
        }
        attempts.steps += 1;
        if attempts.steps > MAX_STEPS {
            return Err(OauthError::Failed(format!(
                "it wanted more than was granted {MAX_STEPS} times in this run"
            )));
        }
        Ok(self.granted(Some(challenge), scopes, stored).await?.access)
    }

    /// Where the server is, without what is secret in its address.
    pub(super) fn server_origin(&self) -> Result<ServerOrigin, OauthError> {
        let address = self.url.read(&self.surroundings.environment);
        let address = address.map_err(|error| OauthError::Unusable(error.to_string()))?;
        let url =
            Url::parse(&address).map_err(|_| OauthError::Unusable("its `url` is no address".to_owned()))?;
        ServerOrigin::new(url).map_err(OauthError::Unusable)
    }

    pub(super) fn guarded_http(&self) -> Result<Arc<GuardedHttp>, OauthError> {
        let reach = self.surroundings.reach.clone();
        let reach =
            reach.ok_or_else(|| OauthError::Unusable("nobody can be asked for a token here".to_owned()))?;
        Ok(Arc::new(GuardedHttp::new(reach, self.server_origin()?)))
    }

    /// Shown to nobody from now on, unless that would take ordinary words out of what is shown.
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

    /// What no message may show.
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
