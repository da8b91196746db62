//! One server's tokens over a run: which one to send, and what is done when it is refused.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use converse_config::{ConnectionPlan, OauthPlan, Origin, SecretRef, Way};
use futures_util::future::BoxFuture;
use reqwest::Url;
use rmcp::transport::auth::WWWAuthenticateParams;

use super::entry::Login;
use super::grant::{Grant, now};
use super::kept::place;
use super::places::Home;
use super::reached::Reached;
use super::renewal::Renewed;
use super::scopes;
use super::secrecy::is_telling;
use super::trouble::Trouble;
use crate::bearer::Bearer;
use crate::{Surroundings, words};

/// A server that refuses each token it asked for is not asked for ever.
const MAX_LOGINS: u32 = 3;
const MAX_STEPS: u32 = 3;

/// Whoever gives us tokens for one server.
pub(crate) struct Authority {
    pub(super) ensemble: String,
    pub(super) plan: OauthPlan,
    url: SecretRef,
    /// Whose descriptor it is, if not the user's own.
    pub(super) place: Option<PathBuf>,
    pub(super) surroundings: Arc<Surroundings>,
    /// The token that is sent now.
    held: Mutex<Option<Grant>>,
    /// Held by whoever has one renewed or granted; the others wait for what comes of it.
    pub(super) asking: tokio::sync::Mutex<Asked>,
}

/// What was asked for in this run.
#[derive(Debug, Default)]
pub(super) struct Asked {
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
            place: place(origin, surroundings),
            surroundings: Arc::clone(surroundings),
            held: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        }))
    }

    pub(super) async fn log_in(&self, scopes: &[String]) -> Result<Login, Trouble> {
        let _asking = self.asking.lock().await;
        let kept = self.kept()?;
        let grant = self.granted(None, scopes, kept.as_ref()).await?;
        Ok(Login::of(&grant))
    }

    /// What to send, renewed first if it has ended.
    async fn present(&self) -> Result<Option<String>, Trouble> {
        if let Some(grant) = self.held().filter(|grant| !grant.is_stale(now())) {
            return Ok(Some(grant.access));
        }
        let mut asking = self.asking.lock().await;
        let Some(grant) = self.kept()? else { return Ok(None) };
        if !grant.is_stale(now()) {
            return Ok(Some(self.hold(grant)));
        }
        match self.renewed(&grant, None).await? {
            Renewed::Grant(grant) => {
                asking.renewed = Some(grant.access.clone());
                Ok(Some(self.hold(grant)))
            }
            // The server will say what it wants.
            Renewed::Ended => Ok(None),
        }
    }

    async fn answer(&self, status: u16, sent: Option<&str>, challenge: &str) -> Result<String, Trouble> {
        let mut asking = self.asking.lock().await;
        let asked = WWWAuthenticateParams::parse(challenge, &self.home()?.url);
        let kept = self.kept()?;
        // Somebody else had it renewed, or granted, since this was sent.
        if let Some(grant) = &kept
            && sent != Some(grant.access.as_str())
            && !grant.is_stale(now())
        {
            return Ok(self.hold(grant.clone()));
        }
        match status {
            403 if asked.is_insufficient_scope() => {
                let scopes = scopes::of(asked.scope.as_deref().unwrap_or_default());
                self.stepped_up(&mut asking, kept.as_ref(), &scopes, challenge).await
            }
            403 => {
                let why = asked.error_description.or(asked.error).map(|why| format!(": {why}"));
                let why = why.unwrap_or_default();
                Err(Trouble::failed(
                    &format!("it refuses what you are logged in as (403){why}"),
                    &self.secrets(),
                ))
            }
            _ => self.known_again(&mut asking, kept.as_ref(), sent, challenge).await,
        }
    }

    /// The server does not take the token, or there is none.
    async fn known_again(
        &self,
        asking: &mut Asked,
        kept: Option<&Grant>,
        sent: Option<&str>,
        challenge: &str,
    ) -> Result<String, Trouble> {
        let mut why = "";
        if let Some(grant) = kept {
            why = ", and no longer takes what it was told before";
            let fresh = sent.is_some() && sent == asking.renewed.as_deref();
            if !fresh && let Renewed::Grant(grant) = self.renewed(grant, Some(challenge)).await? {
                asking.renewed = Some(grant.access.clone());
                return Ok(self.hold(grant));
            }
        }
        if self.surroundings.consent.is_none() {
            return Err(Trouble::LoggedOut { ensemble: self.ensemble.clone(), why });
        }
        asking.logins += 1;
        if asking.logins > MAX_LOGINS {
            let told = format!("it took none of the {MAX_LOGINS} tokens that it asked for");
            return Err(Trouble::Failed(told));
        }
        Ok(self.granted(Some(challenge), &[], kept).await?.access)
    }

    /// The token is good, but not for this.
    async fn stepped_up(
        &self,
        asking: &mut Asked,
        kept: Option<&Grant>,
        scopes: &[String],
        challenge: &str,
    ) -> Result<String, Trouble> {
        let granted = kept.map(|grant| grant.scopes.as_slice()).unwrap_or_default();
        let missing: Vec<String> = scopes.iter().filter(|scope| !granted.contains(scope)).cloned().collect();
        if missing.is_empty() {
            let names = words::cleaned(&scopes.join(" "), 200);
            let told = if names.is_empty() {
                "it wants more than was granted, and does not say what (403)".to_owned()
            } else {
                format!("it refuses this for want of the scope `{names}`, which was granted (403)")
            };
            return Err(Trouble::failed(&told, &self.secrets()));
        }
        if self.surroundings.consent.is_none() {
            return Err(Trouble::Narrow { ensemble: self.ensemble.clone(), scopes: missing });
        }
        asking.steps += 1;
        if asking.steps > MAX_STEPS {
            return Err(Trouble::Failed(format!(
                "it wanted more than was granted {MAX_STEPS} times in this run"
            )));
        }
        Ok(self.granted(Some(challenge), scopes, kept).await?.access)
    }

    /// Where the server is, without what is secret in its address.
    pub(super) fn home(&self) -> Result<Home, Trouble> {
        let address = self.url.read(&self.surroundings.environment);
        let address = address.map_err(|error| Trouble::Unusable(error.to_string()))?;
        let url =
            Url::parse(&address).map_err(|_| Trouble::Unusable("its `url` is no address".to_owned()))?;
        Home::new(url).map_err(Trouble::Unusable)
    }

    pub(super) fn reached(&self) -> Result<Arc<Reached>, Trouble> {
        let reach = self.surroundings.reach.clone();
        let reach =
            reach.ok_or_else(|| Trouble::Unusable("nobody can be asked for a token here".to_owned()))?;
        Ok(Arc::new(Reached::new(reach, self.home()?)))
    }

    /// Shown to nobody from now on, unless that would take ordinary words out of what is shown.
    pub(super) fn hide(&self, secrets: &[String]) {
        if let Some(vault) = &self.surroundings.vault {
            secrets.iter().filter(|secret| is_telling(secret)).for_each(|secret| vault.hide(secret));
        }
    }

    pub(super) fn let_go(&self) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn held(&self) -> Option<Grant> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn hold(&self, grant: Grant) -> String {
        let access = grant.access.clone();
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(grant);
        access
    }

    /// What no message may show.
    fn secrets(&self) -> Vec<String> {
        self.held().map(|grant| grant.secrets()).unwrap_or_default()
    }
}

impl Bearer for Authority {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, String>> {
        Box::pin(async { self.present().await.map_err(|trouble| trouble.to_string()) })
    }

    fn challenged<'a>(
        &'a self,
        status: u16,
        sent: Option<&'a str>,
        challenge: &'a str,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(
            async move { self.answer(status, sent, challenge).await.map_err(|trouble| trouble.to_string()) },
        )
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("ensemble", &self.ensemble).finish_non_exhaustive()
    }
}
