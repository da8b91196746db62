//! Removes secrets from names and first words in lists of sessions. The journal is not changed.

use std::fmt;
use std::sync::Arc;

/// A function that removes secrets from a text; by default it changes nothing.
#[derive(Clone)]
pub struct Clean(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl Clean {
    pub fn new(clean: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(clean))
    }

    pub(crate) fn text(&self, text: &str) -> String {
        (self.0)(text)
    }
}

impl Default for Clean {
    fn default() -> Self {
        Self::new(str::to_owned)
    }
}

impl fmt::Debug for Clean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clean")
    }
}
