//! A token had anew without a person.
//!
//! A refresh token is good for one use at most servers, and two processes that spend it are taken for a thief: so the
//! vault is locked, and looked into once more, before it is spent.

use rmcp::transport::auth::{AuthError, CredentialStore as _, InMemoryCredentialStore, StoredCredentials};

use super::authority::Authority;
use super::error::OauthError;
use super::grant::{Grant, now};
use super::store::Lock;

/// Of a client that is refused: <https://www.rfc-editor.org/rfc/rfc6749#section-5.2> (checked 2026-11).
const OF_CLIENTS: [&str; 2] = ["invalid_client", "unauthorized_client"];

pub(super) enum Renewed {
    Grant(Grant),
    /// Only a person can do it now.
    Ended,
}

/// What came of a refresh token.
enum RefreshOutcome {
    Granted(Grant),
    /// It is good for nothing any more.
    Rejected,
    /// It may be good, but not as we are.
    ClientRefused,
}

impl Authority {
    /// An error is one that may pass.
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
        // Another one is in charge now: neither token nor client are for it.
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
            // The client is not known there any more, so nothing of it is. One from the descriptor may be mended there.
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
