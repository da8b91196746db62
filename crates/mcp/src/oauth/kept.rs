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
use super::grant::Grant;
use super::renewal::Renewed;
use super::secrecy::is_telling;
use super::trouble::Trouble;
use crate::Surroundings;

/// What a lock keeps others from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Renewing,
    Writing,
}

/// Whose the descriptor is: what the user granted to one of his own is not for one that came with a project. `None`:
/// the user's own, or typed.
pub(super) fn place(origin: &Origin, surroundings: &Surroundings) -> Option<PathBuf> {
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
    pub(super) fn key(&self) -> Result<String, Trouble> {
        let mut text = format!("oauth {} {} {:?}", self.ensemble, self.home()?.url, self.plan.client_id);
        if let Some(place) = &self.place {
            text.push_str(&format!(" of {place:?}"));
        }
        Ok(Digest(Sha256::digest(text).into()).to_string())
    }

    pub(super) fn kept(&self) -> Result<Option<Grant>, Trouble> {
        let Some(vault) = &self.surroundings.vault else { return Ok(self.held()) };
        let text = vault.get(&self.key()?).map_err(Trouble::Failed)?;
        // Of another version, perhaps: then it is granted anew.
        let grant = text.and_then(|text| Grant::read(&text));
        grant.iter().for_each(|grant| self.hide(&grant.secrets()));
        Ok(grant)
    }

    /// What a person has granted, whatever was there. One that cannot be kept is good for this run.
    pub(super) async fn keep(&self, grant: Grant) -> Grant {
        self.hide(&grant.secrets());
        if !is_telling(&grant.access) {
            self.warn("its token is too short, or too plain a word, to be kept out of what is shown");
        }
        if let Err(why) = self.written(&grant).await {
            self.warn(&format!("its token cannot be kept: {why}"));
        }
        self.hold(grant.clone());
        grant
    }

    /// `new` came of `spent`. It is kept only in its place: who has logged out meanwhile, or in again, has the last word.
    pub(super) async fn replaced(&self, spent: &Grant, new: Grant) -> Result<Renewed, Trouble> {
        self.hide(&new.secrets());
        let writing = self.locked(Lock::Writing).await;
        match self.kept()? {
            Some(kept) if kept == *spent => {}
            Some(other) => return Ok(Renewed::Grant(other)),
            None => {
                drop(writing);
                self.let_go();
                if let Err(trouble) = self.revoked(&new).await {
                    tracing::debug!(%trouble, "a token that nobody wants any more could not be revoked");
                }
                return Ok(Renewed::Ended);
            }
        }
        if let Err(why) = writing.and_then(|_writing| self.put(&new)) {
            self.warn(&format!("its token cannot be kept: {why}"));
        }
        self.hold(new.clone());
        Ok(Renewed::Grant(new))
    }

    /// Nothing comes of `spent` any more.
    pub(super) async fn ended(&self, spent: &Grant) -> Result<Renewed, Trouble> {
        let _writing = self.locked(Lock::Writing).await?;
        match self.kept()? {
            Some(other) if other != *spent => return Ok(Renewed::Grant(other)),
            Some(_) => self.remove()?,
            None => {}
        }
        self.let_go();
        Ok(Renewed::Ended)
    }

    /// All of it, whatever was there.
    pub(super) async fn forget(&self) -> Result<(), Trouble> {
        self.let_go();
        let _writing = self.locked(Lock::Writing).await?;
        self.remove()
    }

    pub(super) async fn locked(&self, lock: Lock) -> Result<Option<Box<dyn Send>>, Trouble> {
        let Some(vault) = self.surroundings.vault.clone() else { return Ok(None) };
        let mut key = self.key()?;
        if lock == Lock::Writing {
            key.push('w');
        }
        // It waits for other processes, and would keep everybody here waiting as well.
        let locking = tokio::task::spawn_blocking(move || Arc::clone(&vault).lock(&key)).await;
        let locked =
            locking.map_err(|_| Trouble::Failed("the vault of tokens cannot be locked".to_owned()))?;
        locked.map(Some).map_err(Trouble::Failed)
    }

    async fn written(&self, grant: &Grant) -> Result<(), Trouble> {
        let _writing = self.locked(Lock::Writing).await?;
        self.put(grant)
    }

    fn put(&self, grant: &Grant) -> Result<(), Trouble> {
        let (Some(vault), Some(text)) = (&self.surroundings.vault, grant.written()) else { return Ok(()) };
        vault.put(&self.key()?, &text).map_err(Trouble::Failed)
    }

    fn remove(&self) -> Result<(), Trouble> {
        let Some(vault) = &self.surroundings.vault else { return Ok(()) };
        vault.remove(&self.key()?).map_err(Trouble::Failed)
    }

    fn warn(&self, what: &str) {
        (self.surroundings.warn)(format!("ensemble `{}`: {what}", self.ensemble));
    }
}
