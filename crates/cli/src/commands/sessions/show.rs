//! `sessions show`.

use super::{PROGRAM, Shelf, failed};
use crate::args::SessionsShowArgs;
use converse_host::failure::Failure;
use converse_host::redacted_session::redacted;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_terminal::render::transcript::{Look, text};
use converse_terminal::view::answers;

impl Shelf<'_> {
    pub(super) fn show(&self, args: &SessionsShowArgs) -> Result<(), Failure> {
        let id = self.named(&args.session)?;
        self.learn_keys_if_possible();
        let document = self.store.document(id, PROGRAM).map_err(failed)?;
        let document = redacted(document, &self.console.context.redactor)?;
        if args.json {
            return Ok(write_json(&document.without_contents())?);
        }
        let look = Look {
            terminal: self.world.stdout_tty,
            colour: self.console.style.colour,
            full: args.full,
            answers: answers(self.console, self.world, self.columns()),
        };
        Ok(write_stdout(&text(&document, look))?)
    }
}
