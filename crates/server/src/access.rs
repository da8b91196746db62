//! Who may come in over HTTP: bearers of a token that was agreed on, or of one that an authorization server gave.
//!
//! A token is looked at before anything else of a request is read, is never logged, and goes no further.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization> (checked 2026-11)

mod admitted;
mod bearer;
mod claims;
mod issuer;
mod keyring;
mod place;
mod signature;
#[cfg(test)]
pub(crate) mod testing;
mod tokens;

use std::sync::Arc;

use http::HeaderMap;

pub(crate) use self::admitted::Admitted;
pub use self::issuer::{AccessError, Issuer};
pub use self::keyring::Keys;
pub use self::tokens::{TokenError, Tokens};

/// Who is let in. Tokens and an issuer may stand together; with neither everybody is.
#[derive(Debug, Clone, Default)]
pub struct Access {
    tokens: Option<Arc<Tokens>>,
    issuer: Option<Arc<Issuer>>,
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// No token, or one in a place or of a form that is not taken.
    Missing,
    Invalid,
    /// A good one that lacks a scope.
    Scope,
    /// The issuer's keys cannot be had at the moment.
    Unknowable,
}

impl Access {
    /// Everybody.
    pub fn open() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with_tokens(self, tokens: Arc<Tokens>) -> Self {
        Self { tokens: Some(tokens), ..self }
    }

    #[must_use]
    pub fn with_issuer(self, issuer: Issuer) -> Self {
        Self { issuer: Some(Arc::new(issuer)), ..self }
    }

    /// Is everybody let in?
    pub fn is_open(&self) -> bool {
        self.tokens.is_none() && self.issuer.is_none()
    }

    pub(crate) fn issuer(&self) -> Option<&Issuer> {
        self.issuer.as_deref()
    }

    pub(crate) async fn admit(&self, headers: &HeaderMap) -> Result<Admitted, Denied> {
        if self.is_open() {
            return Ok(Admitted::open());
        }
        let token = bearer::token(headers).ok_or(Denied::Missing)?;
        if let Some(tokens) = &self.tokens
            && let Some(digest) = tokens.find(token)
        {
            return Ok(Admitted::agreed(tokens, digest));
        }
        match &self.issuer {
            Some(issuer) => issuer.admit(token).await,
            None => Err(Denied::Invalid),
        }
    }

    /// What `WWW-Authenticate` says to whom was not let in (RFC 6750, RFC 9728).
    pub(crate) fn challenge(&self, denied: Denied) -> String {
        let mut parts = Vec::new();
        match denied {
            Denied::Invalid => parts.push("error=\"invalid_token\"".to_owned()),
            Denied::Scope => parts.push("error=\"insufficient_scope\"".to_owned()),
            Denied::Missing | Denied::Unknowable => {}
        }
        if let Some(issuer) = &self.issuer {
            parts.push(format!("resource_metadata=\"{}\"", issuer.metadata_url()));
            if !issuer.scopes().is_empty() {
                parts.push(format!("scope=\"{}\"", issuer.scopes().join(" ")));
            }
        }
        if parts.is_empty() { "Bearer".to_owned() } else { format!("Bearer {}", parts.join(", ")) }
    }
}

#[cfg(test)]
mod tests;
