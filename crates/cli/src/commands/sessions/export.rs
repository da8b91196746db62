//! `sessions export`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::{PROGRAM, Shelf, failed};
use crate::args::{SessionsExportArgs, TranscriptFormat};
use converse_host::failure::{Failure, Kind};
use converse_host::redacted_session::redacted;
use converse_terminal::render::output::{printable, write_stdout};
use converse_terminal::render::transcript::{html, markdown};
use converse_text::safe;

impl Shelf<'_> {
    pub(super) fn export(&self, args: &SessionsExportArgs) -> Result<(), Failure> {
        let id = self.named(&args.session)?;
        let mut document = self.store.export(id, PROGRAM).map_err(failed)?;
        if !args.raw {
            self.learn_keys()?;
            document = redacted(document, &self.console.context.redactor)?;
        }
        let text = match format(args) {
            // Many files of it are read with `cat`.
            TranscriptFormat::Md => safe(&markdown(&document)).into_owned(),
            TranscriptFormat::Html => html(&document),
            TranscriptFormat::Json => printable(&format!("{:#}\n", document.to_json())),
        };
        let Some(file) = args.output.as_ref().filter(|file| file.as_os_str() != "-") else {
            return Ok(write_stdout(&text)?);
        };
        write(&self.world.cwd.join(file), &text, args.force)?;
        self.console.note(&format!("{id} is written to {}", file.display()));
        Ok(())
    }
}

fn format(args: &SessionsExportArgs) -> TranscriptFormat {
    let extension = args.output.as_ref().and_then(|file| file.extension()?.to_str());
    args.format.unwrap_or(match extension {
        Some("json") => TranscriptFormat::Json,
        Some("html" | "htm") => TranscriptFormat::Html,
        _ => TranscriptFormat::Md,
    })
}

/// For the owner's eyes, until it is handed on.
fn write(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600).create_new(!force).create(force).truncate(force);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let failure = Failure::new(Kind::Output, "export-failed", format!("{}: {error}", path.display()));
        match error.kind() {
            ErrorKind::AlreadyExists => {
                Failure { kind: Kind::Usage, ..failure }.hint("`--force` replaces it")
            }
            _ => failure,
        }
    })
}
