//! The claims of a token, and their check. A library would ignore a claim of the wrong type; here it is a refusal.

use std::time::Duration;

use converse_canister::Arguments;
use converse_gateway::quoted;
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::Denied;

/// Tolerated difference of clocks.
const LEEWAY_SECONDS: f64 = 60.0;

/// Maximum characters of a subject in records.
const SUBJECT: usize = 80;

#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    iss: String,
    aud: StringOrList,
    exp: f64,
    #[serde(default)]
    nbf: Option<f64>,
    #[serde(default)]
    scope: Option<StringOrList>,
    /// Some servers use this claim instead of `scope`.
    #[serde(default)]
    scp: Option<StringOrList>,
    #[serde(default)]
    sub: Option<String>,
    #[serde(default)]
    client_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum StringOrList {
    One(String),
    Many(Vec<String>),
}

/// The claims that a token must have.
#[derive(Debug)]
pub(super) struct RequiredClaims {
    pub(super) issuer: String,
    pub(super) audience: String,
    pub(super) scopes: Vec<String>,
}

/// Returns all claims; none if one is given twice, because other readers may use the other one.
pub(super) fn all_claims(payload: &[u8]) -> Map<String, Value> {
    std::str::from_utf8(payload).map(|text| Arguments::parse(text).object).unwrap_or_default()
}

impl Claims {
    pub(super) fn read(payload: &[u8]) -> Option<Self> {
        serde_json::from_slice(payload).ok()
    }

    /// Returns the holder of the token, for records.
    pub(super) fn who(&self) -> String {
        match (&self.sub, &self.client_id) {
            (Some(subject), _) => format!("subject {}", quoted(subject, SUBJECT)),
            (None, Some(client)) => format!("client {}", quoted(client, SUBJECT)),
            (None, None) => "an unnamed token".to_owned(),
        }
    }

    /// Returns a digest that identifies the holder: issuer and subject, or the whole claims of a token without a holder.
    pub(super) fn holder(&self, payload: &[u8]) -> [u8; 32] {
        let hash = |kind: &str, name: &[u8]| {
            let hash = Sha256::new().chain_update(kind).chain_update([0]).chain_update(&self.iss);
            hash.chain_update([0]).chain_update(name).finalize().into()
        };
        match (&self.sub, &self.client_id) {
            (Some(subject), _) => hash("subject", subject.as_bytes()),
            (None, Some(client)) => hash("client", client.as_bytes()),
            (None, None) => hash("token", payload),
        }
    }

    /// Returns how long the token is valid after `now`.
    pub(super) fn left(&self, now: f64) -> Duration {
        Duration::try_from_secs_f64((self.exp + LEEWAY_SECONDS - now).max(0.0)).unwrap_or(Duration::MAX)
    }

    fn has_scope(&self, required: &str) -> bool {
        let has = |words: &StringOrList| match words {
            StringOrList::One(line) => line.split(' ').any(|scope| scope == required),
            StringOrList::Many(scopes) => scopes.iter().any(|scope| scope == required),
        };
        [&self.scope, &self.scp].into_iter().flatten().any(has)
    }
}

impl RequiredClaims {
    /// Checks issuer, audience and times. `now` is in seconds since the epoch.
    pub(super) fn check(&self, claims: &Claims, now: f64) -> Result<(), Denied> {
        let is_meant = match &claims.aud {
            StringOrList::One(audience) => *audience == self.audience,
            StringOrList::Many(audiences) => audiences.contains(&self.audience),
        };
        let is_over = claims.exp + LEEWAY_SECONDS <= now;
        let is_early = claims.nbf.is_some_and(|from| from - LEEWAY_SECONDS > now);
        let is_good = claims.iss == self.issuer && is_meant && !is_over && !is_early;
        if is_good { Ok(()) } else { Err(Denied::Invalid) }
    }

    pub(super) fn check_scopes(&self, claims: &Claims) -> Result<(), Denied> {
        if self.scopes.iter().all(|scope| claims.has_scope(scope)) { Ok(()) } else { Err(Denied::Scope) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(changes: &Value) -> Result<(), Denied> {
        let mut claims =
            json!({"iss": "https://as", "aud": "https://gw/mcp", "exp": 1_100, "scope": "read write"});
        for (name, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => claims.as_object_mut().unwrap().remove(name),
                value => claims.as_object_mut().unwrap().insert(name.clone(), value.clone()),
            };
        }
        let required = RequiredClaims {
            issuer: "https://as".to_owned(),
            audience: "https://gw/mcp".to_owned(),
            scopes: vec!["read".to_owned(), "write".to_owned()],
        };
        let claims = Claims::read(claims.to_string().as_bytes()).ok_or(Denied::Invalid)?;
        required.check(&claims, 1_000.0)?;
        required.check_scopes(&claims)
    }

    #[test]
    fn claims_are_exact() {
        let (bad, scope) = (Err(Denied::Invalid), Err(Denied::Scope));
        for (changes, expected) in [
            (json!({}), Ok(())),
            (json!({"aud": ["https://other", "https://gw/mcp"]}), Ok(())),
            (json!({"aud": "https://gw"}), bad),
            (json!({"aud": "https://gw/mcp/"}), bad),
            (json!({"aud": []}), bad),
            (json!({"aud": null}), bad),
            (json!({"iss": "https://as/"}), bad),
            (json!({"iss": null}), bad),
            (json!({"exp": 941}), Ok(())),
            (json!({"exp": 940}), bad),
            (json!({"exp": null}), bad),
            (json!({"exp": "1100"}), bad),
            (json!({"nbf": 1_060}), Ok(())),
            (json!({"nbf": 1_061}), bad),
            (json!({"nbf": "0"}), bad),
            (json!({"scope": "write other read"}), Ok(())),
            (json!({"scope": "read"}), scope),
            (json!({"scope": "read writer"}), scope),
            (json!({"scope": null}), scope),
            (json!({"scope": null, "scp": ["read", "write"]}), Ok(())),
            (json!({"scope": "read", "scp": "write"}), Ok(())),
        ] {
            assert_eq!(judged(&changes), expected, "{changes}");
        }
    }

    #[test]
    fn a_claim_that_stands_twice_is_none() {
        let twice = br#"{"iss":"a","aud":"b","exp":1,"aud":"c"}"#;
        assert!(Claims::read(twice).is_none());
    }

    #[test]
    fn names_in_records_are_short_and_plain() {
        let of = |more: &str| {
            let claims = format!(r#"{{"iss":"a","aud":"b","exp":1{more}}}"#);
            Claims::read(claims.as_bytes()).unwrap().who()
        };
        assert_eq!(of(""), "an unnamed token");
        assert_eq!(of(r#","client_id":"c""#), "client \"c\"");
        assert_eq!(of(r#","client_id":"c","sub":"s\u001b[2J\u202e""#), "subject \"s[2J\"");
        assert_eq!(of(r#","sub":"a\" at 10.0.0.1""#), "subject \"a' at 10.0.0.1\"");
    }

    #[test]
    fn a_token_is_good_until_it_is_over_and_never_longer() {
        let left = |exp: f64| {
            Claims::read(format!(r#"{{"iss":"a","aud":"b","exp":{exp:e}}}"#).as_bytes())
                .unwrap()
                .left(1_000.0)
        };
        assert_eq!(left(1_100.0), Duration::from_secs(160));
        assert_eq!((left(0.0), left(1e300)), (Duration::ZERO, Duration::MAX));
    }
}
