//! What a provider's requests are sent with and nobody is shown: the key, and headers that are as secret (a gateway
//! wants one of its own). They are no part of a request's value; the wire adds them.

use http::header::HeaderName;

use crate::secrets::Secret;

#[derive(Debug, Clone, Default)]
pub struct Credentials {
    pub key: Option<Secret>,
    pub headers: Vec<SecretHeader>,
}

/// A header whose value is in a variable.
#[derive(Debug, Clone)]
pub struct SecretHeader {
    pub name: HeaderName,
    pub variable: String,
    /// `None` while the variable is not set.
    pub value: Option<Secret>,
}

impl Credentials {
    /// Something is there to be sent.
    pub fn are_set(&self) -> bool {
        self.secrets().next().is_some()
    }

    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.key.iter().chain(self.headers.iter().filter_map(|header| header.value.as_ref()))
    }

    /// Of its headers.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(|header| header.variable.as_str())
    }

    /// The variable of a header that should be set and is not.
    pub fn unset(&self) -> Option<&str> {
        self.headers.iter().find(|header| header.value.is_none()).map(|header| header.variable.as_str())
    }
}
