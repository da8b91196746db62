//! `sessions export`.

use std::collections::BTreeSet;
use std::io::Write;

use converse_canister::Digest;

use super::{PROGRAM, SessionCommands};
use crate::args::{SessionsExportArgs, TranscriptFormat};
use converse_host::failure::{Failure, Kind};
use converse_terminal::render::output::{write_private, write_stdout_with};
use converse_terminal::render::transcript::Format;
use converse_text::wording::counted;

impl SessionCommands<'_> {
    pub(super) fn export(&self, args: &SessionsExportArgs) -> Result<(), Failure> {
        let id = self.named(&args.session)?;
        let mut document = self.store.export(id, PROGRAM).map_err(Failure::of_session)?;
        let missing = document.missing();
        if !args.raw {
            self.learn_keys()?;
            document = self.console.context.redactor.clean_session(document)?;
        }
        let format = format(args);
        let write = |out: &mut dyn Write| format.write(&document, out);
        let Some(file) = args.output.as_ref().filter(|file| file.as_os_str() != "-") else {
            write_stdout_with(write)?;
            return complete(&missing);
        };
        write_private(&self.world.cwd.join(file), write, args.force, "export-failed")?;
        self.console.note(&format!("{id} is written to {}", file.display()));
        complete(&missing)
    }
}

/// Fails if content is missing. Everything else is written by then.
pub(super) fn complete(missing: &BTreeSet<Digest>) -> Result<(), Failure> {
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|digest| format!("`content/{digest}`")).collect();
    let message = format!(
        "{} of the session {} missing or damaged: {}",
        counted(missing.len(), "file"),
        if missing.len() == 1 { "is" } else { "are" },
        names.join(", ")
    );
    Err(Failure::new(Kind::Output, "content-missing", message).hint("everything else is in the output"))
}

fn format(args: &SessionsExportArgs) -> Format {
    match (args.format, &args.output) {
        (Some(TranscriptFormat::Md), _) | (None, None) => Format::Md,
        (Some(TranscriptFormat::Html), _) => Format::Html,
        (Some(TranscriptFormat::Json), _) => Format::Json,
        (Some(TranscriptFormat::Jsonl), _) => Format::Jsonl,
        (None, Some(file)) => Format::of(file),
    }
}
