//! A token had anew without a person.
//!
//! A refresh token is good for one use at most servers, and two processes that spend it are taken for a thief: so the
//! vault is locked, and looked into once more, before it is spent.

use std::sync::Arc;

use rmcp::transport::auth::{AuthError, CredentialStore as _, InMemoryCredentialStore, StoredCredentials};

use super::authority::Authority;
use super::grant::{Grant, now};
use super::trouble::Trouble;

pub(super) enum Renewed {
    Grant(Grant),
    /// Only a person can do it now.
    Ended,
}

impl Authority {
    /// An error is one that may pass.
    pub(super) async fn renewed(&self, old: &Grant, challenge: Option<&str>) -> Result<Renewed, Trouble> {
        if old.refresh.is_none() {
            return Ok(Renewed::Ended);
        }
        let _locked = self.locked().await?;
        let Some(grant) = self.kept()? else { return Ok(Renewed::Ended) };
        if grant.access != old.access && !grant.is_stale(now()) {
            return Ok(Renewed::Grant(grant));
        }
        let mut office = self.office(challenge).await?;
        // Another one is in charge now: neither token nor client are for it.
        if office.metadata.issuer != grant.issuer {
            self.forget()?;
            return Ok(Renewed::Ended);
        }
        self.configure(&mut office, &grant.client)?;
        let secrets = [grant.secrets(), self.secrets_of(&grant.client)].concat();
        let store = InMemoryCredentialStore::new();
        let (id, scopes) = (grant.client.id.clone(), grant.scopes.clone());
        let saved = store.save(StoredCredentials::new(id, grant.token(), scopes, None)).await;
        saved.map_err(|error| Trouble::of(&error, &secrets))?;
        office.manager.set_credential_store(store);
        match office.manager.refresh_token().await {
            Ok(token) => {
                let scopes = office.manager.get_current_scopes().await;
                let grant = Grant::of(&token, grant.issuer, grant.client, scopes)?;
                self.keep(grant).map(Renewed::Grant)
            }
            Err(AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired) => {
                self.forget()?;
                Ok(Renewed::Ended)
            }
            Err(error) => Err(office.trouble(&error, &secrets)),
        }
    }

    async fn locked(&self) -> Result<Option<Box<dyn Send>>, Trouble> {
        let Some(vault) = self.surroundings.vault.clone() else { return Ok(None) };
        let key = self.key()?;
        // It waits for other processes, and would keep everybody here waiting as well.
        let locking = tokio::task::spawn_blocking(move || Arc::clone(&vault).lock(&key)).await;
        let locked =
            locking.map_err(|_| Trouble::Failed("the vault of tokens cannot be locked".to_owned()))?;
        locked.map(Some).map_err(Trouble::Failed)
    }
}
