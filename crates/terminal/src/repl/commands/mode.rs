//! `/mode`: which calls are asked about.

use converse_ensemble::Mode;

use crate::repl::session::ReplSession;
use crate::view::mode_note;
use converse_host::failure::Failure;

impl ReplSession<'_> {
    /// Returns the name of the permission mode.
    pub(in crate::repl) fn mode_name(&self) -> &'static str {
        self.console.context.mode.mode().as_str()
    }

    /// Switches to the mode of this name; without one, says which it is.
    pub(super) fn mode(&self, name: Option<&str>) -> Result<(), Failure> {
        let switch = &self.console.context.mode;
        if let Some(name) = name {
            let mode = Mode::named(name).ok_or_else(|| {
                let words = Mode::WORDS.map(|(word, _)| word);
                Failure::usage("unknown-mode", format!("there is no mode `{name}`")).did_you_mean(
                    name,
                    words.into_iter(),
                    "the modes are `ask`, `read-only` and `accept-edits`",
                )
            })?;
            switch.set(mode);
        }
        self.view.say(&mode_note(switch));
        Ok(())
    }
}
