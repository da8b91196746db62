//! Grants in the vault, shared with other processes.
//!
//! There are two locks, so that a login or logout never waits for a server that answers a renewal. One is held during a
//! renewal, so that no two processes use the same refresh token. The other is held only while the vault is written. A
//! renewal replaces only the grant that it used.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_canister::Digest;
use converse_config::{Origin, Scope};
use sha2::{Digest as _, Sha256};

use super::authority::Authority;
use super::error::OauthError;
use super::grant::Grant;
use super::renewal::Renewed;
use crate::Surroundings;

/// The operation that a lock serialises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Renewing,
    Writing,
}

/// Returns the directory that a descriptor belongs to, or `None` if it is the user's own or from the command line. A
/// grant for a descriptor of the user does not count for a descriptor of a project.
pub(super) fn owner_directory(origin: &Origin, surroundings: &Surroundings) -> Option<PathBuf> {
    let place = match origin.scope {
        Scope::Shipped | Scope::User => return None,
        Scope::Project => surroundings.project.clone().unwrap_or_else(|| surroundings.workspace.clone()),
        // A descriptor from the command line has no file.
        Scope::Explicit => match Path::new(&origin.file).parent() {
            Some(dir) if dir != Path::new("") => surroundings.workspace.join(dir),
            _ => return None,
        },
    };
    // Another path to the same directory must give the same key.
    Some(place.canonicalize().unwrap_or(place))
}

impl Authority {
    /// Returns the key of the grant in the vault. It depends on the ensemble, server, client and directory.
    pub(super) fn key(&self) -> Result<String, OauthError> {
        let mut text =
            format!("oauth {} {} {:?}", self.ensemble, self.server_origin()?.url, self.plan.client_id);
        if let Some(place) = &self.owner {
            text.push_str(&format!(" of {place:?}"));
        }
        Ok(Digest(Sha256::digest(text).into()).to_string())
    }

    pub(super) fn stored(&self) -> Result<Option<Grant>, OauthError> {
        let Some(vault) = &self.surroundings.vault else { return Ok(self.current()) };
        let text = vault.get(&self.key()?).map_err(OauthError::Failed)?;
        // A grant that cannot be read, perhaps of another version, requires a new login.
        let grant = text.and_then(|text| Grant::from_json(&text));
        grant.iter().for_each(|grant| self.hide(&grant.secrets()));
        Ok(grant)
    }

    /// Stores a new grant in place of any other. A grant that cannot be stored is used for this run.
    pub(super) async fn store(&self, grant: Grant) -> Grant {
        self.hide(&grant.secrets());
        if !is_redactable(&grant.access) {
            self.warn("the access token is too short or too plain to be redacted");
        }
        if let Err(why) = self.write(&grant).await {
            self.warn(&format!("the access token cannot be stored: {why}"));
        }
        self.set_current(grant.clone());
        grant
    }

    /// Replaces the grant `spent` by its renewal `new`, unless the user has logged out or in again meanwhile.
    pub(super) async fn replace_spent(&self, spent: &Grant, new: Grant) -> Result<Renewed, OauthError> {
        self.hide(&new.secrets());
        let writing = self.locked(Lock::Writing).await;
        match self.stored()? {
            Some(stored) if stored == *spent => {}
            Some(other) => return Ok(Renewed::Grant(other)),
            None => {
                drop(writing);
                self.clear_current();
                if let Err(error) = self.revoked(&new).await {
                    tracing::debug!(%error, "an unused token could not be revoked");
                }
                return Ok(Renewed::Ended);
            }
        }
        if let Err(why) = writing.and_then(|_writing| self.put(&new)) {
            self.warn(&format!("the access token cannot be stored: {why}"));
        }
        self.set_current(new.clone());
        Ok(Renewed::Grant(new))
    }

    /// Deletes the grant `spent`, whose refresh token is no longer valid.
    pub(super) async fn discard_spent(&self, spent: &Grant) -> Result<Renewed, OauthError> {
        let _writing = self.locked(Lock::Writing).await?;
        match self.stored()? {
            Some(other) if other != *spent => return Ok(Renewed::Grant(other)),
            Some(_) => self.remove()?,
            None => {}
        }
        self.clear_current();
        Ok(Renewed::Ended)
    }

    /// Deletes the stored grant.
    pub(super) async fn forget(&self) -> Result<(), OauthError> {
        self.clear_current();
        let _writing = self.locked(Lock::Writing).await?;
        self.remove()
    }

    pub(super) async fn locked(&self, lock: Lock) -> Result<Option<Box<dyn Send>>, OauthError> {
        let Some(vault) = self.surroundings.vault.clone() else { return Ok(None) };
        let mut key = self.key()?;
        if lock == Lock::Writing {
            key.push('w');
        }
        // Waiting for other processes would block the runtime.
        let locking = tokio::task::spawn_blocking(move || Arc::clone(&vault).lock(&key)).await;
        let locked =
            locking.map_err(|_| OauthError::Failed("the token vault cannot be locked".to_owned()))?;
        locked.map(Some).map_err(OauthError::Failed)
    }

    async fn write(&self, grant: &Grant) -> Result<(), OauthError> {
        let _writing = self.locked(Lock::Writing).await?;
        self.put(grant)
    }

    fn put(&self, grant: &Grant) -> Result<(), OauthError> {
        let (Some(vault), Some(text)) = (&self.surroundings.vault, grant.to_json()) else { return Ok(()) };
        vault.put(&self.key()?, &text).map_err(OauthError::Failed)
    }

    fn remove(&self) -> Result<(), OauthError> {
        let Some(vault) = &self.surroundings.vault else { return Ok(()) };
        vault.remove(&self.key()?).map_err(OauthError::Failed)
    }

    fn warn(&self, what: &str) {
        (self.surroundings.warn)(format!("ensemble `{}`: {what}", self.ensemble));
    }
}

/// Bytes that a secret needs to be redacted, and bytes from which even a plain word is.
const LEAST: usize = 12;
const LONG: usize = 24;

/// Returns whether a secret differs from ordinary text. Redaction also matches prefixes, so an address is ordinary.
pub(super) fn is_redactable(secret: &str) -> bool {
    let is_word =
        |secret: &str| secret.bytes().all(|byte| byte.is_ascii_alphabetic() || b"-_.".contains(&byte));
    secret.len() >= LEAST && !secret.contains("://") && (secret.len() >= LONG || !is_word(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_words_are_not_redacted() {
        for (secret, redactable) in [
            ("https://", false),
            ("https://api.example.com/v1", false),
            ("the", false),
            ("abc1234567", false),
            ("authorization", false),
            ("access_token", false),
            ("canary-code-1", true),
            ("gho_16C7e42F292c6912E7710c838347Ae178B4a", true),
            ("eyJhbGciOiJub25lIn0.e30.", true),
            ("abcdefghijklmnopqrstuvwx", true),
        ] {
            assert_eq!(is_redactable(secret), redactable, "{secret}");
        }
    }
}
