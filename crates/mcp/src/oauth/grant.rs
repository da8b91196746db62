//! [`Grant`]: a token as it is stored, with its issuer and the client that it was issued to.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use rmcp::transport::auth::OAuthTokenResponse;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::OauthError;

/// Seconds before the expiry at which a token is renewed, so that it does not expire during a request.
const RENEW_BEFORE: u64 = 30;
/// Bytes of a token; no server accepts a longer header.
const MAX_TOKEN: usize = 16 * 1024;

/// An issued token. It is sent only to its issuer and to the server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Grant {
    /// The issuer; `None` for authorization servers without metadata.
    pub(super) issuer: Option<String>,
    pub(super) client: Client,
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    pub(super) scopes: Vec<String>,
    /// Time of receipt, in seconds since 1970.
    pub(super) received: u64,
    /// Lifetime in seconds.
    pub(super) lifetime: Option<u64>,
}

/// The OAuth client that a token was issued to.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    /// The secret from a dynamic registration. A secret from the descriptor is not stored.
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
    /// Reads a token response. `scopes` are the granted ones, whether the response repeats them or not.
    pub(super) fn of(
        token: &OAuthTokenResponse,
        issuer: Option<String>,
        client: Client,
        scopes: Vec<String>,
    ) -> Result<Self, OauthError> {
        let unusable = |what: &str| OauthError::Failed(format!("the authorization server sent {what}"));
        let token = serde_json::to_value(token).map_err(|_| unusable("an invalid token"))?;
        let text = |key: &str| token.get(key).and_then(Value::as_str);
        if !text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
            return Err(unusable("a token that is not of type Bearer"));
        }
        let access = text("access_token").unwrap_or_default();
        let fits =
            (1..=MAX_TOKEN).contains(&access.len()) && access.bytes().all(|byte| byte.is_ascii_graphic());
        if !fits {
            return Err(unusable("a token that is not a valid header value"));
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

    /// Returns the token as the type that the library renews.
    pub(super) fn token(&self) -> Option<OAuthTokenResponse> {
        let token = json!({
            "access_token": self.access,
            "token_type": "bearer",
            "refresh_token": self.refresh,
            "scope": self.scopes.join(" "),
        });
        serde_json::from_value(token).ok()
    }

    /// Returns the expiry in seconds since 1970.
    pub(super) fn expires(&self) -> Option<u64> {
        self.lifetime.map(|lifetime| self.received.saturating_add(lifetime))
    }

    /// Returns whether the token has expired or is about to. The margin is at most a quarter of its lifetime.
    pub(super) fn is_stale(&self, now: u64) -> bool {
        let margin = self.lifetime.map_or(0, |lifetime| RENEW_BEFORE.min(lifetime / 4));
        // The clock was set back.
        self.expires().is_some_and(|end| now.saturating_add(margin) >= end || now < self.received)
    }

    /// Returns the secrets that messages must not contain.
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
    fn a_token_is_renewed_before_it_expires() {
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
    fn a_stored_grant_is_restored_and_not_printed() {
        let stored = grant(Some(5));
        assert_eq!(Grant::from_json(&stored.to_json().unwrap()), Some(stored.clone()));
        assert!(!format!("{stored:?}{:?}", stored.client).contains("canary"));
        assert_eq!(Grant::from_json("{\"access\": 1}"), None);
    }

    #[test]
    fn only_a_bearer_token_that_fits_a_header_is_accepted() {
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
