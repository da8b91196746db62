//! What was granted, in the vault: found, put there, replaced, forgotten.
//!
//! Other runs do the same at the same time. Whoever spends a refresh token waits for a server meanwhile, and nobody is
//! to wait for that who logs in or out: so there are two locks. One is held over a renewal, that no two of them spend
//! the same token; the other only while something is written. A renewal replaces what it has spent, and nothing else.

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

/// What a lock keeps others from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Renewing,
    Writing,
}

/// Whose the descriptor is: what the user granted to one of his own is not for one that came with a project. `None`:
/// the user's own, or typed.
pub(super) fn owner_directory(origin: &Origin, surroundings: &Surroundings) -> Option<PathBuf> {
    let place = match origin.scope {
        Scope::Shipped | Scope::User => return None,
        Scope::Project => surroundings.project.clone().unwrap_or_else(|| surroundings.workspace.clone()),
        // One from the command line has no file, and no directory either.
        Scope::Explicit => match Path::new(&origin.file).parent() {
            Some(dir) if dir != Path::new("") => surroundings.workspace.join(dir),
            _ => return None,
        },
    };
    // By another way to it, it is still the same.
    Some(place.canonicalize().unwrap_or(place))
}

impl Authority {
    /// Of the token in the vault: one of another ensemble, server, client or place is another one.
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
        // Of another version, perhaps: then it is granted anew.
        let grant = text.and_then(|text| Grant::from_json(&text));
        grant.iter().for_each(|grant| self.hide(&grant.secrets()));
        Ok(grant)
    }

    /// What a person has granted, whatever was there. One that cannot be kept is good for this run.
    pub(super) async fn store(&self, grant: Grant) -> Grant {
        self.hide(&grant.secrets());
        if !is_redactable(&grant.access) {
            self.warn("its token is too short, or too plain a word, to be kept out of what is shown");
        }
        if let Err(why) = self.write(&grant).await {
            self.warn(&format!("its token cannot be kept: {why}"));
        }
        self.set_current(grant.clone());
        grant
    }

    /// `new` came of `spent`. It is kept only in its place: who has logged out meanwhile, or in again, has the last word.
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
                    tracing::debug!(%error, "a token that nobody wants any more could not be revoked");
                }
                return Ok(Renewed::Ended);
            }
        }
        if let Err(why) = writing.and_then(|_writing| self.put(&new)) {
            self.warn(&format!("its token cannot be kept: {why}"));
        }
        self.set_current(new.clone());
        Ok(Renewed::Grant(new))
    }

    /// Nothing comes of `spent` any more.
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

    /// All of it, whatever was there.
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
        // It waits for other processes, and would keep everybody here waiting as well.
        let locking = tokio::task::spawn_blocking(move || Arc::clone(&vault).lock(&key)).await;
        let locked =
            locking.map_err(|_| OauthError::Failed("the vault of tokens cannot be locked".to_owned()))?;
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

const LEAST: usize = 12;
/// So long no word is that anybody says.
const LONG: usize = 24;

/// Is it told from ordinary text? Redaction goes by beginnings as well, so an address is ordinary however it goes on.
pub(super) fn is_redactable(secret: &str) -> bool {
    let is_word =
        |secret: &str| secret.bytes().all(|byte| byte.is_ascii_alphabetic() || b"-_.".contains(&byte));
    secret.len() >= LEAST && !secret.contains("://") && (secret.len() >= LONG || !is_word(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_anybody_says_are_no_secrets() {
        for (secret, telling) in [
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
            assert_eq!(is_redactable(secret), telling, "{secret}");
        }
    }
}
