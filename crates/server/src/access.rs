//! Access over HTTP: with a token from a list, or with a token of an authorization server.
//!
//! The token is checked before the body of a request is read. It is never logged or passed on.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization> (checked 2026-11)

mod admission;
mod bearer;
mod claims;
mod issuer;
mod issuer_keys;
mod keyring;
mod oauth_url;
mod signature;
#[cfg(test)]
pub(crate) mod testing;
mod token_file;
mod tokens;
mod views;

use std::sync::Arc;

use converse_gateway::ViewPlans;
use http::HeaderMap;

pub(crate) use self::admission::Admission;
pub use self::issuer::{AccessError, Issuer};
pub use self::issuer_keys::IssuerKeys;
pub use self::keyring::KeyFetcher;
pub use self::token_file::TokenList;
pub use self::tokens::{TokenError, Tokens};
pub(crate) use self::views::Reach;
use self::views::ViewAccess;

/// Which requests are admitted. Tokens and an issuer can be combined; without both, every request is admitted.
#[derive(Debug, Clone, Default)]
pub struct Access {
    tokens: Option<Arc<Tokens>>,
    /// The token of the user who runs the server.
    owner: Option<Arc<Tokens>>,
    issuer: Option<Arc<Issuer>>,
    views: ViewAccess,
}

/// Why a request is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The request has no token in the `Authorization` header, or more than one.
    Missing,
    Invalid,
    /// The token is valid but lacks a scope.
    Scope,
    /// The token is valid, but there are views and none is for it.
    View,
    /// The keys of the issuer are not available at the moment.
    KeysUnavailable,
}

impl Access {
    /// Admits every request.
    pub fn open() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with_tokens(self, tokens: Arc<Tokens>) -> Self {
        Self { tokens: Some(tokens), ..self }
    }

    /// Admits the user who runs the server, whose sessions are those of the command line.
    #[must_use]
    pub fn with_owner(self, token: Tokens) -> Self {
        Self { owner: Some(Arc::new(token)), ..self }
    }

    #[must_use]
    pub fn with_issuer(self, issuer: Issuer) -> Self {
        Self { issuer: Some(Arc::new(issuer)), ..self }
    }

    /// Admits a client only to the views that its token or claims lead to, as soon as there are such views.
    #[must_use]
    pub fn with_views(self, views: ViewPlans) -> Self {
        Self { views: ViewAccess::new(views), ..self }
    }

    /// Returns whether every request is admitted.
    pub fn is_open(&self) -> bool {
        self.tokens.is_none() && self.owner.is_none() && self.issuer.is_none()
    }

    pub(crate) fn issuer(&self) -> Option<&Issuer> {
        self.issuer.as_deref()
    }

    pub(crate) async fn admit(&self, headers: &HeaderMap) -> Result<Admission, Denied> {
        if self.is_open() {
            return Ok(Admission::open());
        }
        self.admit_token(bearer::token(headers).ok_or(Denied::Missing)?).await
    }

    /// Admits a token that did not come in the `Authorization` header.
    pub(crate) async fn admit_token(&self, token: &str) -> Result<Admission, Denied> {
        let mut admission = self.identify(token).await?;
        admission.reach = self.views.of(&admission).ok_or(Denied::View)?;
        admission.views = Some(self.views.clone());
        Ok(admission)
    }

    async fn identify(&self, token: &str) -> Result<Admission, Denied> {
        if let Some(owner) = &self.owner
            && let Some(digest) = owner.find(token)
        {
            return Ok(Admission::of_owner(owner, digest));
        }
        if let Some(tokens) = &self.tokens
            && let Some(digest) = tokens.find(token)
        {
            return Ok(Admission::by_token(tokens, digest));
        }
        match &self.issuer {
            Some(issuer) => issuer.admit(token).await,
            None => Err(Denied::Invalid),
        }
    }

    /// Returns the `WWW-Authenticate` header for a refused request (RFC 6750, RFC 9728).
    pub(crate) fn challenge(&self, denied: Denied) -> String {
        let mut parts = Vec::new();
        match denied {
            Denied::Invalid => parts.push("error=\"invalid_token\"".to_owned()),
            Denied::Scope => parts.push("error=\"insufficient_scope\"".to_owned()),
            Denied::Missing | Denied::View | Denied::KeysUnavailable => {}
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
