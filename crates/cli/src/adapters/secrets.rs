//! Keys: found in the snapshot of the environment, attached by the wire, shown by nobody.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// A key. Its value leaves this module only to become a header, or to be searched for in what is about to be printed.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(value: impl Into<String>) -> Self {
        Self(value.into().trim().to_owned())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The text with every occurrence of the key replaced. Keys too short to be one are left alone.
    pub(crate) fn redact(&self, text: &str) -> String {
        if self.0.len() < 8 { text.to_owned() } else { text.replace(&self.0, "[redacted]") }
    }
}

/// Takes every known secret out of what is about to be said. Shared: keys become known while settings are read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactor(Arc<RwLock<Vec<Secret>>>);

impl Redactor {
    pub(crate) fn learn(&self, secrets: impl IntoIterator<Item = Secret>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).extend(secrets);
    }

    pub(crate) fn clean(&self, text: &str) -> String {
        let secrets = self.0.read().unwrap_or_else(PoisonError::into_inner);
        secrets.iter().fold(text.to_owned(), |text, secret| secret.redact(&text))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_itself_to_nobody() {
        let secret = Secret::new(" sk-canary-123 \n");
        assert!(!format!("{secret:?}").contains("canary"));
        assert_eq!(secret.redact("bad key sk-canary-123!"), "bad key [redacted]!");
        assert_eq!(Secret::new("x").redact("x"), "x");
        let redactor = Redactor::default();
        let shared = redactor.clone();
        redactor.learn([secret]);
        assert_eq!(shared.clean("sk-canary-123 sk-canary-123"), "[redacted] [redacted]");
    }
}
