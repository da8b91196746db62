//! A project whose ensembles are not looked at, because nobody has trusted it: whoever asks for all of them must hear of it.

use converse_config::{Scope, shipped};

use super::Catalogue;
use crate::failure::Failure;
use crate::trust::HOW;

impl Catalogue {
    /// An error if there are any. `what` was not done with them.
    pub fn stop_for_skipped(&self, what: &str) -> Result<(), Failure> {
        // A project may hold the very descriptors of this binary; those are not its own.
        let is_own = |text: &str| shipped().iter().all(|(_, shipped)| *shipped != text);
        let of_project = |scope, text: &str| scope == Scope::Project && is_own(text);
        let some = self.sources.iter().any(|(_, source)| of_project(source.scope, &source.text));
        if self.project_trusted || !some {
            return Ok(());
        }
        let failure =
            self.untrusted(format!("this project is not trusted, so its ensembles were not {what}"));
        Err(if self.notes.is_empty() { failure.hint(HOW) } else { failure })
    }
}
