//! What was granted, as it is kept: the token, who gave it, and the client that it was given to.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use rmcp::transport::auth::OAuthTokenResponse;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::OauthError;

/// A token that ends sooner is renewed first, or a slow request would come too late.
const RENEW_BEFORE: u64 = 30;
/// More than any server takes in a header.
const MAX_TOKEN: usize = 16 * 1024;

/// Bound to its issuer: nothing of it is ever shown to another one.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Grant {
    /// Who granted it; `None` for servers that say nothing of themselves.
    pub(super) issuer: Option<String>,
    pub(super) client: Client,
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    pub(super) scopes: Vec<String>,
    /// When it came, in seconds since 1970.
    pub(super) received: u64,
    /// Seconds.
    pub(super) lifetime: Option<u64>,
}

/// Who we were when it was granted.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    /// Given at a registration; one from the descriptor is not kept.
    pub(super) secret: Option<String>,
    pub(super) redirect_uri: String,
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Grant {
    /// `scopes` are those that it is for, whether the answer repeats them or not.
    pub(super) fn of(
        token: &OAuthTokenResponse,
        issuer: Option<String>,
        client: Client,
        scopes: Vec<String>,
    ) -> Result<Self, OauthError> {
        let unusable = |what: &str| OauthError::Failed(format!("its authorization server gave {what}"));
        let token = serde_json::to_value(token).map_err(|_| unusable("what is no token"))?;
        let text = |key: &str| token.get(key).and_then(Value::as_str);
        if !text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
            return Err(unusable("a token that is not of type Bearer, which is not spoken here"));
        }
        let access = text("access_token").unwrap_or_default();
        let fits =
            (1..=MAX_TOKEN).contains(&access.len()) && access.bytes().all(|byte| byte.is_ascii_graphic());
        if !fits {
            return Err(unusable("a token that no header can hold"));
        }
        Ok(Self {
            issuer,
            client,
            access: access.to_owned(),
            refresh: text("refresh_token").filter(|text| !text.is_empty()).map(str::to_owned),
            scopes,
            received: now(),
            lifetime: token.get("expires_in").and_then(Value::as_u64),
        })
    }

    /// The same for the library, to renew it with.
    pub(super) fn token(&self) -> Option<OAuthTokenResponse> {
        let token = json!({
            "access_token": self.access,
            "token_type": "bearer",
            "refresh_token": self.refresh,
            "scope": self.scopes.join(" "),
        });
        serde_json::from_value(token).ok()
    }

    /// In seconds since 1970.
    pub(super) fn expires(&self) -> Option<u64> {
        self.lifetime.map(|lifetime| self.received.saturating_add(lifetime))
    }

    /// Has it ended, or will it before a request is answered? A token of a few seconds is good for most of them.
    pub(super) fn is_stale(&self, now: u64) -> bool {
        let margin = self.lifetime.map_or(0, |lifetime| RENEW_BEFORE.min(lifetime / 4));
        // A clock that was set back makes nothing younger.
        self.expires().is_some_and(|end| now.saturating_add(margin) >= end || now < self.received)
    }

    /// What no message may show.
    pub(super) fn secrets(&self) -> Vec<String> {
        let secrets = [Some(&self.access), self.refresh.as_ref(), self.client.secret.as_ref()];
        secrets.into_iter().flatten().cloned().collect()
    }

    pub(super) fn to_json(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    pub(super) fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(lifetime: Option<u64>) -> Grant {
        let client =
            Client { id: "c".to_owned(), secret: None, redirect_uri: "http://127.0.0.1/".to_owned() };
        let access = "canary-access".to_owned();
        Grant { issuer: None, client, access, refresh: None, scopes: vec![], received: 1000, lifetime }
    }

    #[test]
    fn a_token_is_renewed_before_it_ends() {
        for (lifetime, now, stale) in [
            (None, u64::MAX, false),
            (Some(3600), 1000, false),
            (Some(3600), 1000 + 3569, false),
            (Some(3600), 1000 + 3570, true),
            (Some(8), 1005, false),
            (Some(8), 1006, true),
            (Some(0), 1000, true),
            (Some(3600), 999, true),
            (Some(u64::MAX), 1001, false),
        ] {
            assert_eq!(grant(lifetime).is_stale(now), stale, "{lifetime:?} {now}");
        }
    }

    #[test]
    fn what_is_kept_comes_back_and_shows_itself_to_nobody() {
        let stored = grant(Some(5));
        assert_eq!(Grant::from_json(&stored.to_json().unwrap()), Some(stored.clone()));
        assert!(!format!("{stored:?}{:?}", stored.client).contains("canary"));
        assert_eq!(Grant::from_json("{\"access\": 1}"), None);
    }

    #[test]
    fn only_a_bearer_token_that_fits_a_header_is_taken() {
        let client = grant(None).client;
        let of = |json: Value| {
            let token: OAuthTokenResponse = serde_json::from_value(json).unwrap();
            Grant::of(&token, None, client.clone(), vec![]).map(|grant| grant.access)
        };
        assert_eq!(of(json!({ "access_token": "abc", "token_type": "BEARER" })).unwrap(), "abc");
        for (token, kind) in [("abc", "DPoP"), ("", "bearer"), ("a\r\nx: y", "bearer"), ("a b", "bearer")] {
            assert!(of(json!({ "access_token": token, "token_type": kind })).is_err(), "{token:?} {kind}");
        }
    }
}
