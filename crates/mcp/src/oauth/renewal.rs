//! Renewal of access tokens with refresh tokens.
//!
//! Most servers accept a refresh token once and treat a second use as theft. So the vault is locked and read again
//! before a refresh token is used.

use rmcp::transport::auth::{AuthError, CredentialStore as _, InMemoryCredentialStore, StoredCredentials};

use super::authority::Authority;
use super::error::OauthError;
use super::grant::{Grant, now};
use super::store::Lock;

/// Error codes that refuse the client: <https://www.rfc-editor.org/rfc/rfc6749#section-5.2> (checked 2026-11).
const OF_CLIENTS: [&str; 2] = ["invalid_client", "unauthorized_client"];

pub(super) enum Renewed {
    Grant(Grant),
    /// A login is necessary.
    Ended,
}

/// The result of using a refresh token.
enum RefreshOutcome {
    Granted(Grant),
    /// The refresh token is no longer valid.
    Rejected,
    /// The client is refused; the refresh token may be valid.
    ClientRefused,
}

impl Authority {
    /// Renews a token unless another process has done so. An error may be temporary.
    pub(super) async fn renewed(&self, old: &Grant, challenge: Option<&str>) -> Result<Renewed, OauthError> {
        if old.refresh.is_none() {
            return Ok(Renewed::Ended);
        }
        let _locked = self.locked(Lock::Renewing).await?;
        let Some(grant) = self.stored()? else { return Ok(Renewed::Ended) };
        if grant.access != old.access && !grant.is_stale(now()) {
            return Ok(Renewed::Grant(grant));
        }
        let renewing = self.spent(&grant, challenge).await;
        let unrenewed = |why| OauthError::Unrenewed { why: Box::new(why), ensemble: self.ensemble.clone() };
        match renewing.map_err(unrenewed)? {
            RefreshOutcome::Granted(new) => self.replace_spent(&grant, new).await,
            RefreshOutcome::Rejected => self.discard_spent(&grant).await,
            RefreshOutcome::ClientRefused => Ok(Renewed::Ended),
        }
    }

    async fn spent(&self, grant: &Grant, challenge: Option<&str>) -> Result<RefreshOutcome, OauthError> {
        let mut server = self.discover(challenge).await?;
        // The server now uses another issuer, for which neither the token nor the client is valid.
        if server.metadata.issuer != grant.issuer {
            return Ok(RefreshOutcome::Rejected);
        }
        self.configure(&mut server, &grant.client)?;
        let secrets = [grant.secrets(), self.secrets_of(&grant.client)].concat();
        let store = InMemoryCredentialStore::new();
        let (id, scopes) = (grant.client.id.clone(), grant.scopes.clone());
        let saved = store.save(StoredCredentials::new(id, grant.token(), scopes, None)).await;
        saved.map_err(|error| OauthError::of(&error, &secrets))?;
        server.manager.set_credential_store(store);
        match server.manager.refresh_token().await {
            Ok(token) => {
                let scopes = server.manager.get_current_scopes().await;
                let grant = Grant::of(&token, grant.issuer.clone(), grant.client.clone(), scopes)?;
                Ok(RefreshOutcome::Granted(grant))
            }
            Err(AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired) => {
                Ok(RefreshOutcome::Rejected)
            }
            // The server does not know the client any more, and none of its tokens. A configured client can be repaired
            // there.
            Err(_)
                if server.guarded_http.refusal().is_some_and(|code| OF_CLIENTS.contains(&code.as_str())) =>
            {
                Ok(if self.plan.client_id.is_some() {
                    RefreshOutcome::ClientRefused
                } else {
                    RefreshOutcome::Rejected
                })
            }
            Err(error) => Err(server.explain(&error, &secrets)),
        }
    }
}
