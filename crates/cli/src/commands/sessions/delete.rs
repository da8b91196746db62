//! `sessions delete`.

use std::collections::BTreeSet;

use super::{Shelf, failed};
use converse_host::failure::Failure;
use converse_terminal::render::output::{write_stderr, write_stdout};
use converse_text::safe_line;

impl Shelf<'_> {
    pub(super) fn delete(&self, sessions: &[String], yes: bool) -> Result<(), Failure> {
        // All of them are found before the first one goes.
        let ids = sessions.iter().map(|text| self.named(text)).collect::<Result<BTreeSet<_>, _>>()?;
        if !yes && self.console.context.can_ask {
            for id in &ids {
                let name = self.store.metadata(*id).map_err(failed)?.name.unwrap_or_default();
                let line = format!("{id}  {}", safe_line(&self.console.context.redactor.clean(&name), 120));
                write_stderr(&format!("{}\n", line.trim_end()));
            }
        }
        if !self.agreed(yes, "delete for good?")? {
            self.console.note("nothing was deleted");
            return Ok(());
        }
        for id in ids {
            self.store.delete(id).map_err(failed)?;
            write_stdout(&format!("deleted: {id}\n"))?;
        }
        Ok(())
    }
}
