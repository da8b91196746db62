//! Credentials of a provider: the key, and headers that are secret as well (a gateway may require one). They are not
//! part of the request; the HTTP client adds them.

use http::header::HeaderName;

use crate::secrets::Secret;

#[derive(Debug, Clone, Default)]
pub struct Credentials {
    pub key: Option<Secret>,
    pub headers: Vec<SecretHeader>,
}

/// A header whose value is in an environment variable.
#[derive(Debug, Clone)]
pub struct SecretHeader {
    pub name: HeaderName,
    pub variable: String,
    /// `None` if the variable is not set.
    pub value: Option<Secret>,
}

impl Credentials {
    /// Returns whether there is a credential to send.
    pub fn are_set(&self) -> bool {
        self.secrets().next().is_some()
    }

    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.key.iter().chain(self.headers.iter().filter_map(|header| header.value.as_ref()))
    }

    /// Returns the values of the headers.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(|header| header.variable.as_str())
    }

    /// Returns the variable of a header that should be set but is not.
    pub fn unset(&self) -> Option<&str> {
        self.headers.iter().find(|header| header.value.is_none()).map(|header| header.variable.as_str())
    }
}
