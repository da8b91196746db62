//! What nobody is to find in a list of sessions is taken out of what a list shows: names and first words. The journal
//! keeps what was said.

use std::fmt;
use std::sync::Arc;

/// Takes secrets out of a text; by default nothing.
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
