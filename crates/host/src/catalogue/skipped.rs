//! Errors about a project whose ensembles are skipped because the project is not trusted, for commands that use all
//! ensembles.

use converse_config::{Scope, shipped};

use super::Catalogue;
use crate::failure::Failure;
use crate::trust::HOW;

impl Catalogue {
    /// Fails if there are such ensembles. `what` was not done with them.
    pub fn stop_for_skipped(&self, what: &str) -> Result<(), Failure> {
        // The project may contain copies of the built-in descriptors, which do not count.
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
